/** The forward lane: the client's bytes go to an upstream of the same dialect, in any version of the API. */
import { failureOfBody } from '../../core/dialects/classify.ts'
import { readAnthropicUsage, runsCode, withFacts } from '../../core/usage/anthropic-usage.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { endingOf, messagesFinishReasons } from '../../core/dialects/finish-reasons.ts'
import type { ForwardedAnswer, ForwardRules } from '../../core/format.ts'
import type { FieldRules } from '../../core/dialects/field-rules.ts'
import type { RequestHeaders } from '../../core/request.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import type { Edit } from '../../lib/json/json-body.ts'
import { lastStructure } from '../../lib/json/json-last.ts'
import { objectsOf } from '../../lib/json/json-values.ts'
import { commonEdits } from '../common/forward-edits.ts'
import { editedAnswer, readWholeAnswer } from '../common/whole-answer.ts'
import { messagesTable } from './fields.ts'
import { MessagesRelay } from './relay.ts'
import { mayHoldMarks, withoutMarked } from './thinking-signature.ts'
import { exactText } from '../../lib/json/exact-json.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

/** What the client's bytes were written for: only the client knows. */
const clientHeaders = ['anthropic-version', 'anthropic-beta']

/**
 * Also for `count_tokens`. Where marked thinking or citations are found, `messages` is written anew without them, and
 * `dropped` names them; `messages.prefill` is the beginning of an answer that the model does not go on with.
 */
export function messagesEdits(body: JsonBody, rules: FieldRules): { edits: Edit[]; dropped: string[] } {
  const { edits, dropped } = commonEdits(body, rules, messagesTable.gatewayFields)
  // Another model's thinking, from earlier in the conversation: this upstream could not verify it.
  const clean = mayHoldMarks(body.bytes)
    ? withoutMarked(body.exact('messages', argumentNames.messages) ?? body.get('messages'))
    : undefined
  if (clean) dropped.push(...clean.dropped)
  const cleanText = clean && exactText(clean.messages)
  const continued = rules.continueText === undefined ? undefined : continuedPrefill(body, rules.continueText, cleanText)
  if (continued !== undefined) dropped.push('messages.prefill')
  const json = continued ?? cleanText
  if (json !== undefined) edits.push({ set: 'messages', json })
  return { edits, dropped }
}

/**
 * The messages and a turn of the user behind them, where the assistant's last one is the beginning of an answer;
 * undefined = it is none. A turn with anything but text is none: it paused for the vendor's own tools, and goes on.
 * `messages` = their text, if it is not what the client sent.
 */
function continuedPrefill(body: JsonBody, text: string, messages: string | undefined): string | undefined {
  const bytes = messages === undefined ? body.rawBytes('messages') : Buffer.from(messages)
  const last = bytes && lastStructure(bytes)
  if (!last || last[0] !== openBrace) return undefined
  const message = JsonBody.read(last)
  if (message.get('role') !== 'assistant' || !isTextOnly(message.get('content'))) return undefined
  const turn = JSON.stringify({ role: 'user', content: text })
  return `${(messages ?? body.rawText('messages')!).slice(0, -1)},${turn}]`
}

const openBrace = 0x7b

const isTextOnly = (content: unknown): boolean =>
  typeof content === 'string' || objectsOf(content).every(block => block.type === 'text')

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
export function wholeAnswerBody(bytes: Uint8Array, mustHave: string): JsonBody {
  const body = readWholeAnswer(bytes, brokenProtocol)
  if (body.get('type') === 'error') throw failureOfBody({ error: body.get('error') })
  if (!body.has(mustHave)) throw brokenProtocol(`no \`${mustHave}\``)
  return body
}

function answer(bytes: Uint8Array, publicModel: string): ForwardedAnswer {
  const body = wholeAnswerBody(bytes, 'content')
  const content = body.get('content')
  if (!Array.isArray(content)) throw brokenProtocol('no `content`')
  const reason = body.get('stop_reason')
  if (typeof reason !== 'string' || reason === '') throw brokenProtocol('no stop reason')
  const usage = withFacts(readAnthropicUsage(body.get('usage')), {
    ranCode: objectsOf(content).some(runsCode),
    hasContent: content.length > 0,
    stopReason: reason,
    stopDetails: body.get('stop_details'),
  })
  const ending = endingOf(messagesFinishReasons, reason)
  if (ending instanceof GatewayError) throw ending.withUsage(usage)
  const edits: Edit[] = body.get('model') === publicModel ? [] : [{ set: 'model', json: JSON.stringify(publicModel) }]
  return { body: editedAnswer(body, edits), usage }
}

/** `answer` throws `upstream-broken` for what is no finished message, or the error that the upstream sent instead. */
export const messagesForward: ForwardRules = {
  edits: messagesEdits,
  answer,
  relay: publicModel => new MessagesRelay(publicModel),
  headers: messagesHeaders,
}
