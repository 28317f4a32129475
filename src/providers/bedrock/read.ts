/** Answers of Converse, whole or streamed, as events. Both are read by one class, so that they give the same events. */
import { failureOfBody } from '../../core/dialects/classify.ts'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { converseFinishReasons, endingOf } from '../../core/dialects/finish-reasons.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject, jsonOrText, objectOf, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { answerTool } from '../anthropic/structured.ts'
import { BlockCitations } from '../common/block-citations.ts'
import { errorLast } from '../common/fault.ts'
import { converseUsage } from './usage.ts'
import { exactText } from '../../lib/json/exact-json.ts'

/** An open tool-use block: a tool call, or the answer to a `response_format` that was sent as a forced tool. */
interface OpenCall {
  /** Index of the call; undefined = a forced answer, whose arguments are the answer's text. */
  readonly index: number | undefined
  wroteArguments: boolean
}

class Answer {
  /** By `contentBlockIndex`. */
  readonly #open = new Map<unknown, OpenCall>()
  readonly #imageFormats = new Map<unknown, string>()
  readonly #citations = new BlockCitations()
  #calls = 0

  start(block: Json, at: unknown): ChatEvent[] {
    const call = block.toolUse
    if (isObject(block.image)) this.#imageFormats.set(at, textOf(block.image.format))
    // Calls of tools that AWS itself ran are not passed on.
    if (!isObject(call) || call.type === 'server_tool_use') return []
    const name = textOf(call.name)
    const index = name === answerTool ? undefined : this.#calls++
    this.#open.set(at, { index, wroteArguments: false })
    return index === undefined ? [] : [{ type: 'tool-call-start', choice: 0, index, id: textOf(call.toolUseId), name }]
  }

