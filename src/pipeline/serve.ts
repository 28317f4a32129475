/** A model call from request to response: read the body, pass the policies, route, settle, answer. */
import type { Call, Caller, Outcome, Settlement } from '../core/call.ts'
import type { HttpRequest, ModelCall } from '../core/endpoint.ts'
import { GatewayError, toGatewayError, unprocessable } from '../core/errors.ts'
import type { Format } from '../core/format.ts'
import type { Next, Policy, Reply } from '../core/policy.ts'
import type { Settings } from '../core/settings.ts'
import type { Usage, Prices } from '../core/usage.ts'
import type { Clock } from '../lib/clock.ts'
import { JsonBody, JsonBodyError } from '../lib/json-body.ts'
import type { Deployment } from '../core/deployment.ts'
import { TimerEntry } from '../lib/timer-wheel.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import { CallRecord } from './call-record.ts'
import { CallControl } from './control.ts'
import type { Router } from './route.ts'
import { completeUsage } from './usage.ts'

export interface ServeParts {
  readonly policies: readonly Policy[]
  readonly router: Router
  readonly clock: Clock
  readonly timers: TimerWheel
  settings(): Settings
  resolve(model: string): readonly Deployment[]
  cost(usage: Usage, prices: Prices | null): bigint | null
  /** Nano-dollars as the text of dollars. */
  costText(nanoUsd: bigint): string
}

export type CallModel = (request: HttpRequest, caller: Caller, call: ModelCall) => Promise<Response>

/** Binds the parts; the result is what every model endpoint calls. */
export function createCallModel(parts: ServeParts): CallModel {
  const settle = (call: Call, outcome: Outcome, status: number, error: GatewayError | undefined) =>
    settleCall(parts, { call, outcome, status, error })
  return async (request, caller, asked) => {
    const call = openCall(parts.clock, request, caller, asked)
    const control = new CallControl(call, settle, new LongWait(request))
    try {
      const reply = await serve({ parts, request, control, asked })
      if (!call.stream) control.settle('success', reply.status)
      return respond(parts, call, reply)
    } catch (thrown) {
      const error = toGatewayError(thrown)
      const outcome = error.kind === 'client-closed' ? 'client_closed' : 'error'
      control.settle(outcome, error.status, error)
      return respondError(parts, call, asked.format, error)
    } finally {
      parts.timers.cancel(control.longWait)
      request.holdOpen(false)
    }
  }
}

/** Well before the server's idle cut (255 s). Telling the server on every call would cost 10 us each. */
const longWaitMs = 100_000

/** A whole answer that takes its time: from here on the silent connection is kept. */
class LongWait extends TimerEntry {
  readonly #request: HttpRequest

  constructor(request: HttpRequest) {
    super()
    this.#request = request
  }

  override expired(): void {
    this.#request.holdOpen(true)
  }
}

interface Serving {
  readonly parts: ServeParts
  readonly request: HttpRequest
  readonly control: CallControl
  readonly asked: ModelCall
}

function openCall(clock: Clock, request: HttpRequest, caller: Caller, asked: ModelCall): Call {
  return new CallRecord({
    id: request.id,
    operation: asked.format.operation,
    route: asked.route,
    caller,
    signal: request.raw.signal,
    clientAddress: request.clientAddress,
    userAgent: request.raw.headers.get('user-agent') ?? '',
    startedAtMs: clock.epochMs(),
    startedMs: clock.monotonicMs(),
  })
}

async function serve({ parts, request, control, asked }: Serving): Promise<Reply> {
  const { call } = control
  const settings = parts.settings()
  const body = await readBody(request.raw, settings.bodyBytesMax)
  const inspection = asked.format.inspect(body)
  call.body = body
  call.model = asked.model || inspection.model
  call.stream = asked.stream ?? inspection.stream
  call.forwardedHeaders = asked.format.forward.headers?.(request.raw.headers)
  call.endUser = inspection.endUser
  if (inspection.problems.length > 0) throw unprocessable(inspection.problems)
  if (!call.model) {
    throw unprocessable([
      { loc: ['body', 'model'], msg: 'is missing; name one of GET /v1/models', type: 'missing' },
    ])
  }
  if (!call.stream) parts.timers.touch(control.longWait, parts.timers.nowMs() + longWaitMs)
  const route: Next = () =>
    parts.router.run({ control, format: asked.format, settings: settings.router, resolve: parts.resolve })
  return runPolicies(parts.policies, 0, call, route)
}

/** The onion: the first policy is the outermost. */
function runPolicies(policies: readonly Policy[], at: number, call: Call, innermost: Next): Promise<Reply> {
  for (let next = at; next < policies.length; next++) {
    const policy = policies[next]!
    if (policy.handle) return policy.handle(call, passed => runPolicies(policies, next + 1, passed, innermost))
  }
  return innermost(call)
}

