/** The forward lane: the client's bytes go to an upstream of the same dialect, in any version of the API. */
import type { ForwardedAnswer, ForwardRules } from '../../core/format.ts'
import type { ForwardQuirks } from '../../core/provider.ts'
import type { RequestHeaders } from '../../core/request.ts'
import type { Edit, JsonBody } from '../../lib/json/json-body.ts'
import { commonEdits } from '../common/forward-edits.ts'
import { editedAnswer, readWholeAnswer } from '../common/whole-answer.ts'
import { broken, failureOf } from './error.ts'
import { MessagesRelay } from './relay.ts'
import { mayHoldMarks, withoutMarked } from './thinking-signature.ts'
import { readUsage } from './usage.ts'

/** What the client's bytes were written for: only the client knows. */
const clientHeaders = ['anthropic-version', 'anthropic-beta']

/**
 * Also for `count_tokens`. Where marked thinking or citations are found, `messages` is written anew without them, and
 * `dropped` names them.
 */
export function messagesEdits(body: JsonBody, quirks: ForwardQuirks): { edits: Edit[]; dropped: string[] } {
  const { edits, dropped } = commonEdits(body, quirks)
  // Another model's thinking, from earlier in the conversation: this upstream could not verify it.
  const clean = mayHoldMarks(body.bytes) ? withoutMarked(body.get('messages')) : undefined
  if (clean) {
    edits.push({ set: 'messages', json: JSON.stringify(clean.messages) })
    dropped.push(...clean.dropped)
  }
  return { edits, dropped }
}

/** `anthropic-version` and `anthropic-beta`, unchanged; undefined = the client sent neither. */
export function messagesHeaders(client: RequestHeaders): Record<string, string> | undefined {
  let found: Record<string, string> | undefined
  for (const name of clientHeaders) {
    const value = client.get(name)
    if (value !== null) (found ??= {})[name] = value
  }
  return found
}

/** An upstream's answer. Throws `upstream-broken` when it is not JSON, or has not got the field. */
export function readAnswer(bytes: Uint8Array, mustHave: string): JsonBody {
  const body = readWholeAnswer(bytes, broken)
  if (body.get('type') === 'error') throw failureOf(body.get('error'))
  if (!body.has(mustHave)) throw broken(`no \`${mustHave}\``)
  return body
}

function answer(bytes: Uint8Array, publicModel: string): ForwardedAnswer {
  const body = readAnswer(bytes, 'content')
  if (!Array.isArray(body.get('content'))) throw broken('no `content`')
  const reason = body.get('stop_reason')
  if (typeof reason !== 'string' || reason === '') throw broken('no stop reason')
  const edits: Edit[] = body.get('model') === publicModel ? [] : [{ set: 'model', json: JSON.stringify(publicModel) }]
  return { body: editedAnswer(body, edits), usage: readUsage(body.get('usage')) }
}

/** `answer` throws `upstream-broken` for what is no finished message, or the error that the upstream sent instead. */
export const messagesForward: ForwardRules = {
  edits: messagesEdits,
  answer,
  relay: publicModel => new MessagesRelay(publicModel),
  headers: messagesHeaders,
}
