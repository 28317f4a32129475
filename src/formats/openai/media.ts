/** What pictures and audio share on the forward lane: their usage, their events, and bytes that are not text. */
import { failureOfBody } from '../../core/dialects/classify.ts'
import { brokenAnswer, GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import { readOpenaiUsage, setReportedCost } from '../../core/usage/openai-usage.ts'
import { imageTokens } from '../../core/usage/responses-usage.ts'
import { countOf, membersOf, setCount } from '../../core/usage/usage-fields.ts'
import { addUsage } from '../../core/usage/usage-sum.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { unfinishedStream } from '../../core/dialects/stream-end.ts'
import { looksLikeObject } from '../../lib/json/json-object-check.ts'
import { SseSplitter, WholeEvents } from '../../lib/sse.ts'
import { openaiErrorEvent } from './error.ts'
import { isObject, parsedObject } from '../../lib/json/json-values.ts'

const nothing = new Uint8Array(0)
const secondsMax = 1_000_000
/** An event may hold a whole picture in base64. */
const eventBytesMax = 64 * 1024 * 1024
const wholeBytesMax = 64 * 1024 * 1024

/** A plausible duration: more than 0 s and less than 12 days. */
export const isDuration = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && value <= secondsMax

/**
 * `usage` of images, speech and transcriptions: `{input_tokens, output_tokens}` with their details, or
 * `{type: 'duration', seconds}` (OpenAI API reference). Undefined when it is missing or not believable.
 */
export function readMediaUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  if (value.type === 'duration' || isDuration(value.seconds))
    return isDuration(value.seconds) ? { inputTokens: 0, outputTokens: 0, audioSeconds: value.seconds } : undefined
  const usage = tokensOf(value) ?? readOpenaiUsage(value)
  if (usage) setReportedCost(usage, value)
  return usage
}

/** Undefined = not in the words of these dialects: some hosts stream transcriptions with those of chat. */
function tokensOf(value: Record<string, unknown>): Usage | undefined {
  // Only models that draw distinguish pictures from other tokens.
  if (membersOf(value.input_tokens_details).image_tokens !== undefined) return imageTokens(value)
  const inputTokens = countOf(value.input_tokens)
  const outputTokens = countOf(value.output_tokens ?? 0)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const usage: Usage = { inputTokens, outputTokens }
  const { audio_tokens: audio } = membersOf(value.input_token_details ?? value.input_tokens_details)
  setCount(usage, 'inputAudioTokens', countOf(audio) ?? 0, inputTokens)
  return usage
}

/** The parts of a relay that do not depend on what is relayed. */
abstract class MediaRelay implements StreamRelay {
  started = false
  received = false
  steps = 0
  complete = false
  terminated = false
  failure: GatewayError | undefined
  usage: Usage | undefined
  contentEvents = 0
  contentCharacters = 0

  abstract push(bytes: Uint8Array): Uint8Array | string
  abstract end(): Uint8Array | string
  abstract errorEvent(error: GatewayError): string
}

/** Audio as it comes. There is no word for an error in it: a stream that breaks is cut. */
export class ByteRelay extends MediaRelay {
  push(bytes: Uint8Array): Uint8Array {
    if (bytes.length > 0) this.started = this.received = true
    this.steps++
    return bytes
  }

  end(): Uint8Array {
    if (this.started) this.complete = true
    else this.failure = brokenAnswer('the upstream answered with no audio at all')
    return nothing
  }

  errorEvent(): string {
    return ''
  }
}

/** A whole answer of an upstream that was asked for a stream: checked when it is whole, then sent at once. */
export class WholeRelay extends MediaRelay {
  readonly #read: (bytes: Uint8Array) => { body: Uint8Array | string; usage: Usage | undefined }
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(read: (bytes: Uint8Array) => { body: Uint8Array | string; usage: Usage | undefined }) {
    super()
    this.#read = read
  }

