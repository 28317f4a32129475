/**
 * A stream of the Responses dialect on its way to a client of the same dialect. Each event is parsed to be judged; only
 * those that carry the whole response are written anew, of all others the text goes out as it came.
 */
import { failureOfBody, frameworkError } from '../../../core/dialects/classify.ts'
import { GatewayError } from '../../../core/errors.ts'
import { readResponsesUsage } from '../../../core/usage/responses-usage.ts'
import type { Usage } from '../../../core/usage/usage.ts'
import type { Frame } from '../../../lib/frame.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { EventRelay } from '../../common/event-relay.ts'
import { responseError, sseEvent } from './response-object.ts'
import { exactText, parseExact } from '../../../lib/json/exact-json.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'

/** Say that the connection is alive; '' = an event without a name. */
const silentEvents = new Set(['keepalive', 'ping', ''])
/** Events with the whole response in them. */
const wholeEvents = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
])

/**
 * Complete at `response.completed` or `response.incomplete`, which also end it. `previousId` = the client's
 * `previous_response_id`, which the upstream never saw and the answer repeats; anything but a string = none.
 */
export class ResponsesRelay extends EventRelay {
  complete = false
  usage: Usage | undefined
  readonly #publicModel: string
  readonly #previousId: unknown
  #sequence = -1
  /** The response as last seen whole. */
  #response: Json | undefined
  answeredModel: string | undefined

  constructor(publicModel: string, previousId: unknown) {
    super()
    this.#publicModel = publicModel
    this.#previousId = previousId
  }

  errorEvent(error: GatewayError): string {
    const sequence = `"sequence_number":${this.#sequence + 1}`
    if (!this.#response) {
      const { code, message } = responseError(error)
      const fields = `"code":"${code}","message":${JSON.stringify(message)},"param":null`
      return sseEvent('error', `{"type":"error",${fields},${sequence}}`)
    }
    // An upstream that failed by its own words keeps them.
    const response = { ...this.#response, status: 'failed', error: this.#response.error ?? responseError(error) }
    return sseEvent('response.failed', `{"type":"response.failed",${sequence},"response":${exactText(response)}}`)
  }

  protected unreadable(cause: unknown): GatewayError {
    return new GatewayError('upstream-broken', "the upstream's stream does not follow its protocol", { cause })
  }

  /** Without it a stream is not complete. */
  protected terminalEvent(): string {
    return ''
  }

  protected read({ event, data }: Frame): string {
    // After the terminal event nothing may follow; some hosts send a `[DONE]` that this dialect does not know.
    if (this.terminated || data === '[DONE]') return ''
    const body: unknown = JSON.parse(data)
    if (!isObject(body)) throw new TypeError('an event that is no object')
    const type = typeOf(body, event)
    const isSilent = silentEvents.has(type)
    if (!isSilent) this.received = true
    this.#sequence = typeof body.sequence_number === 'number' ? body.sequence_number : this.#sequence + 1
    if (wholeEvents.has(type)) return this.#whole(type, parseExact(data, schemaNames) as Json)
    if (type === 'error') {
      this.failure = failureOfBody(body)
      return ''
    }
    if (type.endsWith('.delta')) this.#delta(body.delta)
    else if (!isSilent) this.steps++
    if (type.endsWith('.done')) this.started = true
    return sseEvent(type, data.replaceAll('\n', '\ndata: '))
  }

  #delta(delta: unknown): void {
    if (delta === '') return
    this.steps++
    if (typeof delta !== 'string') return
    this.started = true
    this.contentEvents++
    this.contentCharacters += delta.length
  }

  #whole(type: string, body: Json): string {
    if (!isObject(body.response))
      throw new GatewayError('upstream-broken', `the upstream's event ${type} has no \`response\``)
    const { response } = body
    if (typeof response.model === 'string') this.answeredModel = response.model
    response.model = this.#publicModel
    if (typeof this.#previousId === 'string') response.previous_response_id = this.#previousId
    this.#response = response
    this.usage = readResponsesUsage(name => response[name]) ?? this.usage
    if (type === 'response.failed') {
      this.failure = failureOfBody({ error: response.error })
      return ''
    }
    if (type === 'response.completed' || type === 'response.incomplete') {
      this.started = true
      this.steps++
      this.complete = true
      this.terminated = true
    }
    return sseEvent(type, exactText(body))
  }
}

/** Some hosts write an error as they would in a body. Everything else passes without a name. */
function typeOf(body: Json, event: string | undefined): string {
  if (typeof body.type === 'string') return body.type
  return body.error || frameworkError(body) ? 'error' : (event ?? '')
}
