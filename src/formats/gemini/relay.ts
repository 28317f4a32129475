/**
 * A stream of Gemini's dialect on its way to a client of the same dialect. The upstream is always asked for
 * server-sent events; the client gets them as such, or as the elements of an array. Gemini's events are few and
 * large, so each is parsed; of its bytes only the model's name is changed.
 */
import { frameworkError, namedError } from '../../core/dialects/classify.ts'
import { brokenAnswer, GatewayError } from '../../core/errors.ts'
import { endingOf, geminiFinishReason, geminiFinishReasons } from '../../core/dialects/finish-reasons.ts'
import { GeminiUsage } from '../../core/usage/gemini-usage.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { silentEndMs } from '../../core/dialects/stream-end.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import type { Frame } from '../../lib/frame.ts'
import { isObject, textOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { EventRelay } from '../common/event-relay.ts'
import { answerLimits } from '../common/whole-answer.ts'
import type { StreamFraming } from './stream-framing.ts'
import { geminiErrorBody } from './error.ts'
import { objectsOrOne } from './json-names.ts'

/** An event may hold a picture in base64. */
const eventBytesMax = 64 * 1024 * 1024

/** Complete when every candidate that began has its finish reason, or the prompt was blocked. */
export class GenerateRelay extends EventRelay {
  readonly quietMs = silentEndMs
  readonly #framing: StreamFraming
  readonly #modelJson: string
  /** Candidates that have begun and not ended. */
  readonly #open = new Set<number>()
  readonly #finished = new Set<number>()
  #isBlocked = false
  /** An answer that may be the last one: no field marks it, so it is held until the next one or the end. */
  #held = ''
  readonly #reports = new GeminiUsage()

  constructor(publicModel: string, framing: StreamFraming) {
    super(eventBytesMax)
    this.#framing = framing
    this.#modelJson = JSON.stringify(publicModel)
  }

  get complete(): boolean {
    return (this.#isBlocked || this.#finished.size > 0) && this.#open.size === 0
  }

  get usage(): Usage | undefined {
    return this.#reports.usage()
  }

  /** The held answer is not sent: a client that has seen the last answer takes the stream for complete. */
  errorEvent(error: GatewayError): string {
    return this.#framing.error(JSON.stringify(geminiErrorBody(error)))
  }

  #release(): string {
    const held = this.#held
    this.#held = ''
    return held === '' ? '' : this.#framing.element(held)
  }

  protected unreadable(cause: unknown): GatewayError {
    if (cause instanceof GatewayError) return cause
    return brokenAnswer("an event of the upstream's stream is not a JSON object", cause)
  }

  protected terminalEvent(): string {
    return this.#release() + this.#framing.end()
  }

  protected read({ data }: Frame): string {
    // Some hosts end with a mark that this dialect does not know.
    if (data.startsWith('[DONE]')) return ''
    const out = this.#release()
    const body = JsonBody.read(Buffer.from(data, 'utf8'), answerLimits)
    const event = body.parse()
    this.received = true
    this.failure = namedError(event) ?? (event.candidates === undefined ? frameworkError(event) : undefined)
    if (this.failure) return out
    this.#see(event)
    if (this.failure) return out
    const edits = body.has('modelVersion') ? [{ set: 'modelVersion', json: this.#modelJson }] : []
    const json = Buffer.concat(body.edited(edits)).toString('utf8')
    if (!this.complete) return out + this.#framing.element(json)
    this.#held = json
    return out
  }

  #see(event: Json): void {
    const candidates = objectsOrOne(event.candidates)
    for (const candidate of candidates) this.#seeCandidate(candidate)
    // A prompt that is blocked gets no candidate: this is the whole answer.
    if (candidates.length === 0 && isObject(event.promptFeedback) && event.promptFeedback.blockReason != null) {
      this.started = true
      this.steps++
      this.#isBlocked = true
    }
    this.#reports.take(event)
  }

  #seeCandidate(candidate: Json): void {
    const index = typeof candidate.index === 'number' ? candidate.index : 0
    const parts = isObject(candidate.content) ? objectsOrOne(candidate.content.parts) : []
    let characters = 0
    for (const part of parts) characters += charactersOf(part)
    // Sources and empty parts also follow the end; only content has to be finished again.
    if (characters > 0 || !this.#finished.has(index)) this.#open.add(index)
    if (characters > 0) {
      this.started = true
      this.steps++
      this.contentEvents++
      this.contentCharacters += characters
    }
    const word = geminiFinishReason(candidate)
    if (word === '') return
    const ending = endingOf(geminiFinishReasons, word, textOf(candidate.finishMessage))
    if (ending instanceof GatewayError) {
      this.failure ??= ending
      return
    }
    this.#open.delete(index)
    this.#finished.add(index)
    this.steps++
    this.started = true
  }
}

function charactersOf(part: Json): number {
  if (typeof part.text === 'string') return part.text.length
  if (isObject(part.functionCall)) return JSON.stringify(part.functionCall.args ?? {}).length
  // Pictures, sound, code: there is content, of unknown tokens.
  return Object.keys(part).some(name => name !== 'thought' && name !== 'thoughtSignature') ? 1 : 0
}
