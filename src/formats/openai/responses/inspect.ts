/** Checks of a Responses request that need no model (API reference, "Create a model response"). */
import type { Inspection } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { checkFields, ProblemList, readField, textOf } from '../../common/field-checks.ts'
import { isGiven } from '../../common/field-table.ts'
import { responsesTable } from './fields.ts'

/** `input` may be left out where something else says what to answer; instructions do so, too. */
const questions = ['input', 'instructions', 'previous_response_id', 'prompt', 'conversation']

function checkPresence(body: JsonBody, problems: ProblemList): void {
  if (questions.some(field => isGiven(body, field))) return
  const remedy = body.has('messages')
    ? 'this is a chat body (`messages`): send it to /v1/chat/completions, or send `input` here'
    : 'send a string or an array of items'
  problems.add(['input'], `\`input\` is missing; ${remedy}`, 'missing')
}

/** Checks every field the gateway knows. */
export function inspectResponses(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, responsesTable.checks, list)
  checkPresence(body, list)
  return {
    model: textOf(body, 'model'),
    stream: readField(body, 'stream') === true,
    endUser: textOf(body, 'user') || textOf(body, 'safety_identifier'),
    ...(list.misplacedMedia && { misplacedMedia: true }),
    problems: list.problems,
  }
}
