/**
 * Answers of the Messages API, whole or streamed, as events (docs: "Streaming Messages"). Both are read by the same
 * class, so that they give the same events.
 */
import { anthropicErrorKinds } from '../../core/dialects/anthropic-error-kinds.ts'
import { mergeAnthropicUsage, readAnthropicUsage, runsCode, withFacts } from '../../core/usage/anthropic-usage.ts'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { frameworkError } from '../../core/dialects/error-body.ts'
import { GatewayError } from '../../core/errors.ts'
import { endingOf, messagesFinishReasons } from '../../core/dialects/finish-reasons.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { errorLast } from '../fault.ts'
import { broken } from '../json.ts'
import { answerTool } from './structured.ts'

/** Usage over the events of a stream: counts are cumulative, so later ones replace earlier ones. */
class Report {
  #seen: Json = {}
  readonly facts = { ranCode: false, hasContent: false, stopReason: '' as unknown, stopDetails: undefined as unknown }

  block(block: Json): void {
    this.facts.hasContent = true
    if (runsCode(block)) this.facts.ranCode = true
  }

  end({ stop_reason: reason, stop_details: details }: Json): void {
    this.facts.stopReason = reason
    this.facts.stopDetails = details
  }

  take(value: unknown): void {
    this.#seen = mergeAnthropicUsage(this.#seen, value)
  }

  usage(): Usage | undefined {
    return withFacts(readAnthropicUsage(this.#seen), this.facts)
  }
}

/** An open `tool_use` block: a tool call, or the answer to a `response_format` that was sent as a forced tool. */
interface OpenCall {
  /** Index of the call; undefined = a forced answer, whose arguments are the answer's text. */
  readonly call: number | undefined
  wroteArguments: boolean
}

/** The content blocks of an answer. */
class Blocks {
  /** Calls of the client's tools so far. */
  calls = 0
  /** By the block's `index`: compatible hosts write several blocks at once. */
  readonly #open = new Map<unknown, OpenCall>()

  start(block: Json, at: unknown): ChatEvent[] {
    switch (block.type) {
      case 'text':
        return [...text(block.text), ...citations(block.citations)]
      case 'thinking':
        return [...thinking(block.thinking), ...signature(block.signature)]
      case 'redacted_thinking':
        return [{ type: 'reasoning', choice: 0, redacted: textOf(block.data) }]
      case 'tool_use': {
        const name = textOf(block.name)
        const index = name === answerTool ? undefined : this.calls++
        // A block that was never stopped has ended when another takes its place.
        const before = this.stop(at)
        this.#open.set(at, { call: index, wroteArguments: false })
        const start: ChatEvent[] =
          index === undefined ? [] : [{ type: 'tool-call-start', choice: 0, index, id: textOf(block.id), name }]
        // A whole answer has its input here; in a stream it is an empty object, and deltas follow.
        const input = isObject(block.input) && Object.keys(block.input).length > 0 ? JSON.stringify(block.input) : ''
        return [...before, ...start, ...this.#arguments(input, at)]
      }
      default:
        return []
    }
  }

  delta(delta: Json, at: unknown): ChatEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return text(delta.text)
      case 'thinking_delta':
        return thinking(delta.thinking)
      case 'signature_delta':
        return signature(delta.signature)
      case 'input_json_delta':
        return this.#arguments(textOf(delta.partial_json), at)
      case 'citations_delta':
        return citations([delta.citation])
      default:
        return []
    }
  }

  stop(at: unknown): ChatEvent[] {
    const open = this.#open.get(at)
    if (!open) return []
    const { call: index, wroteArguments } = open
    const events: ChatEvent[] = wroteArguments ? [] : this.#arguments('{}', at)
    this.#open.delete(at)
    return index === undefined ? events : [...events, { type: 'tool-call-end', choice: 0, index }]
  }

  #arguments(fragment: string, at: unknown): ChatEvent[] {
    const open = this.#open.get(at)
    if (!open || fragment === '') return []
    open.wroteArguments = true
    if (open.call === undefined) return text(fragment)
    return [{ type: 'tool-call-arguments', choice: 0, index: open.call, fragment }]
  }
}

const text = (value: unknown): ChatEvent[] => (textOf(value) ? [{ type: 'text', choice: 0, text: textOf(value) }] : [])
const thinking = (value: unknown): ChatEvent[] =>
  textOf(value) ? [{ type: 'reasoning', choice: 0, text: textOf(value) }] : []
const signature = (value: unknown): ChatEvent[] =>
  textOf(value) ? [{ type: 'reasoning', choice: 0, signature: textOf(value) }] : []
