/**
 * A stream of OpenAI's dialect on its way to a client of the same dialect. Events are looked at, not
 * parsed: a few searches in the text decide what an event is, and unless the model's name must be
 * restored the very bytes of the upstream go out (parsing every event doubles its cost).
 */
import { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import { readChunkUsage } from '../../core/openai-usage.ts'
import type { Usage } from '../../core/usage.ts'
import { unfinishedStream } from '../../core/unfinished-stream.ts'
import { looksLikeObject } from '../../lib/json/json-object-check.ts'
import { lastEventEnd } from '../../lib/sse.ts'

const eventBytesMax = 8 * 1024 * 1024
const nothing = new Uint8Array(0)
const noTail = Buffer.alloc(0)
/** What stands of a blank line before its last byte: `\r\n\r`. */
const blankLineBytesMax = 3
const doneEvent = 'data: [DONE]\n\n'
const finishPattern = /"finish_reason":\s*"/
const usagePattern = /"usage":\s*\{/
const modelPattern = /"model":\s*"[^"\\]*(?:\\.[^"\\]*)*"/
const nullUsagePattern = /"usage":\s*null/y
const noChoicesPattern = /"choices":\s*\[\s*\]/
/** In every event that reports a failure, and in few others: inside of texts quotes are escaped. */
const errorWord = '"error"'
/** A report that says something. */
const countPattern = /"prompt_tokens":\s*\d/
/** As Latin-1, which is how events are looked at. */
const byteOrderMark = '\xef\xbb\xbf'
/** A delta that says something: text, thinking, refusal or arguments that are not empty. */
const contentPattern = /"(?:content|text|reasoning_content|reasoning|refusal|arguments)":\s*"(?!")/g

interface RelayOptions {
  readonly publicModel: string
  /** The client asked for the usage event; else it is held back. */
  readonly showUsage: boolean
  /** So many the client asked for; each has its finish reason. Absent = one. */
  readonly choices?: number
  readonly errorEvent: (error: GatewayError) => string
}

/**
 * Complete when every choice has its finish reason, or at `[DONE]` after an answer; a complete stream without `[DONE]`
 * gets one. Fails on events of more than 8 MiB, or that are no JSON object, and on errors that the upstream reports in
 * its stream.
 */
export class OpenaiRelay implements StreamRelay {
  readonly errorEvent: (error: GatewayError) => string
  started = false
  complete = false
  terminated = false
  failure: GatewayError | undefined
  contentEvents = 0
  contentCharacters = 0
  readonly #modelJson: string
  readonly #showUsage: boolean
  readonly #choices: number
  /** Where several were asked for: the indexes of those that have finished, which some hosts say twice. */
  readonly #finished = new Set<unknown>()
  /** Pieces of an event that is not complete yet. */
  #pending: Buffer[] = []
  #pendingBytes = 0
  /** The last of them: a blank line may begin here. */
  #tail = noTail
  #usageEvent: string | undefined
  /** A chunk was more than a report of filters or usage. */
  #answered = false
  /** `"model":"..."` as this upstream writes it; empty until seen. */
  #upstreamModel = ''

  constructor(options: RelayOptions) {
    this.errorEvent = options.errorEvent
    this.#showUsage = options.showUsage
    this.#choices = options.choices ?? 1
    this.#modelJson = `"model":${JSON.stringify(options.publicModel)}`
  }

  get usage(): Usage | undefined {
    const event = this.#usageEvent
    if (event === undefined) return undefined
    try {
      const chunk = JSON.parse(latin1ToUtf8(dataOf(event) ?? '')) as Record<string, unknown>
      return readChunkUsage(chunk)
    } catch {
      return undefined
    }
  }

  push(bytes: Uint8Array): Uint8Array {
    if (this.failure || this.terminated) return nothing
    let buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (this.#pending.length > 0) {
      // Joined only when an event has ended, so that a giant event is not copied once for each piece.
      if (buffer.indexOf(10) < 0 || lastEventEnd(Buffer.concat([this.#tail, buffer])) === 0) return this.#hold(buffer)
      buffer = Buffer.concat([...this.#pending, buffer])
      this.#pending = []
      this.#pendingBytes = 0
      this.#tail = noTail
    }
    const end = lastEventEnd(buffer)
    if (end < buffer.length) this.#hold(buffer.subarray(end))
    return end === 0 || this.failure ? nothing : this.#relay(buffer.subarray(0, end))
  }

  #hold(piece: Buffer): Uint8Array {
    this.#pending.push(piece)
    this.#pendingBytes += piece.length
    this.#tail = Buffer.concat([this.#tail, piece.subarray(-blankLineBytesMax)]).subarray(-blankLineBytesMax)
    if (this.#pendingBytes > eventBytesMax)
      this.failure = broken(`an event of the upstream's stream is larger than ${eventBytesMax} bytes`)
    return nothing
  }

  end(): Uint8Array {
    let out: Uint8Array = nothing
    if (this.#pending.length > 0 && !this.failure && !this.terminated) {
      // Some servers leave the last blank line out.
      const last = Buffer.concat([...this.#pending, Buffer.from('\n\n')])
      this.#pending = []
      if (this.#isWhole(last)) out = this.#relay(last)
    }
    if (this.failure) return out
    if (!this.complete) {
      this.failure = unfinishedStream()
      return out
    }
    if (this.terminated) return out
    this.terminated = true
    return Buffer.concat([out, Buffer.from(doneEvent)])
  }

  /** A cut event is not valid JSON: what remains at the end is only used if it is. */
  #isWhole(event: Buffer): boolean {
    const data = dataOf(event.toString('utf8'))
    if (data === undefined) return false
    if (data === '[DONE]') return true
    try {
      JSON.parse(data)
      return true
    } catch {
      return false
    }
  }

  /** Complete events only. Latin-1 keeps every byte as one character, so the way back is exact. */
  #relay(block: Buffer): Uint8Array {
    const text = block.toString('latin1')
    // Nearly every piece is one event of one line; it skips the splitting.
    if (text.indexOf('\n') === text.length - 2) {
      const event = this.#event(text)
      return event === text ? block : Buffer.from(event, 'latin1')
    }
    let out = ''
    for (const event of splitEvents(text)) {
      out += this.#event(event)
      // Nothing after the end counts, wherever the bytes were cut.
      if (this.failure || this.terminated) break
    }
    return out === text ? block : Buffer.from(out, 'latin1')
  }

  /** What goes out for one event; the same string when nothing had to change. */
  #event(event: string): string {
    return event.startsWith('data:') && looksLikeObject(event, 'data:'.length) ? this.#chunk(event) : this.#odd(event)
  }

  /** What is not one line of JSON: the end, comments, events with names, and what no client could read. */
  #odd(event: string): string {
    if (event.startsWith(byteOrderMark)) return this.#event(event.slice(byteOrderMark.length))
    const data = dataOf(event)
    if (data === undefined) return event
    // By the rules of server-sent events this is none; clients that parse it all the same would break.
    if (data === '') return ''
    if (data.startsWith('[DONE]')) return this.#done(event)
    if (!looksLikeObject(data)) {
      this.failure = broken("an event of the upstream's stream is not a JSON object")
      return ''
    }
    return this.#chunk(event, `data:${data}`)
  }

  #done(event: string): string {
    if (!this.complete && !this.#answered) {
      this.failure = broken('the upstream ended its stream without an answer')
      return ''
    }
    // Many small hosts know no finish reason: their `[DONE]` is taken for the end.
    this.complete = true
    this.terminated = true
    return event
  }

  /** `line` = the event as if it had one line of data and no name. */
  #chunk(event: string, line = event): string {
    if (line.includes(errorWord)) {
      this.failure = errorOf(line)
      if (this.failure) {
        this.#noteUsage(line)
        return ''
      }
    }
    if (!this.#answered) this.#answered = !noChoicesPattern.test(event)
    const content = event.match(contentPattern)
    if (content) {
      this.started = true
      this.contentEvents++
      this.#countCharacters(event)
    }
    if (event.includes('"finish_reason":') && finishPattern.test(event)) this.#finish(event)
    const usageAt = event.indexOf('"usage":')
    if (usageAt < 0) return this.#restoreModel(event)
    if (usagePattern.test(event)) {
      this.#noteUsage(event)
      if (!this.#showUsage && noChoicesPattern.test(event)) return ''
    } else if (!this.#showUsage) return this.#restoreModel(withoutNullUsage(event, usageAt))
    return this.#restoreModel(event)
  }

  #finish(event: string): void {
    this.started = true
    if (this.#choices > 1) for (const index of finishedIn(event)) this.#finished.add(index)
    if (this.#choices === 1 || this.#finished.size >= this.#choices) this.complete = true
  }

  #noteUsage(event: string): void {
    if (countPattern.test(event)) this.#usageEvent = event
  }

  #restoreModel(event: string): string {
    if (this.#upstreamModel === this.#modelJson) return event
    if (this.#upstreamModel !== '') {
      const at = event.indexOf(this.#upstreamModel)
      if (at >= 0) return event.slice(0, at) + this.#latin1Model() + event.slice(at + this.#upstreamModel.length)
    }
    const found = modelPattern.exec(event)
    if (!found) return event
    this.#upstreamModel = found[0]
    if (found[0] === this.#modelJson) return event
    return event.slice(0, found.index) + this.#latin1Model() + event.slice(found.index + found[0].length)
  }

  #latin1Model(): string {
    return Buffer.from(this.#modelJson, 'utf8').toString('latin1')
  }

  #countCharacters(event: string): void {
    contentPattern.lastIndex = 0
    for (let found = contentPattern.exec(event); found; found = contentPattern.exec(event)) {
      let at = found.index + found[0].length
      const from = at
      while (at < event.length && event.charCodeAt(at) !== 34) at += event.charCodeAt(at) === 92 ? 2 : 1
      this.contentCharacters += at - from
    }
  }
}

/**
 * Where usage is asked for, every chunk but the last says `"usage":null`. It was the gateway that asked: a client that
 * did not gets none, and at least one refuses it (@mistralai/mistralai 2.7). `at` is where the key stands.
 */
function withoutNullUsage(event: string, at: number): string {
  nullUsagePattern.lastIndex = at
  if (!nullUsagePattern.test(event)) return event
  const before = event.slice(0, at).trimEnd()
  return before.endsWith(',') ? before.slice(0, -1) + event.slice(nullUsagePattern.lastIndex) : event
}

function splitEvents(text: string): string[] {
  return text.split(/(?<=\n\n|\n\r\n)/)
}

/** The indexes of the choices that finish in a chunk; none where it cannot be read. */
function finishedIn(event: string): unknown[] {
  try {
    const { choices } = JSON.parse(dataOf(event) ?? '') as { choices: { index?: unknown; finish_reason?: unknown }[] }
    return choices.filter(one => typeof one.finish_reason === 'string').map(one => one.index)
  } catch {
    return []
  }
}

/** The data of an event as one text; undefined when it has no such line. */
function dataOf(event: string): string | undefined {
  const lines = event.split(/\r\n|\n|\r/).filter(line => line.startsWith('data:'))
  return lines.length === 0
    ? undefined
    : lines
        .map(line => line.slice('data:'.length))
        .join('\n')
        .trim()
}

function latin1ToUtf8(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8')
}

function broken(message: string): GatewayError {
  return new GatewayError('upstream-broken', message)
}

/**
 * The upstream's own words about a failure inside a stream: `{error}`, alone or beside the fields of a chunk
 * (openrouter.ai/docs/api/reference/streaming), `{object: "error", message}` as vLLM writes it, or a choice that
 * finished with `error`. Undefined = the event is none: it only has the word.
 */
function errorOf(event: string): GatewayError | undefined {
  try {
    const body = JSON.parse(latin1ToUtf8(event).replace(/^data:\s*/, '')) as Words
    const failed = Array.isArray(body.choices)
      ? (body.choices as (Words | null)[]).find(one => one?.finish_reason === 'error')
      : undefined
    if (!body.error && body.object !== 'error' && !failed) return undefined
    const error = body.error || (failed ? failed.error || 'the upstream failed while it answered' : body)
    const { message, code } = typeof error === 'string' ? { message: error } : (error as Words)
    return new GatewayError('upstream-failed', typeof message === 'string' ? message : 'the upstream failed', {
      code: typeof code === 'string' ? code : undefined,
    })
  } catch (cause) {
    return new GatewayError('upstream-broken', 'the upstream sent an error event that cannot be read', { cause })
  }
}

/** Of an error, or of what may have one. */
type Words = Readonly<Record<string, unknown>>