  push(bytes: Uint8Array): Uint8Array {
    this.#pieces.push(bytes)
    this.#bytes += bytes.length
    this.steps++
    if (this.#bytes > wholeBytesMax)
      this.failure = brokenAnswer(`the upstream's answer is larger than ${wholeBytesMax} bytes`)
    return nothing
  }

  end(): Uint8Array | string {
    try {
      const { body, usage } = this.#read(Buffer.concat(this.#pieces))
      this.usage = usage
      this.started = true
      this.complete = true
      return body
    } catch (cause) {
      this.failure =
        cause instanceof GatewayError ? cause : brokenAnswer("the upstream's answer does not follow its protocol")
      return nothing
    }
  }

  errorEvent(): string {
    return ''
  }
}

/** How the end of a stream of events is known. */
interface EventRules {
  /** The `type`s that end the answer: `speech.audio.done`. */
  readonly last: readonly string[]
  /** How many of those the client waits for: one a picture. */
  readonly lastCount: number
}

/** Server-sent events that pass as they are; held until they are whole, so that an error among them is found. */
export class MediaEventRelay extends MediaRelay {
  readonly #rules: EventRules
  readonly #splitter = new SseSplitter(eventBytesMax)
  readonly #events = new WholeEvents(eventBytesMax)
  #ends = 0

  constructor(rules: EventRules) {
    super()
    this.#rules = rules
  }

  push(received: Uint8Array): Uint8Array {
    if (this.failure || this.terminated) return nothing
    let whole: Buffer
    try {
      whole = this.#events.push(received)
    } catch (cause) {
      this.failure = brokenAnswer((cause as Error).message, cause)
      return nothing
    }
    return whole.length === 0 ? nothing : this.#relay(whole)
  }

  end(): Uint8Array {
    // Some servers leave the last blank line out; half an event is worth nothing.
    const rest = Buffer.concat([this.#events.rest(), Buffer.from('\n\n')])
    const last = !this.failure && !this.terminated && isWhole(rest) ? this.#relay(rest) : nothing
    if (!this.failure && !this.complete) this.failure = unfinishedStream()
    this.terminated = this.complete
    return last
  }

  errorEvent(error: GatewayError): string {
    return openaiErrorEvent(error)
  }

  #relay(block: Buffer): Uint8Array {
    const hasCrlf = block.includes('\n\r\n')
    for (let from = 0; from < block.length; ) {
      const to = nextEventEnd(block, from, hasCrlf)
      for (const { event, data } of this.#splitter.push(block.subarray(from, to))) this.#see(event, data)
      if (this.failure) return block.subarray(0, from)
      // Nothing after the end counts, wherever the bytes were cut.
      if (this.terminated) return block.subarray(0, to)
      from = to
    }
    return block
  }

  #see(event: string | undefined, data: string): void {
    if (data === '[DONE]') {
      if (!this.started) this.failure = brokenAnswer('the upstream ended its stream without an answer')
      if (this.failure) return
      this.complete = true
      this.terminated = true
      return
    }
    this.contentEvents++
    this.steps++
    this.received = true
    // Base64 holds neither quotes nor dots: the large events are never parsed.
    const isOfInterest =
      event === 'error' ||
      data.includes('"error"') ||
      data.includes('"usage"') ||
      this.#rules.last.some(type => data.includes(type))
    const parsed = isOfInterest ? parsedObject(data) : looksLikeObject(data) ? {} : undefined
    if (!parsed) this.failure = brokenAnswer('an event of the upstream is not valid JSON')
    else if (event === 'error' || parsed.type === 'error' || parsed.object === 'error' || isFault(parsed.error))
      this.failure = failureOfBody(parsed)
    else this.#content(parsed)
  }

  #content(parsed: Record<string, unknown>): void {
    this.started = true
    const usage = readMediaUsage(parsed.usage)
    // Each picture of a stream reports its own.
    if (usage) this.usage = addUsage(this.usage, usage)
    if (!this.#rules.last.includes(parsed.type as string)) return
    this.complete = true
    if (++this.#ends >= this.#rules.lastCount) this.terminated = true
  }
}

function isWhole(event: Uint8Array): boolean {
  const [frame] = new SseSplitter(eventBytesMax).push(event)
  return frame !== undefined && (frame.data === '[DONE]' || parsedObject(frame.data) !== undefined)
}

const isFault = (error: unknown): boolean => isObject(error) || (typeof error === 'string' && error !== '')

/** Offset behind the next blank line at or after `from`. */
function nextEventEnd(block: Buffer, from: number, hasCrlf: boolean): number {
  const lf = block.indexOf('\n\n', from)
  const crlf = hasCrlf ? block.indexOf('\n\r\n', from) : -1
  return Math.min(lf < 0 ? block.length : lf + 2, crlf < 0 ? block.length : crlf + 3)
}
