/**
 * Cohere's answers and streams as events (docs.cohere.com/v2/docs/streaming). A whole message is read as the deltas of
 * the equivalent stream, so that both give the same events.
 */
import type { ChatEvent } from '../../core/hub/chat.ts'
import { failureOfBody, frameworkError } from '../../core/dialects/classify.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { cohereFinishReasons, endingOf } from '../../core/dialects/finish-reasons.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject, listOf, objectOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { countOf, firstCount, setCount } from '../../core/usage/usage-fields.ts'
import { errorLast } from '../common/fault.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

/** A whole answer. Throws `upstream-broken` on another shape. */
export function chatResult(body: unknown): ChatEvent[] {
  if (!isObject(body) || !isObject(body.message)) throw brokenProtocol('no message')
  if (typeof body.finish_reason !== 'string') throw brokenProtocol('no finish_reason')
  const { message } = body
  const answer = new Answer()
  const events: ChatEvent[] = [{ type: 'start', id: textOf(body.id), model: '' }]
  const parts = listOf(message.content)
  // A stream has a model's thinking before its plan.
  for (const part of parts) events.push(...reasoning(objectOf(part).thinking))
  events.push(...reasoning(message.tool_plan))
  for (const part of parts) events.push(...text(objectOf(part).text))
  if (typeof message.content === 'string') events.push(...text(message.content))
  for (const call of listOf(message.tool_calls)) events.push(...answer.startCall(call, 0), ...answer.endCall(0))
  for (const citation of listOf(message.citations)) events.push(...citations(citation))
  for (const entry of listOf(body.logprobs)) events.push(...logprobs(entry))
  events.push(...finish(body.finish_reason, body.error), ...usage(body.usage))
  return errorLast(events)
}

/** A fresh reader of a chat's events. Throws on what is not JSON. */
export function chatReader(): (frame: Frame) => readonly ChatEvent[] {
  const answer = new Answer()
  return frame => {
    if (frame.data === '[DONE]') return []
    const data = parseExact(frame.data, argumentNames.chat)
    if (!isObject(data)) throw brokenProtocol('an event that is no object')
    return answer.read(data)
  }
}

/** true = the stream's last frame. The substring test avoids parsing every frame twice. */
export function isMessageEnd({ data }: Frame): boolean {
  return data.includes('"message-end"') && objectOf(JSON.parse(data)).type === 'message-end'
}

class Answer {
  #calls = 0
  /** By the `index` of the content. */
  readonly #open = new Map<unknown, { readonly index: number; wroteArguments: boolean }>()

  read(data: Json): ChatEvent[] {
    const delta = objectOf(data.delta)
    const message = objectOf(delta.message)
    switch (data.type) {
      case 'message-start':
        return [{ type: 'start', id: textOf(data.id), model: '' }]
      case 'content-start':
      case 'content-delta':
        return [...content(message.content), ...logprobs(data.logprobs)]
      case 'tool-plan-delta':
        return reasoning(message.tool_plan)
      case 'tool-call-start':
        return [...this.endCall(data.index), ...this.startCall(message.tool_calls, data.index)]
      case 'tool-call-delta':
        return this.#arguments(objectOf(objectOf(message.tool_calls).function).arguments, data.index)
      case 'tool-call-end':
        return this.endCall(data.index)
      case 'citation-start':
        return citations(message.citations)
      case 'message-end':
        return errorLast([...this.#endAll(), ...finish(delta.finish_reason, delta.error), ...usage(delta.usage)])
      default:
        return this.#untyped(data)
    }
  }

  startCall(call: unknown, at: unknown): ChatEvent[] {
    const { id, function: called } = objectOf(call)
    const index = this.#calls++
    this.#open.set(at, { index, wroteArguments: false })
    const { name, arguments: args } = objectOf(called)
    return [
      { type: 'tool-call-start', choice: 0, index, id: textOf(id), name: textOf(name) },
      ...this.#arguments(args, at),
    ]
  }

  #endAll(): ChatEvent[] {
    return [...this.#open.keys()].flatMap(at => this.endCall(at))
  }

  endCall(at: unknown): ChatEvent[] {
    const open = this.#open.get(at)
    if (!open) return []
    const { index, wroteArguments } = open
    const events = wroteArguments ? [] : this.#arguments('{}', at)
    this.#open.delete(at)
    return [...events, { type: 'tool-call-end', choice: 0, index }]
  }

  #arguments(args: unknown, at: unknown): ChatEvent[] {
    const fragment = isObject(args) ? exactText(args) : textOf(args)
    const open = this.#open.get(at)
    if (!open || fragment === '') return []
    open.wroteArguments = true
    return [{ type: 'tool-call-arguments', choice: 0, index: open.index, fragment }]
  }

  /** `{message}`, `{detail}` or `{error}` without a type is an error; events of unknown types are ignored. */
  #untyped(data: Json): ChatEvent[] {
    if (data.type !== undefined) return []
    const error = data.error ? failureOfBody(data) : frameworkError(data)
    return error ? [{ type: 'error', error }] : []
  }
}

