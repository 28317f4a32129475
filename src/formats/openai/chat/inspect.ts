/** Checks of a chat request that need no model (OpenAI API reference, "Create chat completion"). */
import type { Inspection } from '../../../core/format.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { checkFields, ProblemList, readField, textOf } from '../../common/field-checks.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import { isGiven } from '../../common/field-table.ts'
import { chatTable } from './fields.ts'
import { checkChosenTool } from './inspect-tool-choice.ts'

/** Outside a stream it means nothing and goes nowhere, but a wrong one is a mistake of the client all the same. */
export function checkStreamOptions(body: JsonBody, problems: ProblemList): void {
  const options = readField(body, 'stream_options')
  if (options == null) return
  if (!isObject(options))
    return problems.wrong(['stream_options'], 'an object such as {"include_usage": true}', options)
  if (options.include_usage != null && typeof options.include_usage !== 'boolean')
    problems.wrong(['stream_options', 'include_usage'], 'true or false', options.include_usage)
}

function checkPresence(body: JsonBody, problems: ProblemList): void {
  if (isGiven(body, 'messages')) return
  if (body.has('input')) {
    const remedy = 'this is a Responses body (`input`): send it to /v1/responses, or send `messages` here'
    problems.add(['messages'], `\`messages\` is missing; ${remedy}`, 'missing')
  } else problems.add(['messages'], '`messages` is missing; send an array of messages', 'missing')
}

/** Checks every field the gateway knows. */
export function inspectChat(body: JsonBody): Inspection {
  const list = new ProblemList()
  checkFields(body, chatTable.checks, list)
  checkPresence(body, list)
  if (body.has('stream_options')) checkStreamOptions(body, list)
  if (body.has('tool_choice') || body.has('function_call')) checkChosenTool(body, list)
  if (body.has('top_logprobs')) {
    const wanted = readField(body, 'top_logprobs')
    const logprobs = readField(body, 'logprobs')
    if (typeof wanted === 'number' && wanted > 0 && logprobs !== true && typeof logprobs !== 'number')
      list.add(['top_logprobs'], '`top_logprobs` needs `logprobs` to be true; set it, or leave both out', 'invalid')
  }
  return {
    model: textOf(body, 'model'),
    stream: readField(body, 'stream') === true,
    // OpenAI's newer name for it, as in Responses (API reference, 2026-11).
    endUser: textOf(body, 'user') || textOf(body, 'safety_identifier'),
    ...(list.misplacedMedia && { misplacedMedia: true }),
    problems: list.problems,
  }
}
