/**
 * A stream of Messages on its way to a client of the same dialect. The few events that name the model, count or end
 * are parsed; of all others, nearly all of a stream, the text goes out as it came.
 */
import type { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import type { Usage } from '../../core/usage.ts'
import { unfinishedStream } from '../../core/unfinished-stream.ts'
import { frameSplitter } from '../../lib/frames.ts'
import type { Frame } from '../../lib/frame.ts'
import { looksLikeObject } from '../../lib/json/json-object-check.ts'
import { isObject } from '../common/field-checks.ts'
import type { Fields } from '../common/field-checks.ts'
import { anthropicErrorEvent, broken, failureOf, namedEvent } from './error.ts'
import { mergeUsage, readUsage } from './usage.ts'

const quote = 34
const backslash = 92
/** Nearly every event names its type first. */
const leadingType = /^\s*\{\s*"type"\s*:\s*"([a-z_]+)"/
/** Where a delta says something. Inside of strings quotes are escaped, so that the name of a field is one. */
const saying = /"(?:text|thinking|partial_json)"\s*:\s*"/g

/**
 * Complete at a stop reason; a complete stream without `message_stop` gets one. The events `[DONE]` and all that follow
 * the end are left out.
 */
export class MessagesRelay implements StreamRelay {
  started = false
  complete = false
  terminated = false
  failure: GatewayError | undefined
  contentEvents = 0
  contentCharacters = 0
  readonly #publicModel: string
  readonly #splitter = frameSplitter('sse')
  #counts: Fields = {}
  /** The output was counted at its end. */
  #counted = false

  constructor(publicModel: string) {
    this.#publicModel = publicModel
  }

  /** What a message begins with says little of its output: of a stream that was cut, nothing is known. */
  get usage(): Usage | undefined {
    return this.#counted ? readUsage(this.#counts) : undefined
  }

  push(bytes: Uint8Array): string {
    if (this.failure) return ''
    let out = ''
    try {
      for (const frame of this.#splitter.push(bytes)) {
        out += this.#frame(frame)
        if (this.failure) break
      }
    } catch (cause) {
      this.failure = broken('an event that cannot be read', cause)
    }
    return out
  }

  end(): string {
    let out = ''
    // Some servers leave the last blank line out; half an event is worth nothing.
    if (!this.failure && isWhole(this.#splitter.rest())) out = this.push(Buffer.from('\n\n'))
    if (this.failure || this.terminated) return out
    if (!this.complete) {
      this.failure = unfinishedStream()
      return out
    }
    this.terminated = true
    return out + namedEvent('message_stop', '{"type":"message_stop"}')
  }

  errorEvent(error: GatewayError): string {
    return anthropicErrorEvent(error)
  }

  #frame({ event, data }: Frame): string {
    // After the terminal event nothing may follow; some hosts send a `[DONE]` that this dialect does not know.
    if (this.terminated || data === '[DONE]') return ''
    if (!looksLikeObject(data)) throw broken('an event that is not a JSON object')
    const type = event ?? leadingType.exec(data)?.[1] ?? typeOf(data)
    switch (type) {
      case 'content_block_delta':
        this.#count(data)
        break
      case 'message_start':
        return this.#start(data)
      case 'content_block_start':
        this.#block(data)
        break
      case 'message_delta':
        this.#delta(parsed(data))
        break
      case 'message_stop':
        this.#stop()
        break
      case 'error':
        this.failure = failureIn(parsed(data).error)
    }
    return this.failure ? '' : namedEvent(type, data)
  }

  #start(data: string): string {
    const event = parsed(data)
    if (!isObject(event.message)) throw broken('a message_start without `message`')
    this.#counts = mergeUsage(this.#counts, event.message.usage)
    event.message.model = this.#publicModel
    return namedEvent('message_start', JSON.stringify(event))
  }

  /** A block that begins with something, or that is not filled by text: searches, calls, what is to come. */
  #block(data: string): void {
    const { content_block: block } = parsed(data)
    if (!isObject(block)) throw broken('a content_block_start without `content_block`')
    if ((block.type !== 'text' && block.type !== 'thinking') || block.text || block.thinking) this.started = true
  }

  #delta({ delta, usage }: Fields): void {
    this.#counts = mergeUsage(this.#counts, usage)
    if (isObject(usage) && usage.output_tokens != null) this.#counted = true
    if (!isObject(delta) || typeof delta.stop_reason !== 'string') return
    this.started = true
    this.complete = true
  }

  #stop(): void {
    if (this.complete) this.terminated = true
    else this.failure = broken('a message_stop without a stop reason')
  }

  #count(data: string): void {
    saying.lastIndex = 0
    const found = saying.exec(data)
    if (!found) return
    const from = saying.lastIndex
    let at = from
    while (at < data.length && data.charCodeAt(at) !== quote) at += data.charCodeAt(at) === backslash ? 2 : 1
    if (at === from) return
    this.started = true
    this.contentEvents++
    this.contentCharacters += at - from
  }
}

function parsed(data: string): Fields {
  const value: unknown = JSON.parse(data)
  if (!isObject(value)) throw broken('an event that is not an object')
  return value
}

/** Some hosts name an error as they would in a body, or say it in one word. */
const failureIn = (error: unknown): GatewayError => failureOf(typeof error === 'string' ? { message: error } : error)

function typeOf(data: string): string {
  const { type, error } = parsed(data)
  if (type === undefined && error) return 'error'
  if (typeof type !== 'string') throw broken('an event without a type')
  return type
}

/** What stands after the last blank line is an event of which only that line is missing. */
function isWhole(rest: string): boolean {
  const data = rest
    .split(/\r\n|\n|\r/)
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice('data:'.length))
  if (data.length === 0) return false
  try {
    return isObject(JSON.parse(data.join('\n')))
  } catch {
    return false
  }
}