/** Reads a JSON body. Throws before anything was sent anywhere. */
async function readBody(raw: Request, bytesMax: number): Promise<JsonBody> {
  const encoding = raw.headers.get('content-encoding')
  if (encoding && encoding !== 'identity')
    throw new GatewayError('unsupported-media', `content-encoding '${encoding}' is not accepted; send plain JSON`)
  const announced = Number(raw.headers.get('content-length') ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  let bytes: Uint8Array
  try {
    bytes = await raw.bytes()
  } catch (cause) {
    if (raw.signal.aborted) throw new GatewayError('client-closed', 'the client left while sending its body', { cause })
    throw new GatewayError('invalid-request', 'the body could not be read to its end', { cause })
  }
  if (bytes.length > bytesMax) throw tooLarge(bytesMax)
  if (bytes.length === 0) throw new GatewayError('invalid-request', 'the body is empty; send a JSON object')
  try {
    return JsonBody.read(bytes)
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw new GatewayError('invalid-request', cause.message, { cause })
  }
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError('too-large', `the body is larger than ${bytesMax} bytes, the limit of this gateway`)
}

interface Ending {
  readonly call: Call
  readonly outcome: Outcome
  readonly status: number
  readonly error: GatewayError | undefined
}

function settleCall(parts: ServeParts, { call, outcome, status, error }: Ending): void {
  completeUsage(call)
  const settlement: Settlement = {
    call,
    outcome,
    status,
    error,
    costNanoUsd: call.usage && call.deployment ? parts.cost(call.usage, call.deployment.prices) : null,
    durationMs: parts.clock.monotonicMs() - call.startedMs,
  }
  call.costNanoUsd = settlement.costNanoUsd
  for (const policy of parts.policies) policy.settled?.(settlement)
}

function respond(parts: ServeParts, call: Call, reply: Reply): Response {
  const headers = answerHeaders(parts, call)
  headers['content-type'] = reply.contentType
  if (call.stream) {
    headers['cache-control'] = 'no-cache'
    headers['x-accel-buffering'] = 'no'
  }
  return new Response(reply.body as BodyInit, { status: reply.status, headers })
}

function respondError(parts: ServeParts, call: Call, format: Format, error: GatewayError): Response {
  const headers = answerHeaders(parts, call)
  headers['content-type'] = 'application/json'
  addRetryAfter(headers, error)
  return new Response(JSON.stringify(format.errorBody(error)), { status: error.status, headers })
}

/** `retry-after` in whole seconds for everyone, in milliseconds for the SDKs that read it. */
export function addRetryAfter(headers: Record<string, string>, error: GatewayError): void {
  if (error.retryAfterMs === undefined) return
  headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)))
  headers['retry-after-ms'] = String(Math.max(1, Math.ceil(error.retryAfterMs)))
}

/** Header names of one prefix, made once: a computed name costs more than the header itself. */
interface HeaderNames {
  readonly prefix: string
  readonly callId: string
  readonly modelId: string
  readonly modelGroup: string
  readonly retries: string
  readonly fallbacks: string
  readonly overheadMs: string
  readonly cost: string
  readonly dropped: string
}

function headerNames(prefix: string): HeaderNames {
  return {
    prefix,
    callId: `${prefix}-call-id`,
    modelId: `${prefix}-model-id`,
    modelGroup: `${prefix}-model-group`,
    retries: `${prefix}-attempted-retries`,
    fallbacks: `${prefix}-attempted-fallbacks`,
    overheadMs: `${prefix}-overhead-ms`,
    cost: `${prefix}-response-cost`,
    dropped: `${prefix}-dropped-params`,
  }
}

let names = headerNames('x-proxy')

function answerHeaders(parts: ServeParts, call: Call): Record<string, string> {
  const prefix = parts.settings().headerPrefix
  if (names.prefix !== prefix) names = headerNames(prefix)
  const headers: Record<string, string> = { 'x-request-id': call.id, [names.callId]: call.id }
  if (call.deployment) headers[names.modelId] = call.deployment.id
  if (call.model && isHeaderSafe(call.model)) headers[names.modelGroup] = call.model
  headers[names.retries] = String(Math.max(call.attempts - 1, 0))
  headers[names.fallbacks] = String(call.fallbacks)
  const overheadMs = parts.clock.monotonicMs() - call.startedMs - call.upstreamMs
  headers[names.overheadMs] = String(Math.round(overheadMs * 100) / 100)
  if (!call.stream && call.costNanoUsd !== null) headers[names.cost] = parts.costText(call.costNanoUsd)
  if (call.dropped.length > 0) headers[names.dropped] = call.dropped.filter(isHeaderSafe).join(',')
  for (const [name, value] of call.responseHeaders) headers[name] = value
  return headers
}

function isHeaderSafe(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}