const citations = (value: unknown): ChatEvent[] =>
  Array.isArray(value) ? value.filter(isObject).map(citation => ({ type: 'citation', choice: 0, citation })) : []

/** `calls` = calls of the client's tools. With none, `tool_use` was the forced answer, and the reason is `stop`. */
function finish({ stop_reason: reason, stop_sequence: sequence }: Json, calls: number): ChatEvent {
  const ending = endingOf(messagesFinishReasons, textOf(reason))
  if (ending instanceof GatewayError) return { type: 'error', error: ending }
  return {
    type: 'finish',
    choice: 0,
    reason: ending === 'tool-calls' && calls === 0 ? 'stop' : ending,
    ...(typeof sequence === 'string' && { stopSequence: sequence }),
  }
}

/** The error of an `error` object, as in bodies and in the stream's `error` event. */
function errorOf(error: unknown): GatewayError {
  const { type, message } = isObject(error) ? error : {}
  const kind = anthropicErrorKinds.get(textOf(type)) ?? 'upstream-failed'
  return new GatewayError(kind, textOf(message) || 'the upstream failed', { code: textOf(type) || undefined })
}

/** A whole message. Throws `upstream-broken` on another shape. */
export function messageResult(body: unknown): ChatEvent[] {
  if (!isObject(body)) throw broken('no object')
  if (body.type === 'error') return [{ type: 'error', error: errorOf(body.error) }]
  if (!Array.isArray(body.content)) throw broken('no content')
  if (!textOf(body.stop_reason)) throw broken('no stop_reason')
  const blocks = new Blocks()
  const events: ChatEvent[] = [{ type: 'start', id: textOf(body.id), model: textOf(body.model) }]
  const report = new Report()
  for (const block of objectsOf(body.content)) {
    report.block(block)
    events.push(...blocks.start(block, 0), ...blocks.stop(0))
  }
  events.push(finish(body, blocks.calls))
  report.end(body)
  report.take(body.usage)
  const usage = report.usage()
  if (usage) events.push({ type: 'usage', usage })
  return errorLast(events)
}

/** true = the stream's last event. The substring test avoids parsing every frame twice. */
export function isMessageStop({ data }: Frame): boolean {
  if (!data.includes('"message_stop"')) return false
  const event: unknown = JSON.parse(data)
  return isObject(event) && event.type === 'message_stop'
}

/** A fresh reader of a message's events. Throws on what is not JSON. */
export function messageReader(): (frame: Frame) => readonly ChatEvent[] {
  const blocks = new Blocks()
  const report = new Report()
  return frame => {
    const data: unknown = JSON.parse(frame.data)
    if (!isObject(data)) throw broken('an event that is no object')
    switch (data.type) {
      case 'message_start': {
        const message = isObject(data.message) ? data.message : {}
        report.take(message.usage)
        const usage = report.usage()
        return [{ type: 'start', id: textOf(message.id), model: textOf(message.model), ...(usage && { usage }) }]
      }
      case 'content_block_start':
        if (!isObject(data.content_block)) return []
        report.block(data.content_block)
        return blocks.start(data.content_block, data.index)
      case 'content_block_delta':
        return isObject(data.delta) ? blocks.delta(data.delta, data.index) : []
      case 'content_block_stop':
        return blocks.stop(data.index)
      case 'message_delta':
        return messageDelta(data, report, blocks.calls)
      case 'error':
        return [{ type: 'error', error: errorOf(data.error) }]
      default:
        // `ping`, `message_stop` and unknown types, which the API's versioning policy asks clients to ignore.
        return data.type === undefined ? untyped(data) : []
    }
  }
}

/** Some hosts name an error as they would in a body, or as their web framework does. */
function untyped(data: Json): ChatEvent[] {
  const { error } = data
  const failure = error
    ? errorOf(typeof error === 'string' ? { message: error } : error)
    : (frameworkError(data) ?? broken('an event without a type'))
  return [{ type: 'error', error: failure }]
}

function messageDelta(data: Json, report: Report, calls: number): ChatEvent[] {
  const delta = isObject(data.delta) ? data.delta : {}
  if (textOf(delta.stop_reason)) report.end(delta)
  report.take(data.usage)
  const events: ChatEvent[] = textOf(delta.stop_reason) ? [finish(delta, calls)] : []
  // What the message began with says little of its output.
  const isCounted = isObject(data.usage) && data.usage.output_tokens != null
  const usage = isCounted ? report.usage() : undefined
  if (usage) events.push({ type: 'usage', usage })
  return errorLast(events)
}
