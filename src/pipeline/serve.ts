/** A model call from request to response: read the body, pass the policies, route, settle, answer. */
import type { Call, Caller, Settlement } from '../core/call.ts'
import type { HttpRequest, ModelCall } from '../core/endpoint.ts'
import { GatewayError, toGatewayError, unprocessable } from '../core/errors.ts'
import type { Policy, Reply } from '../core/policy.ts'
import type { Settings } from '../core/settings.ts'
import type { Usage, Prices } from '../core/usage.ts'
import type { Clock } from '../lib/clock.ts'
import { JsonBody, JsonBodyError } from '../lib/json-body.ts'
import type { Deployment } from '../core/deployment.ts'
import type { TimerWheel } from '../lib/timer-wheel.ts'
import { CallRecord } from './call-record.ts'
import { CallControl } from './control.ts'
import type { Settle } from './control.ts'
import { respond, respondError } from './respond.ts'
import type { RespondParts } from './respond.ts'
import type { Router } from './route.ts'
import { readForm } from './upload.ts'
import { completeUsage } from './usage.ts'

export interface ServeParts extends RespondParts {
  readonly policies: readonly Policy[]
  readonly router: Router
  readonly timers: TimerWheel
  /** Where large files of forms wait for their upstream. */
  readonly uploadDirectory: string
  settings(): Settings
  resolve(model: string): readonly Deployment[]
  cost(usage: Usage, prices: Prices | null, atMs: number): bigint | null
}

export type CallModel = (request: HttpRequest, caller: Caller, call: ModelCall) => Promise<Response>

/** Binds the parts; the result is what every model endpoint calls. Its promise never rejects. */
export function createCallModel(parts: ServeParts): CallModel {
  const settle: Settle = (call, outcome, status, error) => {
    settleCall(parts, { call, outcome, status, error })
  }
  return (request, caller, asked) =>
    new Promise(resolve => {
      const call = openCall(parts.clock, request, caller, asked)
      const control = new CallControl({ call, settle, request, timers: parts.timers })
      new Serving({ parts, request, asked, control, resolve }).start()
    })
}

/** Well before the server's idle cut (255 s). Telling the server on every call would cost 10 us each. */
const longWaitMs = 100_000

interface ServingParts {
  readonly parts: ServeParts
  readonly request: HttpRequest
  readonly asked: ModelCall
  readonly control: CallControl
  resolve(response: Response): void
}

/**
 * One call from its body to its response. Plain steps on one object, not async functions: each of those costs
 * microseconds and hundreds of bytes (docs/decisions/0005).
 */
class Serving {
  readonly #at: ServingParts
  readonly #failed = (thrown: unknown): void => this.#fail(toGatewayError(thrown))

  constructor(at: ServingParts) {
    this.#at = at
  }

  start(): void {
    const { parts, request, asked, control } = this.#at
    control.onLeft = this.#failed
    if (control.left) return control.clientLeft()
    try {
      if ('multipart' in asked.format)
        takeForm(parts, request.raw, control).then(body => this.#serve(body), this.#failed).catch(this.#failed)
      else this.#read(request.raw, parts.settings().bodyBytesMax)
    } catch (thrown) {
      this.#failed(thrown)
    }
  }

  #read(raw: Request, bytesMax: number): void {
    checkAnnounced(raw, bytesMax)
    raw.bytes().then(
      bytes => {
        try {
          this.#serve(readJson(bytes, bytesMax))
        } catch (thrown) {
          this.#failed(thrown)
        }
      },
      cause => this.#failed(unreadableBody(raw, cause)),
    )
  }

