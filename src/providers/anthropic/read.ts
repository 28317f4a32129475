/**
 * Answers of the Messages API, whole or streamed, as events (docs: "Streaming Messages"). Both are read by the same
 * class, so that they give the same events.
 */
import { mergeAnthropicUsage, readAnthropicUsage, runsCode, withFacts } from '../../core/usage/anthropic-usage.ts'
import type { ChatEvent } from '../../core/hub/chat.ts'
import { failureOfBody, frameworkError } from '../../core/dialects/classify.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { endingOf, messagesFinishReasons } from '../../core/dialects/finish-reasons.ts'
import type { Usage } from '../../core/usage/usage.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject, objectOf, objectsOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { errorLast } from '../common/fault.ts'
import { answerTool } from './structured.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { BlockCitations } from '../common/block-citations.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

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

  /** `counts` = those of a whole message, which has one report; absent = what the events of a stream have said. */
  usage(counts: unknown = this.#seen): Usage | undefined {
    return withFacts(readAnthropicUsage(counts), this.facts)
  }
}

/** An open `tool_use` block: a tool call, or the answer to a `response_format` that was sent as a forced tool. */
interface OpenCall {
  /** Index of the call; undefined = a forced answer, whose arguments are the answer's text. */
  readonly call: number | undefined
  wroteArguments: boolean
}

/** The content blocks of an answer. Each event is added to `out`, which the caller has for all of them. */
class Blocks {
  /** Calls of the client's tools so far. */
  calls = 0
  /** By the block's `index`: compatible hosts write several blocks at once. */
  readonly #open = new Map<unknown, OpenCall>()
  readonly #citations = new BlockCitations()

  start(block: Json, at: unknown, out: ChatEvent[]): void {
    switch (block.type) {
      case 'text':
        this.#addText(textOf(block.text), at, out)
        return this.#addCitations(block.citations, at)
      case 'thinking':
        addThinking(block.thinking, out)
        return addSignature(block.signature, out)
      case 'redacted_thinking':
        out.push({ type: 'reasoning', choice: 0, redacted: textOf(block.data) })
        return
      case 'tool_use':
        return this.#startCall(block, at, out)
    }
  }

  #startCall(block: Json, at: unknown, out: ChatEvent[]): void {
    const name = textOf(block.name)
    const index = name === answerTool ? undefined : this.calls++
    // A block that was never stopped has ended when another takes its place.
    this.stop(at, out)
    this.#open.set(at, { call: index, wroteArguments: false })
    if (index !== undefined) out.push({ type: 'tool-call-start', choice: 0, index, id: textOf(block.id), name })
    // A whole answer has its input here; in a stream it is an empty object, and deltas follow.
    const input = isObject(block.input) && Object.keys(block.input).length > 0 ? exactText(block.input) : ''
    this.#addArguments(input, at, out)
  }

  delta(delta: Json, at: unknown, out: ChatEvent[]): void {
    switch (delta.type) {
      case 'text_delta':
        return this.#addText(textOf(delta.text), at, out)
      case 'thinking_delta':
        return addThinking(delta.thinking, out)
      case 'signature_delta':
        return addSignature(delta.signature, out)
      case 'input_json_delta':
        return this.#addArguments(textOf(delta.partial_json), at, out)
      case 'citations_delta':
        return this.#addCitations([delta.citation], at)
    }
  }

  stop(at: unknown, out: ChatEvent[]): void {
    for (const event of this.#citations.end(at)) out.push(event)
    const open = this.#open.get(at)
    if (!open) return
    if (!open.wroteArguments) this.#addArguments('{}', at, out)
    this.#open.delete(at)
    if (open.call !== undefined) out.push({ type: 'tool-call-end', choice: 0, index: open.call })
  }

  #addArguments(fragment: string, at: unknown, out: ChatEvent[]): void {
    const open = this.#open.get(at)
    if (!open || fragment === '') return
    open.wroteArguments = true
    if (open.call === undefined) this.#addText(fragment, at, out)
    else out.push({ type: 'tool-call-arguments', choice: 0, index: open.call, fragment })
  }

  #addText(text: string, at: unknown, out: ChatEvent[]): void {
    if (text === '') return
    this.#citations.text(text, at)
    out.push({ type: 'text', choice: 0, text })
  }

  #addCitations(value: unknown, at: unknown): void {
    for (const citation of objectsOf(value)) this.#citations.add(citation, at)
  }

  /** What was not told because a block was never stopped. */
  unstopped(): ChatEvent[] {
    return this.#citations.endAll()
  }
}

