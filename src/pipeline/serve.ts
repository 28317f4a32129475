/** A model call from request to response: read the body, pass the policies, route, settle, answer. */
import type { Answer } from '../core/answer.ts'
import type { Settlement } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type { ModelCall } from '../core/endpoint.ts'
import { GatewayError, toGatewayError, unprocessable } from '../core/errors.ts'
import { withLocalIds } from '../core/local-ids.ts'
import type { Policy, Reply } from '../core/policy.ts'
import { checkEncoding, readJsonBody } from '../core/request.ts'
import type { BodyReader, HttpRequest } from '../core/request.ts'
import type { Settings } from '../core/settings.ts'
import type { Usage, Prices } from '../core/usage.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import type { Deployment } from '../core/deployment.ts'
import { openCall } from './call-record.ts'
import { CallControl } from './call-control.ts'
import type { Settle } from './call-control.ts'
import type { PlaceFiles } from './files/named-files.ts'
import { respond, respondError } from './respond.ts'
import type { RespondParts } from './respond.ts'
import type { ReplyTaker, Router } from './route.ts'
import { readForm } from './files/upload.ts'
import { completeUsage } from './usage.ts'

interface ServeParts extends RespondParts {
  readonly policies: readonly Policy[]
  readonly router: Router
  readonly placeFiles: PlaceFiles
  /** Where large files of forms wait for their upstream. */
  readonly uploadDirectory: string
  settings(): Settings
  resolve(model: string): readonly Deployment[]
  cost(usage: Usage, prices: Prices | null, atMs: number): bigint | null
}

type CallModel = (request: HttpRequest, caller: Caller, call: ModelCall) => Promise<Answer>

/** Binds the parts; the result is what every model endpoint calls. Its promise never rejects. */
export function createCallModel(parts: ServeParts): CallModel {
  const settle: Settle = (call, outcome, status, error) => {
    settleCall(parts, { call, outcome, status, error })
  }
  return (request, caller, asked) =>
    new Promise(resolve => {
      const call = openCall(parts.clock, request, caller, { operation: asked.format.operation, route: asked.route })
      const control = new CallControl(call, settle)
      new Serving({ parts, request, asked, control, resolve }).start()
    })
}

interface ServingParts {
  readonly parts: ServeParts
  readonly request: HttpRequest
  readonly asked: ModelCall
  readonly control: CallControl
  resolve(answer: Answer): void
}

/**
 * One call from its body to its response. Plain steps on one object, not async functions: each of those costs
 * microseconds and hundreds of bytes (docs/decisions/0005).
 */
class Serving implements BodyReader, ReplyTaker {
  readonly #at: ServingParts

  constructor(at: ServingParts) {
    this.#at = at
  }

  start(): void {
    const { parts, request, asked, control } = this.#at
    control.onLeft = error => this.failed(error)
    if (control.left) return control.clientLeft()
    try {
      if ('multipart' in asked.format)
        takeForm(parts, request, control)
          .then(body => this.#serve(body))
          .catch(thrown => this.failed(thrown))
      else this.#read(request, parts.settings().bodyBytesMax)
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  #read(request: HttpRequest, bytesMax: number): void {
    checkEncoding(request.headers)
    request.body.read(bytesMax, this)
  }

  // ---- what the body calls, and the router

  failed(thrown: unknown): void {
    const error = toGatewayError(thrown)
    const { namedFiles } = this.#at.control.call
    this.#fail(namedFiles ? withLocalIds(error, namedFiles.localIds) : error)
  }

  whole(bytes: Uint8Array): void {
    try {
      this.#serve(readJsonBody(bytes))
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  answered(reply: Reply): void {
    try {
      this.#answer(reply)
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  /** Throws what is wrong with the request. */
  #serve(body: JsonBody): void {
    const { request, asked, control } = this.#at
    const { call } = control
    const inspection = asked.format.inspect(body)
    call.body = body
    call.model = asked.model || inspection.model || (asked.defaultModel?.() ?? '')
    call.stream = asked.stream ?? inspection.stream
    call.forwardedHeaders = asked.format.forward.headers?.(request.headers)
    call.endUser = inspection.endUser
    if (inspection.problems.length > 0) throw unprocessable(inspection.problems)
    if (!call.model) {
      throw unprocessable([{ loc: ['body', 'model'], msg: 'is missing; name one of GET /v1/models', type: 'missing' }])
    }
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
    const placing = parts.placeFiles(control.call, asked.format)
    if (placing) return this.#routeLater(placing)
    this.#route()
  }

  #route(): void {
    const { parts, asked, control } = this.#at
    const { router: settings } = parts.settings()
    parts.router.run({ control, format: asked.format, settings, resolve: parts.resolve }, this)
  }

  #admitLater(asking: Promise<void>, from: number): void {
    asking.then(() => this.#admit(from)).catch(thrown => this.failed(thrown))
  }

  #routeLater(placing: Promise<void>): void {
    placing.then(() => this.#at.control.left || this.#route()).catch(thrown => this.failed(thrown))
  }

  #answer(reply: Reply): void {
    const { parts, control } = this.#at
    // A stream settles by itself at its end, whether or not the client asked for one.
    if (typeof reply.body === 'string' || reply.body instanceof Uint8Array) control.settle('success', reply.status)
    this.#end(respond(parts, control.call, reply))
  }

  #fail(error: GatewayError): void {
    const { parts, asked, control } = this.#at
    control.settle(error.kind === 'client-closed' ? 'client_closed' : 'error', error.status, error)
    this.#end(respondError(parts, control.call, asked.format, error))
  }

  #end(answer: Answer): void {
    const { control, resolve } = this.#at
    control.onLeft = undefined
    resolve(answer)
  }
}

/** Reads a multipart form; the call owns its files from here on. */
async function takeForm(parts: ServeParts, request: HttpRequest, control: CallControl): Promise<JsonBody> {
  checkEncoding(request.headers)
  const { bodyBytesMax: bytesMax } = parts.settings()
  const { body, upload } = await readForm(request, { bytesMax, directory: parts.uploadDirectory })
  if (control.settled) {
    // The client has left meanwhile: the settlement that would have closed the files is past.
    upload.close()
    throw new GatewayError('client-closed', 'the client left while sending its body')
  }
  control.call.upload = upload
  return body
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
    costNanoUsd:
      call.usage && call.deployment ? parts.cost(call.usage, call.deployment.prices, call.startedAtMs) : null,
    durationMs: parts.clock.monotonicMs() - call.startedMs,
  }
  call.costNanoUsd = settlement.costNanoUsd
  for (const policy of parts.policies) policy.settled?.(settlement)
  call.namedFiles?.release()
  call.body?.release()
}
