/**
 * A stream of the Responses dialect on its way to a client of the same dialect. Only the few events that
 * carry the whole response are parsed; of all others the text goes out as it came.
 */
import { GatewayError } from '../../../core/errors.ts'
import type { StreamRelay } from '../../../core/format.ts'
import type { Usage } from '../../../core/usage.ts'
import { unfinishedStream } from '../../../core/unfinished-stream.ts'
import { frameSplitter } from '../../../lib/frames.ts'
import type { Frame } from '../../../lib/frame.ts'
import { looksLikeObject } from '../../../lib/json/json-object-check.ts'
import { isObject } from '../../common/field-checks.ts'
import type { Fields } from '../../common/field-checks.ts'
import { failureOf, responseError, sseEvent } from './response-object.ts'
import { readUsage } from './usage.ts'

const typePattern = /"type":\s*"((?:response|error)[^"\\]*)"/
const deltaPattern = /"delta":\s*"/
const quote = 34
const backslash = 92
const sequencePattern = /"sequence_number":\s*(\d+)/
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
export class ResponsesRelay implements StreamRelay {
  started = false
  complete = false
  terminated = false
  failure: GatewayError | undefined
  usage: Usage | undefined
  contentEvents = 0
  contentCharacters = 0
  readonly #publicModel: string
  readonly #previousId: unknown
  readonly #splitter = frameSplitter('sse')
  #sequence = -1
  /** The response as last seen whole. */
  #response: Fields | undefined

  constructor(publicModel: string, previousId: unknown) {
    this.#publicModel = publicModel
    this.#previousId = previousId
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
      this.failure = new GatewayError('upstream-broken', "the upstream's stream does not follow its protocol", {
        cause,
      })
    }
    return out
  }

  end(): string {
    if (!this.failure && !this.complete) this.failure = unfinishedStream()
    return ''
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
    return sseEvent('response.failed', `{"type":"response.failed",${sequence},"response":${JSON.stringify(response)}}`)
  }

  #frame({ event, data }: Frame): string {
    // After the terminal event nothing may follow; some hosts send a `[DONE]` that this dialect does not know.
    if (this.terminated || data === '[DONE]') return ''
    if (!looksLikeObject(data))
      throw new GatewayError('upstream-broken', "an event of the upstream's stream is not a JSON object")
    const type = event ?? typePattern.exec(data)?.[1] ?? untyped(data)
    this.#sequence = Number(sequencePattern.exec(data)?.[1] ?? this.#sequence + 1)
    if (wholeEvents.has(type)) return this.#whole(type, data)
    if (type === 'error') {
      this.failure = failureIn(JSON.parse(data))
      return ''
    }
    if (type.endsWith('.delta')) this.#count(data)
    else if (type.endsWith('.done')) this.started = true
    return sseEvent(type, data.replaceAll('\n', '\ndata: '))
  }

  #count(data: string): void {
    const found = deltaPattern.exec(data)
    if (!found) return
    const from = found.index + found[0].length
    let at = from
    // By hand: a pattern for the whole string takes a second for the largest ones.
    while (at < data.length && data.charCodeAt(at) !== quote) at += data.charCodeAt(at) === backslash ? 2 : 1
    if (at === from) return
    this.started = true
    this.contentEvents++
    this.contentCharacters += at - from
  }

  #whole(type: string, data: string): string {
    const body: unknown = JSON.parse(data)
    if (!isObject(body) || !isObject(body.response))
      throw new GatewayError('upstream-broken', `the upstream's event ${type} has no \`response\``)
    const { response } = body
    response.model = this.#publicModel
    if (typeof this.#previousId === 'string') response.previous_response_id = this.#previousId
    this.#response = response
    this.usage = readUsage(response.usage) ?? this.usage
    if (type === 'response.failed') {
      this.failure = failureOf(response.error)
      return ''
    }
    if (type === 'response.completed' || type === 'response.incomplete') {
      this.started = true
      this.complete = true
      this.terminated = true
    }
    return sseEvent(type, JSON.stringify(body))
  }
}

/** Some hosts write an error as they would in a body: `{error}`. Everything else passes without a name. */
function untyped(data: string): string {
  if (!data.includes('"error"')) return ''
  const body: unknown = JSON.parse(data)
  return isObject(body) && body.error ? 'error' : ''
}

function failureIn(body: unknown): GatewayError {
  const error = isObject(body) && body.error ? body.error : body
  return failureOf(typeof error === 'string' ? { message: error } : error)
}