function addThinking(value: unknown, out: ChatEvent[]): void {
  const text = textOf(value)
  if (text) out.push({ type: 'reasoning', choice: 0, text })
}

function addSignature(value: unknown, out: ChatEvent[]): void {
  const signature = textOf(value)
  if (signature) out.push({ type: 'reasoning', choice: 0, signature })
}

/** `calls` = calls of the client's tools. With none, `tool_use` was the forced answer, and the reason is `stop`. */
function finish({ stop_reason: reason, stop_sequence: sequence }: Json, calls: number): ChatEvent {
  const ending = endingOf(messagesFinishReasons, textOf(reason))
  if (ending instanceof GatewayError) return { type: 'error', error: ending }
  const finishReason = ending === 'tool-calls' && calls === 0 ? 'stop' : ending
  return typeof sequence === 'string'
    ? { type: 'finish', choice: 0, reason: finishReason, stopSequence: sequence }
    : { type: 'finish', choice: 0, reason: finishReason }
}

/** A whole message. Throws `upstream-broken` on another shape. */
export function messageResult(body: unknown): ChatEvent[] {
  if (!isObject(body)) throw brokenProtocol('no object')
  if (body.type === 'error') return [{ type: 'error', error: failureOfBody(body) }]
  if (!Array.isArray(body.content)) throw brokenProtocol('no content')
  if (!textOf(body.stop_reason)) throw brokenProtocol('no stop_reason')
  const blocks = new Blocks()
  const events: ChatEvent[] = [{ type: 'start', id: textOf(body.id), model: textOf(body.model) }]
  const report = new Report()
  for (const block of body.content as unknown[]) {
    if (!isObject(block)) continue
    report.block(block)
    blocks.start(block, 0, events)
    blocks.stop(0, events)
  }
  events.push(finish(body, blocks.calls))
  report.end(body)
  const usage = report.usage(body.usage)
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
    if (!isObject(data)) throw brokenProtocol('an event that is no object')
    const events: ChatEvent[] = []
    switch (data.type) {
      case 'message_start': {
        const message = isObject(data.message) ? data.message : {}
        report.take(message.usage)
        const usage = report.usage()
        return [{ type: 'start', id: textOf(message.id), model: textOf(message.model), ...(usage && { usage }) }]
      }
      case 'content_block_start':
        if (!isObject(data.content_block)) return events
        report.block(data.content_block)
        blocks.start(wholeBlock(data.content_block, frame), data.index, events)
        return events
      case 'content_block_delta':
        if (isObject(data.delta)) blocks.delta(data.delta, data.index, events)
        return events
      case 'content_block_stop':
        blocks.stop(data.index, events)
        return events
      case 'message_delta':
        return messageDelta(data, report, blocks)
      case 'error':
        return [{ type: 'error', error: failureOfBody(data) }]
      default:
        // `ping`, `message_stop` and unknown types, which the API's versioning policy asks clients to ignore.
        return data.type === undefined ? untyped(data) : events
    }
  }
}

/** The block with its input as it was written, where the block begins with it. */
function wholeBlock(block: Json, { data }: Frame): Json {
  if (!isObject(block.input)) return block
  return objectOf(objectOf(parseExact(data, argumentNames.messages)).content_block)
}

/** Some hosts name an error as they would in a body, or as their web framework does. */
function untyped(data: Json): ChatEvent[] {
  const failure = data.error ? failureOfBody(data) : frameworkError(data)
  return [{ type: 'error', error: failure ?? brokenProtocol('an event without a type') }]
}

function messageDelta(data: Json, report: Report, blocks: Blocks): ChatEvent[] {
  const delta = isObject(data.delta) ? data.delta : {}
  if (textOf(delta.stop_reason)) report.end(delta)
  report.take(data.usage)
  const events: ChatEvent[] = textOf(delta.stop_reason) ? [...blocks.unstopped(), finish(delta, blocks.calls)] : []
  // What the message began with says little of its output.
  const isCounted = isObject(data.usage) && data.usage.output_tokens != null
  const usage = isCounted ? report.usage() : undefined
  if (usage) events.push({ type: 'usage', usage })
  return errorLast(events)
}
