/**
 * A stream of Messages on its way to a client of the same dialect. Each event is parsed to be judged; of nearly all the
 * text goes out as it came.
 */
import { mergeAnthropicUsage, readAnthropicUsage, runsCode, withFacts } from '../../core/usage/anthropic-usage.ts'
import { brokenProtocol, GatewayError } from '../../core/errors.ts'
import { endingOf, messagesFinishReasons } from '../../core/dialects/finish-reasons.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { ChoiceStates, endWaitMs } from '../../core/dialects/stream-end.ts'
import type { Frame } from '../../lib/frame.ts'
import { failureOfBody, frameworkError } from '../../core/dialects/classify.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { EventRelay } from '../common/event-relay.ts'
import { anthropicErrorEvent, namedEvent } from './error.ts'

/**
 * Complete at a stop reason that no content follows; a complete stream without `message_stop` gets one. The events
 * `[DONE]` and all that follow the end are left out.
 */
export class MessagesRelay extends EventRelay {
  readonly #publicModel: string
  /** A message is a single choice. */
  readonly #message = new ChoiceStates()
  #counts: Json = {}
  readonly #facts = { ranCode: false, hasContent: false, stopReason: '' as unknown, stopDetails: undefined as unknown }
  /** The output was counted at its end. */
  #counted = false

  constructor(publicModel: string) {
    super()
    this.#publicModel = publicModel
  }

  get complete(): boolean {
    return this.#message.complete
  }

  get quietMs(): number {
    return endWaitMs(this.#counted)
  }

  /** What a message begins with holds for its input, and says little of its output: none at the end is no count. */
  get usage(): Usage | undefined {
    const usage = withFacts(readAnthropicUsage(this.#counts), this.#facts)
    return usage && this.complete && !this.#counted ? { ...usage, outputTokens: 0 } : usage
  }

  errorEvent(error: GatewayError): string {
    return anthropicErrorEvent(error)
  }

  protected unreadable(cause: unknown): GatewayError {
    return brokenProtocol('an event that cannot be read', cause)
  }

  protected terminalEvent(): string {
    return namedEvent('message_stop', '{"type":"message_stop"}')
  }

  protected read({ event, data }: Frame): string {
    // After the terminal event nothing may follow; some hosts send a `[DONE]` that this dialect does not know.
    if (this.terminated || data === '[DONE]') return ''
    const body = parsed(data)
    const type = typeOf(body, event)
    if (type !== 'ping') this.received = true
    switch (type) {
      case 'content_block_delta':
        this.#content(body.delta)
        break
      case 'message_start':
        return this.#start(body)
      case 'content_block_start':
        this.#block(body)
        break
      case 'message_delta':
        this.#delta(body)
        break
      case 'message_stop':
        this.#stop()
        break
      case 'error':
        this.failure = failureOfBody(body)
    }
    return this.failure ? '' : namedEvent(type, data)
  }

  #start(event: Json): string {
    if (!isObject(event.message)) throw brokenProtocol('a message_start without `message`')
    this.#counts = mergeAnthropicUsage(this.#counts, event.message.usage)
    event.message.model = this.#publicModel
    return namedEvent('message_start', JSON.stringify(event))
  }

  /** A block that begins with something, or that is not filled by text: searches, calls, what is to come. */
  #block({ content_block: block }: Json): void {
    if (!isObject(block)) throw brokenProtocol('a content_block_start without `content_block`')
    if ((block.type !== 'text' && block.type !== 'thinking') || block.text || block.thinking) this.started = true
    this.#facts.hasContent = true
    if (runsCode(block)) this.#facts.ranCode = true
    this.steps++
    this.#message.begin(0)
  }

  #delta({ delta, usage }: Json): void {
    this.#counts = mergeAnthropicUsage(this.#counts, usage)
    if (isObject(usage) && usage.output_tokens != null) this.#counted = true
    if (!isObject(delta) || typeof delta.stop_reason !== 'string' || delta.stop_reason === '') return
    this.#facts.stopReason = delta.stop_reason
    this.#facts.stopDetails = delta.stop_details
    const ending = endingOf(messagesFinishReasons, delta.stop_reason)
    if (ending instanceof GatewayError) {
      this.failure = ending
      return
    }
    this.started = true
    this.#message.finish(0)
    this.steps++
  }

  #stop(): void {
    if (this.complete) this.terminated = true
    else this.failure = brokenProtocol('a message_stop without a stop reason')
  }

  #content(delta: unknown): void {
    if (!isObject(delta)) return
    const said = delta.text ?? delta.thinking ?? delta.partial_json
    // An empty delta is nothing; signatures and citations are something without text.
    if (said === '') return
    this.steps++
    this.#message.begin(0)
    if (typeof said !== 'string') return
    this.started = true
    this.contentEvents++
    this.contentCharacters += said.length
  }
}

function parsed(data: string): Json {
  const value: unknown = JSON.parse(data)
  if (!isObject(value)) throw brokenProtocol('an event that is not an object')
  return value
}

/** Some hosts name an error as they would in a body, or say it in one word, or as their web framework does. */
function typeOf(body: Json, event: string | undefined): string {
  if (typeof body.type === 'string') return body.type
  if (body.error || frameworkError(body)) return 'error'
  if (event === undefined) throw brokenProtocol('an event without a type')
  return event
}
