/**
 * Several prompts of one call (text completions with a list) at an upstream that takes one conversation at a time:
 * sent one after the other, their answers are further choices. The router sees one exchange with one answer.
 */
import type { ChatEvent, ChatRequest, Message } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Target, TranslatedCall } from '../../core/provider.ts'
import { addUsage } from '../../core/usage/usage-sum.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { SuccessiveStreams } from './successive-streams.ts'
import type { TranslatedStream } from './translate.ts'
import { exactText } from '../../lib/json/exact-json.ts'

/** The position in the prompts, and the events of all answers as those of one. */
export class PromptSeries {
  readonly stream: TranslatedStream
  readonly #target: Target
  readonly #prompts: readonly (readonly Message[])[]
  readonly #choicesEach: number
  #at = 0
  /** The usage of the finished answers; each is billed. */
  usage: Usage | undefined

  constructor(stream: TranslatedStream, target: Target) {
    const { messages, series = [], choices = 1 } = stream.request
    this.stream = stream
    this.#target = target
    this.#prompts = [messages, ...series]
    this.#choicesEach = choices
  }

  /** The request for the current prompt. */
  call(): TranslatedCall {
    const request: ChatRequest = { ...this.stream.request, messages: [...this.#prompts[this.#at]!], series: undefined }
    return this.stream.adapter.request(request, this.#target)
  }

  get isLast(): boolean {
    return this.#at === this.#prompts.length - 1
  }

  /** The event as one of the whole answer; undefined = it is repeated, or part of the sum at the end. */
  renumbered(event: ChatEvent): ChatEvent | undefined {
    if (event.type === 'usage' || (event.type === 'start' && this.#at > 0)) return undefined
    if (event.type === 'start' || event.type === 'error') return event
    if (event.choice >= this.#choicesEach)
      throw new GatewayError(
        'upstream-broken',
        `the upstream gave more than the ${this.#choicesEach} choice(s) it was asked for`,
      )
    return { ...event, choice: this.#at * this.#choicesEach + event.choice }
  }

  /** One answer is finished, with its usage: goes on to the next prompt. false = it was the last. */
  next(usage: Usage | undefined): boolean {
    if (usage) this.usage = addUsage(this.usage, usage)
    if (this.isLast) return false
    this.#at++
    return true
  }
}

/** Whole answers, collected until the last prompt is answered. */
export class GatheredSeries {
  readonly #series: PromptSeries
  readonly #events: ChatEvent[] = []

  constructor(series: PromptSeries) {
    this.#series = series
  }

  /** Adds an answer; returns the request for the next one, or undefined after the last. */
  take(events: readonly ChatEvent[], usage: Usage | undefined): TranslatedCall | undefined {
    for (const event of events) {
      const renumbered = this.#series.renumbered(event)
      if (renumbered) this.#events.push(renumbered)
    }
    return this.#series.next(usage) ? this.#series.call() : undefined
  }

  /** The whole answer in the client's dialect. */
  body(): string {
    const { format, publicModel, request } = this.#series.stream
    const { usage } = this.#series
    const events: ChatEvent[] = usage ? [...this.#events, { type: 'usage', usage }] : this.#events
    return exactText(format.encode(events, publicModel, request))
  }
}

/** Streams, passed on as they arrive. */
export class SeriesRelay extends SuccessiveStreams {
  readonly #series: PromptSeries

  constructor(series: PromptSeries, onNext: () => void = () => {}) {
    super(series.stream, onNext)
    this.#series = series
  }

  override get complete(): boolean {
    return this.#series.isLast && this.hasEnd
  }

  protected override take(event: ChatEvent): void {
    const renumbered = this.#series.renumbered(event)
    if (renumbered) this.out += this.writer.write(renumbered)
  }

  protected override next(): TranslatedCall | undefined {
    return this.#series.next(this.state.usage) ? this.#series.call() : undefined
  }

  protected override finish(): void {
    const { usage } = this.#series
    if (usage) this.out += this.writer.write({ type: 'usage', usage })
    this.out += this.writer.end()
  }
}