const text = (value: unknown): ChatEvent[] => (textOf(value) ? [{ type: 'text', choice: 0, text: textOf(value) }] : [])
const reasoning = (value: unknown): ChatEvent[] =>
  textOf(value) ? [{ type: 'reasoning', choice: 0, text: textOf(value) }] : []

/** A content part of a message, or a delta of one. */
function content(part: unknown): ChatEvent[] {
  const { thinking, text: answerText } = objectOf(part)
  return [...reasoning(thinking), ...text(answerText)]
}

/** One citation or a list of them: `{start, end, text, sources}`, positions in characters of the text. */
function citations(value: unknown): ChatEvent[] {
  const list = Array.isArray(value) ? value : [value]
  return list.filter(isObject).map(citation => ({ type: 'citation', choice: 0, citation }))
}

/** `{text, token_ids, logprobs}` as one of OpenAI's tokens: the log probabilities of the ids are summed. */
function logprobs(entry: unknown): ChatEvent[] {
  if (!isObject(entry) || !Array.isArray(entry.logprobs) || !entry.logprobs.every(one => typeof one === 'number'))
    return []
  const token = textOf(entry.text)
  const logprob = (entry.logprobs as number[]).reduce((sum, one) => sum + one, 0)
  return [
    {
      type: 'logprobs',
      choice: 0,
      content: [{ token, logprob, bytes: [...Buffer.from(token, 'utf8')], top_logprobs: [] }],
    },
  ]
}

function finish(reason: unknown, error: unknown): ChatEvent[] {
  if (typeof reason !== 'string') throw brokenProtocol('no finish_reason')
  const ending = endingOf(cohereFinishReasons, reason, textOf(error))
  return ending instanceof GatewayError
    ? [{ type: 'error', error: ending }]
    : [{ type: 'finish', choice: 0, reason: ending }]
}

function usage(value: unknown): ChatEvent[] {
  const read = cohereUsage(value)
  return read ? [{ type: 'usage', usage: read }] : []
}

/** The billed units; `tokens` also counts Cohere's own prompt. Undefined where neither holds valid counts. */
export function cohereUsage(value: unknown): Usage | undefined {
  const { billed_units: units, tokens, cached_tokens: cachedTokens } = objectOf(value)
  const billed = objectOf(units)
  const all = objectOf(tokens)
  const inputTokens = countOf(billed.input_tokens ?? all.input_tokens)
  const outputTokens = countOf(billed.output_tokens ?? all.output_tokens ?? 0)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const usage: Usage = { inputTokens, outputTokens }
  // Of the whole prompt, which has more tokens than are billed: what is cached of the billed ones is not reported.
  const isWhole = all.input_tokens === undefined || all.input_tokens === inputTokens
  if (isWhole) setCount(usage, 'cachedInputTokens', firstCount(cachedTokens), inputTokens)
  setCount(usage, 'searchUnits', firstCount(billed.search_units))
  return usage
}
