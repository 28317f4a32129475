/** OpenAI's chat completions and streams as events, with the variations of compatible hosts. */
import type { ChatEvent, Source } from '../../core/hub/chat.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { withCalls } from '../../core/dialects/finish-reasons.ts'
import { choiceEnding, choiceIndex, finishReasonOf, reportedError } from '../../core/dialects/openai-chunk.ts'
import { readChunkUsage } from '../../core/usage/openai-usage.ts'
import type { Frame } from '../../lib/frame.ts'
import { CallNumbers } from '../../core/dialects/call-numbers.ts'
import type { NumberedCall } from '../../core/dialects/call-numbers.ts'
import { readSignedCall } from '../../core/dialects/call-signature.ts'
import { isObject, listOf, objectOf, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { ObjectEnd } from '../../lib/json/object-end.ts'
import { errorLast } from '../common/fault.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { argumentNames } from '../../core/dialects/exact-names.ts'

/** As `choiceIndex`. Throws `upstream-broken` for an invalid number. */
function numberOf(choice: Json, fallback: number): number {
  const index = choiceIndex(choice, fallback)
  if (index === undefined) throw brokenProtocol('a choice whose number cannot be')
  return index
}

/** A whole chat completion. Throws `upstream-broken` on another shape. */
export function chatResult(body: unknown): ChatEvent[] {
  if (!isObject(body)) throw brokenProtocol('no object')
  if (!Array.isArray(body.choices) || body.choices.length === 0) {
    const error = reportedError(body)
    if (error) return [{ type: 'error', error }]
    throw brokenProtocol('no choices')
  }
  const events: ChatEvent[] = [start(body)]
  for (const [at, choice] of body.choices.entries()) {
    if (!isObject(choice) || !isObject(choice.message)) throw brokenProtocol('a choice without a message')
    const index = numberOf(choice, at)
    const calls = new CallEvents()
    events.push(
      ...messageEvents(index, choice.message, calls),
      ...calls.close(index),
      ...logprobs(index, choice.logprobs),
    )
    if (finishReasonOf(choice) === '') throw brokenProtocol('no finish reason')
    events.push(finish(index, choice, { sawCalls: calls.seen, error: choice.error ?? body.error }))
  }
  const usage = usageEvent(body)
  if (usage) events.push(usage)
  return errorLast(events)
}

/** true = the frame `[DONE]`, which some hosts end with white space. No chunk begins with a bracket. */
export const isDone = ({ data }: Frame): boolean => data.startsWith('[DONE]')

/** A fresh reader of chunks. Throws on what is not JSON. */
export function chatReader(): (frame: Frame) => readonly ChatEvent[] {
  let started = false
  const calls = new Map<number, CallEvents>()
  return frame => {
    if (isDone(frame)) return []
    const chunk = parseExact(frame.data, argumentNames.chat)
    if (!isObject(chunk)) throw brokenProtocol('a chunk that is no object')
    const error = reportedError(chunk)
    if (error) return [{ type: 'error', error }]
    const events: ChatEvent[] = []
    // Azure's first chunk holds filter results and has no id.
    if (!started && (chunk.id || listOf(chunk.choices).length > 0)) {
      started = true
      events.push(start(chunk))
    }
    for (const choice of listOf(chunk.choices)) {
      if (!isObject(choice)) throw brokenProtocol('a choice that is no object')
      const index = numberOf(choice, 0)
      let numbers = calls.get(index)
      if (!numbers) calls.set(index, (numbers = new CallEvents()))
      // Some hosts repeat the whole message in the last chunk: only `delta` is read.
      if (isObject(choice.delta)) events.push(...deltaEvents(index, choice.delta, numbers))
      events.push(...logprobs(index, choice.logprobs))
      if (finishReasonOf(choice) !== '')
        events.push(...numbers.close(index), finish(index, choice, { sawCalls: numbers.seen, error: choice.error }))
    }
    const usage = usageEvent(chunk)
    if (usage) events.push(usage)
    return errorLast(events)
  }
}

function start(body: Json): ChatEvent {
  return {
    type: 'start',
    id: textOf(body.id),
    model: textOf(body.model),
    ...(typeof body.created === 'number' && { createdS: body.created }),
  }
}

/** The report of the usage is a chunk of its own: one may still follow a failure. */
function finish(choice: number, ended: Json, about: { sawCalls: boolean; error: unknown }): ChatEvent {
  const ending = choiceEnding(ended, about.error)
  if (ending instanceof GatewayError) return { type: 'error', error: ending, awaitsUsage: true }
  return { type: 'finish', choice, reason: withCalls(ending, about.sawCalls) }
}

function usageEvent(body: Json): ChatEvent | undefined {
  const usage = readChunkUsage(body)
  return usage && { type: 'usage', usage }
}

/** A whole message. `thinking_blocks` carry signatures and replace the plain reasoning, which repeats their text. */
function messageEvents(choice: number, message: Json, calls: CallEvents): ChatEvent[] {
  const { thinking_blocks: blocks, ...rest } = message
  const thinking = thinkingEvents(choice, blocks, 'all')
  if (thinking.length === 0) return deltaEvents(choice, rest, calls)
  const { reasoning_content: _, reasoning: __, ...answer } = rest
  return [...thinking, ...deltaEvents(choice, answer, calls)]
}

/** `thinking_blocks` as in LiteLLM's and this gateway's answers; `signatures` = without their text. */
function thinkingEvents(choice: number, blocks: unknown, which: 'all' | 'signatures'): ChatEvent[] {
  return listOf(blocks).flatMap((block): ChatEvent[] => {
    if (!isObject(block)) return []
    const [text, signature, redacted] = [
      which === 'signatures' ? '' : textOf(block.thinking),
      textOf(block.signature),
      textOf(block.data),
    ]
    return [
      ...(text ? [{ type: 'reasoning', choice, text } as const] : []),
      ...(signature ? [{ type: 'reasoning', choice, signature } as const] : []),
      ...(redacted ? [{ type: 'reasoning', choice, redacted } as const] : []),
    ]
  })
}

/** The events of a delta, in the order in which models generate: reasoning, text, refusal, calls. */
function deltaEvents(choice: number, delta: Json, calls: CallEvents): ChatEvent[] {
  const events: ChatEvent[] = []
  const reasoning = textOf(delta.reasoning_content) || textOf(delta.reasoning)
  if (reasoning) events.push({ type: 'reasoning', choice, text: reasoning })
  // The text of a streamed block was sent as `reasoning_content`.
  events.push(...thinkingEvents(choice, delta.thinking_blocks, 'signatures'))
  events.push(...contentEvents(choice, delta.content))
  if (textOf(delta.refusal)) events.push({ type: 'refusal', choice, text: textOf(delta.refusal) })
  for (const citation of listOf(delta.annotations))
    if (isObject(citation)) events.push({ type: 'citation', choice, citation })
  for (const image of listOf(delta.images)) events.push(...images(choice, image))
  if (isObject(delta.audio)) events.push(audio(choice, delta.audio))
  for (const call of listOf(delta.tool_calls)) if (isObject(call)) events.push(...calls.read(choice, call))
  if (isObject(delta.function_call)) events.push(...calls.read(choice, { index: 0, function: delta.function_call }))
  return events
}

/** A string, or parts as in answers of Mistral and others (docs.mistral.ai, "Reasoning", "Citations"). */
function contentEvents(choice: number, content: unknown): ChatEvent[] {
  if (typeof content === 'string') return content ? [{ type: 'text', choice, text: content }] : []
  const events: ChatEvent[] = []
  for (const part of listOf(content)) {
    if (!isObject(part)) continue
    if (part.type === 'text' && textOf(part.text)) events.push({ type: 'text', choice, text: textOf(part.text) })
    else if (part.type === 'thinking' && thought(part.thinking))
      events.push({ type: 'reasoning', choice, text: thought(part.thinking) })
    else if (part.type === 'reference') events.push({ type: 'citation', choice, citation: part })
  }
  return events
}

/** A text, or a list of text parts. */
function thought(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking
  return listOf(thinking)
    .map(part => (isObject(part) ? textOf(part.text) : ''))
    .join('')
}

/** `{image_url: {url}}`, the form of generated images at OpenRouter and LiteLLM. */
function images(choice: number, image: unknown): ChatEvent[] {
  const url = isObject(image) && isObject(image.image_url) ? textOf(image.image_url.url) : ''
  return url === '' ? [] : [{ type: 'image', choice, source: sourceOf(url) }]
}

function sourceOf(url: string): Source {
  // Only the beginning is matched: the rest may be many megabytes.
  const head = /^data:([^;,]+);base64,/.exec(url.slice(0, 200))
  return head ? { data: url.slice(head[0].length), mediaType: head[1]! } : { url }
}

function audio(choice: number, value: Json): ChatEvent {
  return {
    type: 'audio',
    choice,
    ...(typeof value.id === 'string' && { id: value.id }),
    ...(typeof value.data === 'string' && { data: value.data }),
    ...(typeof value.transcript === 'string' && { transcript: value.transcript }),
    ...(typeof value.expires_at === 'number' && { expiresAtS: value.expires_at }),
  }
}

function logprobs(choice: number, value: unknown): ChatEvent[] {
  if (!isObject(value)) return []
  const tokens: unknown[] = Array.isArray(value.content) ? value.content : tokensOf(value)
  const content = tokens.length > 0 ? { content: tokens } : {}
  const refusal =
    Array.isArray(value.refusal) && value.refusal.length > 0 ? { refusal: value.refusal as unknown[] } : {}
  return 'content' in content || 'refusal' in refusal ? [{ type: 'logprobs', choice, ...content, ...refusal }] : []
}

/**
 * Tokens in columns, as text completions have them, and chats of Together and Fireworks (types of together 3.1.1 and
 * fireworks-ai 1.2.30, 2026-11-29).
 */
function tokensOf({ tokens, token_logprobs: logprobs, top_logprobs: tops }: Json): Json[] {
  if (!Array.isArray(tokens) || !Array.isArray(logprobs)) return []
  return (tokens as unknown[]).map((token, at) => ({
    ...tokenOf(token, (logprobs as unknown[])[at]),
    top_logprobs: Object.entries(objectOf(Array.isArray(tops) ? tops[at] : undefined)).map(one => tokenOf(...one)),
  }))
}

function tokenOf(token: unknown, logprob: unknown): Json {
  const text = textOf(token)
  // OpenAI's word for one that it does not count.
  return { token: text, logprob: typeof logprob === 'number' ? logprob : -9999, bytes: [...Buffer.from(text)] }
}

/** A call that has begun. */
interface OpenCall extends NumberedCall {
  /** What was written of its arguments before another call began, then undefined: `end` has seen it. */
  written: string[] | undefined
  readonly end: ObjectEnd
}

/**
 * The events of the tool calls of a choice. A call ends when another begins, unless its arguments are not whole by
 * then: hosts that write several calls at once go on.
 */
class CallEvents {
  readonly #numbers = new CallNumbers()
  /** By their numbers. */
  readonly #calls: OpenCall[] = []
  readonly #open = new Set<OpenCall>()
  #newest: OpenCall | undefined

  get seen(): boolean {
    return this.#numbers.seen
  }

  read(choice: number, entry: Json): ChatEvent[] {
    const events: ChatEvent[] = []
    const called = isObject(entry.function) ? entry.function : {}
    const { call, begins, endsOthers } = this.#numbers.read(entry, called)
    if (begins) {
      events.push(...(endsOthers ? this.close(choice) : this.#closeNewest(choice)))
      const open: OpenCall = { ...call, written: [], end: new ObjectEnd() }
      this.#calls.push(open)
      this.#open.add(open)
      this.#newest = open
      const name = textOf(called.name)
      events.push({ type: 'tool-call-start', choice, index: call.number, ...readSignedCall(entry, call.id), name })
    }
    const fragment =
      typeof called.arguments === 'string' ? called.arguments : called.arguments ? exactText(called.arguments) : ''
    if (fragment) events.push(...this.#arguments(choice, this.#calls[call.number]!, fragment))
    return events
  }

  close(choice: number): ChatEvent[] {
    return [...this.#open].map(call => this.#end(choice, call))
  }

  #arguments(choice: number, call: OpenCall, fragment: string): ChatEvent[] {
    if (!this.#open.has(call)) {
      if (fragment.trim() === '') return []
      throw brokenProtocol('a tool call that goes on behind its end')
    }
    const event: ChatEvent = { type: 'tool-call-arguments', choice, index: call.number, fragment }
    call.written?.push(fragment)
    if (call === this.#newest) return [event]
    return this.#isWhole(call, fragment) ? [event, this.#end(choice, call)] : [event]
  }

  /** Only the newest is looked at: the others were when a call began behind them, and at each fragment since. */
  #closeNewest(choice: number): ChatEvent[] {
    const call = this.#newest
    return call && this.#open.has(call) && this.#isWhole(call, '') ? [this.#end(choice, call)] : []
  }

  /** The arguments of most calls are never looked at: they are the only ones, or whole when the next one begins. */
  #isWhole(call: OpenCall, fragment: string): boolean {
    const { written, end } = call
    call.written = undefined
    return end.push(written ? written.join('') : fragment)
  }

  #end(choice: number, call: OpenCall): ChatEvent {
    this.#open.delete(call)
    call.written = undefined
    return { type: 'tool-call-end', choice, index: call.number }
  }
}