  /** Throws what is wrong with the request. */
  #serve(body: JsonBody): void {
    const { parts, request, asked, control } = this.#at
    const { call } = control
    const inspection = asked.format.inspect(body)
    call.body = body
    call.model = asked.model || inspection.model || (asked.defaultModel?.() ?? '')
    call.stream = asked.stream ?? inspection.stream
    call.forwardedHeaders = asked.format.forward.headers?.(request.raw.headers)
    call.endUser = inspection.endUser
    if (inspection.problems.length > 0) throw unprocessable(inspection.problems)
    if (!call.model) {
      throw unprocessable([
        { loc: ['body', 'model'], msg: 'is missing; name one of GET /v1/models', type: 'missing' },
      ])
    }
    if (!call.stream) parts.timers.touch(control, parts.timers.nowMs() + longWaitMs)
    this.#admit(0)
  }

  /** Asks the policies from number `from` on, then routes. Only a policy that has to wait makes the call wait. */
  #admit(from: number): void {
    const { parts, asked, control } = this.#at
    const { policies } = parts
    for (let at = from; at < policies.length; at++) {
      const asking = policies[at]!.admit?.(control.call)
      if (asking) return this.#admitLater(asking, at + 1)
    }
    parts.router
      .run({ control, format: asked.format, settings: parts.settings().router, resolve: parts.resolve })
      .then(reply => this.#answer(reply), this.#failed)
  }

  #admitLater(asking: Promise<void>, from: number): void {
    asking.then(() => this.#admit(from)).catch(this.#failed)
  }

  #answer(reply: Reply): void {
    const { parts, control } = this.#at
    // A stream settles by itself at its end, whether or not the client asked for one.
    if (!(reply.body instanceof ReadableStream)) control.settle('success', reply.status)
    this.#end(respond(parts, control.call, reply))
  }

  #fail(error: GatewayError): void {
    const { parts, asked, control } = this.#at
    control.settle(error.kind === 'client-closed' ? 'client_closed' : 'error', error.status, error)
    this.#end(respondError(parts, control.call, asked.format, error))
  }

  #end(response: Response): void {
    const { control, resolve } = this.#at
    control.onLeft = undefined
    control.waited()
    resolve(response)
  }
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

/** Reads a multipart form; the call owns its files from here on. */
async function takeForm(parts: ServeParts, raw: Request, control: CallControl): Promise<JsonBody> {
  const bytesMax = parts.settings().bodyBytesMax
  checkAnnounced(raw, bytesMax)
  const { body, upload } = await readForm(raw, { bytesMax, directory: parts.uploadDirectory })
  if (control.settled) {
    // The client has left meanwhile: the settlement that would have closed the files is past.
    upload.close()
    throw new GatewayError('client-closed', 'the client left while sending its body')
  }
  control.call.upload = upload
  return body
}

function checkAnnounced(raw: Request, bytesMax: number): void {
  const encoding = raw.headers.get('content-encoding')
  if (encoding && encoding !== 'identity')
    throw new GatewayError('unsupported-media', `content-encoding '${encoding}' is not accepted; send the body as it is`)
  const announced = Number(raw.headers.get('content-length') ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
}

function unreadableBody(raw: Request, cause: unknown): GatewayError {
  return raw.signal.aborted
    ? new GatewayError('client-closed', 'the client left while sending its body', { cause })
    : new GatewayError('invalid-request', 'the body could not be read to its end', { cause })
}

function readJson(bytes: Uint8Array, bytesMax: number): JsonBody {
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

type Ending = Pick<Settlement, 'call' | 'outcome' | 'status' | 'error'>

function settleCall(parts: ServeParts, { call, outcome, status, error }: Ending): void {
  call.upload?.close()
  completeUsage(call)
  const settlement: Settlement = {
    call,
    outcome,
    status,
    error,
    costNanoUsd: call.usage && call.deployment ? parts.cost(call.usage, call.deployment.prices, call.startedAtMs) : null,
    durationMs: parts.clock.monotonicMs() - call.startedMs,
  }
  call.costNanoUsd = settlement.costNanoUsd
  for (const policy of parts.policies) policy.settled?.(settlement)
  call.body?.release()
}
