/** Passes requests of paths that the gateway does not know on to their vendor: see `core/pass-through.ts`. */
import type { CloudCredentials } from '../clouds/cloud-credentials.ts'
import type { AnswerSink, AnswerStream } from '../core/answer.ts'
import type { RunningCall } from '../core/call.ts'
import { UsageFinder } from '../core/dialects/any-usage.ts'
import type { Outcome } from '../core/hub/operation.ts'
import type { PassedRequest, PassThrough } from '../core/pass-through.ts'
import { clientClosed } from '../core/request.ts'
import type { BodySink, Transport, UpstreamExchange, UpstreamRequest, UpstreamResponse } from '../core/transport.ts'
import type { Clock } from '../lib/clock.ts'
import { AttemptRecord } from './attempt-record.ts'
import { endRequest, isSuccess, recordUsage } from './settlement/usage.ts'
import { authorized } from './upstream/upstream-authorization.ts'

interface PassThroughParts {
  readonly transport: Transport
  readonly clock: Clock
  readonly credentials: CloudCredentials
}

/** Headers of a vendor's answer that are passed back: the transport shows headers by their names alone. */
const answerHeaders = [
  ...['content-type', 'content-disposition', 'retry-after', 'retry-after-ms', 'location', 'etag', 'last-modified'],
  ...['request-id', 'x-request-id', 'x-amzn-requestid', 'apim-request-id', 'anthropic-version', 'openai-version'],
]

/** Binds the parts. */
export function createPassThrough(parts: PassThroughParts): PassThrough {
  return async (call, passed, settleAfter) => {
    const running = call as RunningCall
    const { deployment } = passed
    running.attempt = new AttemptRecord(deployment, '')
    running.progress.attempts++
    const request = await requestOf(parts, passed)
    if (call.client.left) throw clientClosed()
    const exchange = parts.transport.send(request)
    try {
      const response = await answered(running, exchange)
      running.attempt.status = response.status
      const body = new PassedBody(running, { exchange, response, passed })
      settleAfter(body.over)
      return { status: response.status, headers: headersOf(response), body }
    } catch (error) {
      endRequest(running, exchange.sent && passed.method === 'POST')
      throw error
    }
  }
}

async function requestOf(parts: PassThroughParts, passed: PassedRequest): Promise<UpstreamRequest> {
  const { method, deployment, path, headers, body } = passed
  const { target, timeouts, proxies } = deployment
  const { provider } = target
  const [makeHead] = Object.values(provider.speaks)
  const { 'content-type': _, ...own } = makeHead?.(target, false).headers ?? {}
  const head = { url: `${rootOf(target.baseUrl)}${path}`, headers: { ...own, ...headers, ...credentialsOf(own) } }
  const request = { method, head, body: body.length > 0 ? [body] : [], timeouts, proxies }
  return provider.authorize ? authorized(request, deployment, provider.authorize, parts) : request
}

/** The gateway's own, which no header of a client replaces. */
function credentialsOf(own: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(own).filter(([name]) => /key|auth|token|organization|project/.test(name)))
}

/** Without the version, which the path of the client names: `https://api.example.com`. */
const rootOf = (baseUrl: string): string => baseUrl.replace(/(?:\/openai)?\/v\d+\w*$/, '')

function headersOf(response: UpstreamResponse): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of answerHeaders) {
    const value = response.header(name)
    if (value !== undefined) headers[name] = value
  }
  return headers
}

/** The head of the answer; the client's leaving ends the wait. */
function answered(call: RunningCall, exchange: UpstreamExchange): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    call.client.onLeft(why => {
      exchange.cancel()
      reject(why)
    })
    exchange.response.then(resolve, reject)
  })
}

/** The vendor's bytes, as fast as the client reads them. */
class PassedBody implements AnswerStream, BodySink {
  readonly over: Promise<Outcome>
  readonly #call: RunningCall
  readonly #at: { exchange: UpstreamExchange; response: UpstreamResponse; passed: PassedRequest }
  readonly #finder: UsageFinder
  #sink: AnswerSink | undefined
  #finish!: (outcome: Outcome) => void
  #isOver = false
  #paused = false

  constructor(
    call: RunningCall,
    at: { exchange: UpstreamExchange; response: UpstreamResponse; passed: PassedRequest },
  ) {
    this.#call = call
    this.#at = at
    this.#finder = new UsageFinder(at.response.header('content-type') ?? '')
    this.over = new Promise(resolve => (this.#finish = resolve))
    call.client.onLeft(() => this.cancel())
  }

  pipe(sink: AnswerSink): void {
    this.#sink = sink
    this.#at.response.body.pipe(this)
  }

  resume(): void {
    if (!this.#paused || !this.#sink) return
    this.#paused = false
    this.#at.response.body.resume()
  }

  cancel(): void {
    this.#at.exchange.cancel()
    this.#end('client_closed')
  }

  data(bytes: Uint8Array): void {
    const sink = this.#sink
    if (!sink) return
    this.#finder.push(bytes)
    sink.write(bytes)
    if (this.#paused || !sink.full) return
    this.#paused = true
    this.#at.response.body.pause()
  }

  end(): void {
    this.#end(isSuccess(this.#at.response.status) ? 'success' : 'error')?.end()
  }

  /** Only a cut connection shows that the answer is incomplete. */
  fail(): void {
    this.#end('upstream_cut')?.abort()
  }

  #end(outcome: Outcome): AnswerSink | undefined {
    if (this.#isOver) return undefined
    this.#isOver = true
    const sink = this.#sink
    this.#sink = undefined
    const { response, passed, exchange } = this.#at
    const usage = this.#finder.usage()
    // What is only asked for (lists, states, files) is not billed again.
    const isBilled = passed.method === 'POST' && isSuccess(response.status)
    if (isBilled) recordUsage(this.#call, usage, this.#finder.model)
    endRequest(this.#call, isBilled && exchange.sent)
    this.#finish(outcome)
    return sink
  }
}
