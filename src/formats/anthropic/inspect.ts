/** Checks of a request that need no model (platform.claude.com; API versions 2023-06-01 and 2026-10-21). */
import type { Inspection } from '../../core/format.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { checkFields, ProblemList, readField, textOf } from '../common/field-checks.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { isGiven } from '../common/field-table.ts'
import { messagesTable } from './fields.ts'

const missingMessages = '`messages` is missing; send [{"role": "user", "content": "..."}]'

/** A thread that paused in its turn goes on without a message. */
function checkPresence(body: JsonBody, problems: ProblemList): void {
  if (isGiven(body, 'messages')) {
    const isEmpty = body.sizeOf('messages') < 16 && isEmptyList(readField(body, 'messages'))
    if (isEmpty && !continuesThread(body))
      problems.add(['messages'], '`messages` must hold at least one message; got an empty array', 'out_of_range')
    return
  }
  const remedy = body.has('input') ? '; this is a Responses body (`input`): send it to /v1/responses' : ''
  problems.add(['messages'], missingMessages + remedy, 'missing')
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

function continuesThread(body: JsonBody): boolean {
  const thread = body.has('thread') ? readField(body, 'thread') : undefined
  return isObject(thread) && thread.type === 'continue'
}

/** Everything but `max_tokens` is the same where tokens are counted. */
export function inspectCount(body: JsonBody): Inspection {
  return { ...inspectWith(body, new ProblemList()), stream: false }
}

/** Checks every field the gateway knows. */
export function inspectMessages(body: JsonBody): Inspection {
  const list = new ProblemList()
  if (readField(body, 'max_tokens') == null)
    list.add(
      ['max_tokens'],
      '`max_tokens` is missing; send the most tokens the answer may have, such as 4096',
      'missing',
    )
  return inspectWith(body, list)
}

function inspectWith(body: JsonBody, list: ProblemList): Inspection {
  checkFields(body, messagesTable.checks, list)
  checkPresence(body, list)
  const metadata = body.has('metadata') ? readField(body, 'metadata') : undefined
  return {
    model: textOf(body, 'model'),
    stream: readField(body, 'stream') === true,
    endUser: isObject(metadata) && typeof metadata.user_id === 'string' ? metadata.user_id : '',
    ...(list.misplacedMedia && { misplacedMedia: true }),
    problems: list.problems,
  }
}
