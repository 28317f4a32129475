/**
 * A stream of OpenAI's dialect on its way to a client of the same dialect. Each chunk is judged as strictly as on the
 * translate lane: it is parsed, unless it differs from one before it only in its text (chunk-template.ts). What goes
 * out are the very bytes of the upstream, in which only the model's name is replaced, what the client did not ask for
 * is left out, and what strict clients cannot read is put right (chat-repairs.ts).
 */
import { brokenAnswer, GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import { choiceEnding, choiceIndex, finishReasonOf, reportedError } from '../../core/dialects/openai-chunk.ts'
import { readChunkUsage } from '../../core/usage/openai-usage.ts'
import { ChoiceStates, endWaitMs, unfinishedStream } from '../../core/dialects/stream-end.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { openBrace } from '../../lib/json/json-bytes.ts'
import { looksLikeObject } from '../../lib/json/json-object-check.ts'
import { isObject, listOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { utf16Length } from '../../lib/text.ts'
import { WholeEvents } from '../../lib/sse.ts'
import { doneEvent } from './answer-fields.ts'
import { ChunkRepairs } from './chat-repairs.ts'
import { contentCharacters, onlyText } from './chunk-content.ts'
import { ChunkTemplate } from './chunk-template.ts'
import { applyMends } from './mends.ts'

const eventBytesMax = 8 * 1024 * 1024
const nothing = new Uint8Array(0)
const modelPattern = /"model":\s*"[^"\\]*(?:\\.[^"\\]*)*"/
const nullUsagePattern = /"usage":\s*null/y
/** As Latin-1, which is how events are looked at. */
const byteOrderMark = '\xef\xbb\xbf'
/** A ping keeps the connection alive and is no chunk: it goes on as a comment, which no client takes for one. */
const pingName = /^event: ?ping\r?$/m
const pingComment = ': ping\n\n'

interface RelayOptions {
  readonly publicModel: string
  /** The client asked for the usage event; else it is held back. */
  readonly showUsage: boolean
  /** So many the client requested; each has its finish reason. Absent = one. */
  readonly choices?: number
  /** The client demands the call of one function. */
  readonly forced?: boolean
  readonly errorEvent: (error: GatewayError) => string
}

/**
 * Complete when every choice has its finish reason; a complete stream without `[DONE]` gets one. A `[DONE]` that comes
 * before any usage is held until the usage, the end of the bytes or `quietMs`: some hosts report the usage after it.
 * Fails on events of more than 8 MiB, or that are no chunks in JSON, on errors that the upstream reports in its stream,
 * and at a `[DONE]` before every choice that began has finished.
 */
export class OpenaiRelay implements StreamRelay {
  readonly errorEvent: (error: GatewayError) => string
  started = false
  received = false
  steps = 0
  complete = false
  terminated = false
  failure: GatewayError | undefined
  usage: Usage | undefined
  contentEvents = 0
  contentCharacters = 0
  readonly #template = new ChunkTemplate()
  /** `"model":"..."` as the client is to see it, in Latin-1 as the events are. */
  readonly #modelJson: string
  readonly #showUsage: boolean
  readonly #choices: ChoiceStates
  readonly #repairs: ChunkRepairs
  readonly #events = new WholeEvents(eventBytesMax)
  /** Chunks without id and choices, until one with a choice comes. */
  #nameless: string[] = []
  /** A chunk had a choice. */
  #answered = false
  /** The upstream's `[DONE]` as it came, while usage may still follow it. */
  #heldDone = ''
  /** The upstream's failure in the place of a finish: the next chunk may still report the usage, then it holds. */
  #failing: GatewayError | undefined
  /** The same as this upstream writes it; empty until seen. */
  #upstreamModel = ''

  get answeredModel(): string | undefined {
    const model = this.#upstreamModel === '' ? undefined : objectIn(`{${this.#upstreamModel}}`)?.model
    return typeof model === 'string' ? model : undefined
  }

  constructor(options: RelayOptions) {
    this.errorEvent = options.errorEvent
    this.#showUsage = options.showUsage
    this.#choices = new ChoiceStates(options.choices)
    this.#repairs = new ChunkRepairs(options.forced)
    this.#modelJson = Buffer.from(`"model":${JSON.stringify(options.publicModel)}`, 'utf8').toString('latin1')
  }

  get quietMs(): number {
    return endWaitMs(this.usage !== undefined || this.#heldDone !== '')
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
    let out: Uint8Array = nothing
    const rest = this.#events.rest()
    if (rest.length > 0 && !this.failure && !this.terminated) {
      // Some servers leave the last blank line out, some write their error as JSON without `data:`.
      const last = Buffer.concat([Buffer.from(rest[0] === openBrace ? 'data: ' : ''), rest, Buffer.from('\n\n')])
      if (isWhole(last)) out = this.#relay(last)
    }
    if (this.failure) return out
    if (this.#failing || !this.complete) {
      this.failure = this.#failing ?? unfinishedStream()
      return out
    }
    if (this.terminated) return out
    this.terminated = true
    return Buffer.concat([out, Buffer.from(this.#heldDone || doneEvent, 'latin1')])
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
    if (this.#heldDone !== '') return this.#afterDone(event)
    const textBytes = this.#template.match(event)
    if (textBytes > 0 && !this.#failing) return this.#repeated(event, textBytes)
    const chunk = event.startsWith('data:') ? objectIn(event.slice('data:'.length)) : undefined
    return chunk ? this.#chunk(event, chunk) : this.#odd(event)
  }

  /** A chunk that differs from one before it only in its text: its choice has begun, and not finished since. */
  #repeated(event: string, textBytes: number): string {
    const from = this.#template.textStart
    this.steps++
    this.contentEvents++
    this.contentCharacters += utf16Length(event, from, from + textBytes)
    return this.#template.shownFor(event, textBytes)
  }

  /** What is not one line of JSON: the end, comments, events with names, and what no client could read. */
  #odd(event: string): string {
    if (event.startsWith(byteOrderMark)) return this.#event(event.slice(byteOrderMark.length))
    const data = dataOf(event)
    if (data === undefined) return event
    // By the rules of server-sent events this is none; clients that parse it all the same would break.
    if (data === '') return ''
    if (pingName.test(event)) return pingComment
    if (data.startsWith('[DONE]')) return this.#done(event)
    const chunk = objectIn(data)
    if (chunk) return this.#chunk(event, chunk)
    this.failure = brokenAnswer("an event of the upstream's stream is not a JSON object")
    return ''
  }

  #done(event: string): string {
    if (this.#failing || !this.#choices.mayEnd) {
      const unfinished = this.#answered
        ? unfinishedStream()
        : brokenAnswer('the upstream ended its stream without an answer')
      this.failure = this.#failing ?? unfinished
      return ''
    }
    this.complete = true
    if (!this.usage) {
      this.#heldDone = event
      return ''
    }
    this.terminated = true
    return event
  }

  /** Only a report of usage counts: it goes out before the `[DONE]` that it came after. */
  #afterDone(event: string): string {
    const data = dataOf(event)
    const chunk = data === undefined ? undefined : objectIn(data)
    this.usage = chunk && readChunkUsage(chunk)
    if (!this.usage) return ''
    this.terminated = true
    return (this.#showUsage ? this.#restoreModel(event) : '') + this.#heldDone
  }

  #chunk(event: string, chunk: Json): string {
    if (chunk.type === 'ping') return pingComment
    this.received = true
    const usage = readChunkUsage(chunk)
    this.usage = usage ?? this.usage
    if (this.#failing) this.failure = this.#failing
    else if (reportedError(chunk)) this.failure = reportedError(objectIn(latin1ToUtf8(dataOf(event) ?? '')) ?? {})
    else for (const choice of listOf(chunk.choices)) this.#choice(choice)
    if (this.usage) this.failure ??= this.#failing
    if (this.failure || this.#failing || this.#repairs.isEmpty(chunk)) return ''
    if (this.#answered) {
      const shown = this.#shown(this.#mended(event, chunk), chunk)
      if (this.#nameless.length > 0) return this.#named(chunk) + shown
      if (!usage) this.#learn(event, shown, chunk)
      return shown
    }
    if (chunk.id !== '' || !Array.isArray(chunk.choices) || chunk.usage != null) return this.#shown(event, chunk)
    this.#nameless.push(event)
    return ''
  }

  #mended(event: string, chunk: Json): string {
    const mends = this.#repairs.mends(chunk)
    if (mends.length === 0) return event
    const whole = parseExact(latin1ToUtf8(dataOf(event)!))
    applyMends(whole, mends)
    const otherLines = event.split(/\r\n|\n|\r/).filter(line => line !== '' && !line.startsWith('data:'))
    return [...otherLines, `data: ${utf8ToLatin1(exactText(whole))}`, '', ''].join('\n')
  }

  #learn(event: string, shown: string, { choices }: Json): void {
    const [choice, another] = listOf(choices)
    if (another !== undefined || !isObject(choice) || finishReasonOf(choice) !== '') return
    const field = onlyText(choice)
    if (field !== undefined) this.#template.learn(event, shown, field)
  }

  /** Azure's reports of filters before the answer, with the id of the chunk after them: clients refuse an empty one. */
  #named(chunk: Json): string {
    const { created } = chunk
    const id = this.#repairs.idOf(chunk)
    const named = this.#nameless.map(event =>
      this.#restoreModel(
        event
          .replace(/"id":\s*""/, () => `"id":${JSON.stringify(id)}`)
          .replace(/"created":\s*0(?=[,}\s])/, () => `"created":${typeof created === 'number' ? created : 0}`)
          .replace(/"object":\s*""/, '"object":"chat.completion.chunk"'),
      ),
    )
    this.#nameless = []
    return named.join('')
  }

  #shown(event: string, chunk: Json): string {
    if (this.#showUsage || chunk.usage === undefined) return this.#restoreModel(event)
    if (isObject(chunk.usage)) return listOf(chunk.choices).length === 0 ? '' : this.#restoreModel(event)
    return this.#restoreModel(withoutNullUsage(event, event.indexOf('"usage":')))
  }

  #choice(choice: unknown): void {
    const index = isObject(choice) ? choiceIndex(choice, 0) : undefined
    if (index === undefined || !isObject(choice)) {
      this.failure ??= brokenAnswer("the upstream's answer does not follow its protocol: a choice that cannot be read")
      return
    }
    this.#answered = true
    const characters = contentCharacters(choice)
    if (characters >= 0) {
      this.started = true
      this.steps++
      this.#choices.begin(index)
      if (this.complete) this.complete = this.#choices.complete
      if (characters > 0) this.contentEvents++
      this.contentCharacters += characters
    }
    if (finishReasonOf(choice) === '') return
    const ending = choiceEnding(choice)
    if (ending instanceof GatewayError) {
      // Its words, which were read as Latin-1.
      this.#failing ??= choiceEnding(JSON.parse(latin1ToUtf8(JSON.stringify(choice))) as Json) as GatewayError
      return
    }
    this.started = true
    if (this.#choices.finish(index)) this.steps++
    this.complete = this.#choices.complete
    this.#template.forget()
  }

  #restoreModel(event: string): string {
    let at = this.#upstreamModel === '' ? -1 : event.indexOf(this.#upstreamModel)
    if (at < 0) {
      // An upstream may write another name than before, also after the very one that the client is to see.
      const found = modelPattern.exec(event)
      if (!found) return event
      this.#upstreamModel = found[0]
      at = found.index
    }
    if (this.#upstreamModel === this.#modelJson) return event
    return event.slice(0, at) + this.#modelJson + event.slice(at + this.#upstreamModel.length)
  }
}

/**
 * Where usage is requested, every chunk but the last says `"usage":null`. It was the gateway that asked: a client that
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

/** A cut event is not valid JSON: what remains at the end is only used if it is. */
function isWhole(event: Buffer): boolean {
  const data = dataOf(event.toString('latin1'))
  return data === '[DONE]' || (data !== undefined && objectIn(data) !== undefined)
}

/** Undefined = no JSON object. */
function objectIn(json: string): Json | undefined {
  if (!looksLikeObject(json)) return undefined
  try {
    return JSON.parse(json) as Json
  } catch {
    return undefined
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

function utf8ToLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