  delta(delta: Json, at: unknown): ChatEvent[] {
    const { text, reasoningContent, toolUse, citation, image } = delta
    return [
      ...this.#texts(text, at),
      ...(isObject(reasoningContent) ? reasoning(reasoningContent) : []),
      ...(isObject(toolUse) ? this.#arguments(textOf(toolUse.input), at) : []),
      ...this.#cited([citation], at),
      ...(isObject(image) ? images(image, this.#imageFormats.get(at) ?? '') : []),
    ]
  }

  stop(at: unknown): ChatEvent[] {
    const cited = this.#citations.end(at)
    const open = this.#open.get(at)
    if (!open) return cited
    const events = open.wroteArguments ? [] : this.#arguments('{}', at)
    this.#open.delete(at)
    return open.index === undefined ? events : [...events, { type: 'tool-call-end', choice: 0, index: open.index }]
  }

  /** A block of a whole answer, read as the deltas of the equivalent stream. */
  block(block: Json, at: number): ChatEvent[] {
    const { toolUse, reasoningContent, citationsContent, ...delta } = block
    const thinking = objectOf(reasoningContent)
    const cited = objectOf(citationsContent)
    return [
      ...this.start(block, at),
      ...this.delta(delta, at),
      ...reasoning(isObject(thinking.reasoningText) ? thinking.reasoningText : thinking),
      ...objectsOf(cited.content).flatMap(one => this.#texts(one.text, at)),
      ...this.#cited(cited.citations, at),
      ...(isObject(toolUse) && isObject(toolUse.input) ? this.#arguments(exactText(toolUse.input), at) : []),
      ...this.stop(at),
    ]
  }

  finish(reason: unknown, additional: unknown): ChatEvent[] {
    if (typeof reason !== 'string') throw brokenProtocol('no stopReason')
    // Some models send no `contentBlockStop` for the last block.
    const ends = [...[...this.#open.keys()].flatMap(at => this.stop(at)), ...this.#citations.endAll()]
    const ending = endingOf(converseFinishReasons, reason)
    // In a stream the report of the usage is the next event.
    if (ending instanceof GatewayError) return [...ends, { type: 'error', error: ending, awaitsUsage: true }]
    const sequence = objectOf(additional).stop_sequence
    return [
      ...ends,
      {
        type: 'finish',
        choice: 0,
        // Without calls of the client's tools, the tool use was the forced answer.
        reason: ending === 'tool-calls' && this.#calls === 0 ? 'stop' : ending,
        // Only Claude says which one it was.
        ...(typeof sequence === 'string'
          ? { stopSequence: sequence }
          : reason === 'stop_sequence' && { stopSequence: null }),
      },
    ]
  }

  #arguments(fragment: string, at: unknown): ChatEvent[] {
    const open = this.#open.get(at)
    if (!open || fragment === '') return []
    open.wroteArguments = true
    return open.index === undefined
      ? this.#texts(fragment, at)
      : [{ type: 'tool-call-arguments', choice: 0, index: open.index, fragment }]
  }

  #texts(value: unknown, at: unknown): ChatEvent[] {
    const text = textOf(value)
    if (text === '') return []
    this.#citations.text(text, at)
    return [{ type: 'text', choice: 0, text }]
  }

  /** They are told when the block ends. */
  #cited(value: unknown, at: unknown): ChatEvent[] {
    for (const citation of objectsOf(value)) this.#citations.add(citation, at)
    return []
  }
}

/** `redactedContent` is encrypted by the vendor, in base64. */
function reasoning({ text, signature, redactedContent }: Json): ChatEvent[] {
  const events: ChatEvent[] = []
  if (textOf(text)) events.push({ type: 'reasoning', choice: 0, text: textOf(text) })
  if (textOf(signature)) events.push({ type: 'reasoning', choice: 0, signature: textOf(signature) })
  if (textOf(redactedContent)) events.push({ type: 'reasoning', choice: 0, redacted: textOf(redactedContent) })
  return events
}

function images(image: Json, format: string): ChatEvent[] {
  const data = textOf(objectOf(image.source).bytes)
  return data ? [{ type: 'image', choice: 0, source: { data, mediaType: `image/${format || 'png'}` } }] : []
}

function usage(answer: Json): ChatEvent[] {
  const read = converseUsage(answer)
  return read ? [{ type: 'usage', usage: read }] : []
}

/** Converse's answers have neither an id nor the model's name. */
const start: ChatEvent = { type: 'start', id: '', model: '' }

/** A whole answer. Throws `upstream-broken` on another shape. */
export function converseResult(body: unknown): ChatEvent[] {
  if (!isObject(body)) throw brokenProtocol('no object')
  const { message } = objectOf(body.output)
  if (!isObject(message) || !Array.isArray(message.content)) throw brokenProtocol('no message')
  const answer = new Answer()
  return errorLast([
    start,
    ...objectsOf(message.content).flatMap((block, at) => answer.block(block, at)),
    ...answer.finish(body.stopReason, body.additionalModelResponseFields),
    ...usage(body),
  ])
}

/** The error of a stream's exception event, such as `throttlingException`. */
function streamError(event: string, data: string): GatewayError {
  const given = jsonOrText(data)
  const body: Json = isObject(given) ? given : { message: given }
  const name = event === 'error' ? textOf(body.code) : event.charAt(0).toUpperCase() + event.slice(1)
  const isSaid = textOf(body.message) !== '' || textOf(body.originalMessage) !== ''
  const message = `the upstream broke off its answer (${name || event})`
  return failureOfBody(isSaid ? body : { ...body, message }, { name })
}

/** A fresh reader of a stream. Throws on what is not JSON. */
export function converseReader(): (frame: Frame) => readonly ChatEvent[] {
  const answer = new Answer()
  return ({ event = '', data: text }) => {
    if (event === 'error' || /exception$/i.test(event)) return [{ type: 'error', error: streamError(event, text) }]
    const data: unknown = text === '' ? {} : JSON.parse(text)
    if (!isObject(data)) throw brokenProtocol('an event that is no object')
    const at = data.contentBlockIndex
    switch (event) {
      case 'messageStart':
        return [start]
      case 'contentBlockStart':
        return answer.start(objectOf(data.start), at)
      case 'contentBlockDelta':
        return answer.delta(objectOf(data.delta), at)
      case 'contentBlockStop':
        return answer.stop(at)
      case 'messageStop':
        return answer.finish(data.stopReason, data.additionalModelResponseFields)
      case 'metadata':
        return usage(data)
      default:
        return []
    }
  }
}
