/**
 * A model call from request to response: admission on the head, the body, admission on the body, route, settle, answer.
 */
import type { Answer, Reply } from '../core/answer.ts'
import type { Caller } from '../core/caller.ts'
import type { ModelCall } from '../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import { withLocalIds } from '../core/dialects/local-ids.ts'
import { clientClosed, readJsonBody } from '../core/request.ts'
import type { BodyReader, Client, HttpRequest } from '../core/request.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { admitCall } from './admission/admission.ts'
import type { AdmissionReceiver } from './admission/admission.ts'
import { CallControl } from './call-control.ts'
import { openCall } from './call-record.ts'
import { readForm } from './files/upload.ts'
import { PolicyAnswerStream } from './lanes/policy-answer-stream.ts'
import { answerHeaders, respond, respondError } from './respond.ts'
import type { Router } from './routing/deployment-router.ts'
import type { ReplyReceiver } from './reply-receiver.ts'
import { settler } from './settlement/settle.ts'
import type { SettleParts } from './settlement/settle.ts'

/** What calls are served with. */
export interface ServeParts extends SettleParts {
  readonly router: Router
  /** For large files of forms. */
  readonly uploadDirectory: string
}

type CallModel = (request: HttpRequest, caller: Caller, call: ModelCall) => Promise<Answer>

/** Binds the parts; the result is what every model endpoint calls. Its promise never rejects. */
export function createCallModel(parts: ServeParts): CallModel {
  const settle = settler(parts)
  return (request, caller, modelCall) =>
    new Promise(resolve => {
      const { format, route } = modelCall
      const call = openCall(parts, request, caller, { operation: format.operation, route, format, options: modelCall })
      const control = new CallControl(call, settle)
      new ServedCall({ parts, request, modelCall, control }, resolve).start()
    })
}

interface ServingParts {
  readonly parts: ServeParts
  readonly request: HttpRequest
  readonly modelCall: ModelCall
  readonly control: CallControl
}

/** The step after the current policies. */
type Step = 'body' | 'route'

/**
 * One call from its head to its response. Plain steps on one object, not async functions: each of those costs
 * microseconds and hundreds of bytes (docs/decisions/0005).
 */
class ServedCall implements BodyReader, AdmissionReceiver, ReplyReceiver {
  readonly #at: ServingParts
  #resolve: (answer: Answer) => void
  #next: Step = 'body'
  /** Since when the body has been waited for, on the monotonic clock; -1 = it was there at once. */
  #readMs = -1

  constructor(at: ServingParts, resolve: (answer: Answer) => void) {
    this.#at = at
    this.#resolve = resolve
  }

  start(): void {
    const { parts, control } = this.#at
    control.onLeft = error => this.failed(error)
    if (control.left) return control.clientLeft()
    try {
      admitCall(control.call, parts.policies.head, this)
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  // ---- what the policies, the body and the router call

  get ended(): boolean {
    return this.#at.control.settled
  }

  admitted(): void {
    if (this.ended) return
    if (this.#next === 'body') this.#read()
    else this.#route()
  }

  whole(bytes: Uint8Array): void {
    // The client left while its key was asked about once more.
    if (this.ended) return
    this.#waited()
    try {
      this.#admitBody(readJsonBody(bytes))
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  answered(reply: Reply): void {
    const { control } = this.#at
    const { call } = control
    try {
      const { body } = reply
      const whole = typeof body === 'string' || body instanceof Uint8Array
      // The router's streams settle by themselves at their end; a policy's stream is settled here.
      const own =
        whole || call.progress.attempts > 0
          ? reply
          : { ...reply, body: new PolicyAnswerStream(body, control, reply.status) }
      if (whole) control.settle('success', reply.status)
      const seen = call.watch === undefined || call.progress.attempts === 0 ? own : call.watch.replied(own)
      this.#end(respond(this.#at.parts, call, call.bodyCollector?.replied(seen) ?? seen))
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  failed(thrown: unknown): void {
    const { parts, control } = this.#at
    const { call } = control
    const { namedFiles } = call
    const failure = toGatewayError(thrown)
    let error = namedFiles ? withLocalIds(failure, namedFiles.localIds) : failure
    let reply: Reply | undefined
    try {
      reply = control.settled ? undefined : replacementFor(parts, control, error)
    } catch (failed) {
      // The client still waits for its answer, and the call for its end.
      error = toGatewayError(failed)
    }
    if (reply) {
      control.settle('success', reply.status, error)
      return this.#end(respond(parts, call, call.bodyCollector?.replied(reply) ?? reply))
    }
    control.settle(error.kind === 'client-closed' ? 'client_closed' : 'error', error.status, error)
    this.#end(respondError(parts, call, error))
  }

  // ---- inside

  #read(): void {
    const { parts, request, modelCall, control } = this.#at
    if ('multipart' in modelCall.format) this.#readForm(takeForm(parts, request, control))
    else request.body.read(control.call.models.settings.bodyBytesMax, this)
    if (this.#next === 'body') this.#readMs = parts.clock.monotonicMs()
  }

  #readForm(form: Promise<JsonBody>): void {
    form
      .then(body => {
        this.#waited()
        this.#admitBody(body)
      })
      .catch(thrown => this.failed(thrown))
  }

  /** The time that the client took to send its body is not the gateway's. */
  #waited(): void {
    if (this.#readMs < 0) return
    const { parts, control } = this.#at
    control.call.progress.waitedMs += parts.clock.monotonicMs() - this.#readMs
  }

  /** Throws the problems of the request. */
  #admitBody(body: JsonBody): void {
    const { parts, request, modelCall, control } = this.#at
    const { call } = control
    call.body = body
    call.forwardedHeaders = modelCall.format.forward.headers?.(request.headers)
    this.#next = 'route'
    admitCall(call, parts.policies.body, this)
  }

  #route(): void {
    const { parts, modelCall, control } = this.#at
    if (!modelCall.detach || !this.#detach()) parts.router.run(control, this)
  }

  /** true = the call goes on after its request is answered. */
  #detach(): boolean {
    const { parts, modelCall, control } = this.#at
    const detached = modelCall.detach?.(control.call, client => this.#continueFor(client))
    if (!detached) return false
    const resolve = this.#resolve
    detached.then(
      ({ headers, ...answer }) =>
        resolve({ ...answer, headers: { ...headers, ...answerHeaders(parts, control.call) } }),
      thrown => {
        this.#resolve = resolve
        this.failed(thrown)
      },
    )
    return true
  }

  /** The call continues without its first client. */
  #continueFor(client: Client): Promise<Answer> {
    return new Promise(resolve => {
      const { parts, control, request } = this.#at
      // The client left before it could be sent the response: the call is settled.
      if (control.settled) throw clientClosed()
      control.call.releaseBody = request.body.keep()
      this.#resolve = resolve
      control.continueFor(client)
      if (!control.left) parts.router.run(control, this)
    })
  }

  #end(answer: Answer): void {
    this.#at.control.onLeft = undefined
    this.#resolve(answer)
  }
}

/** A policy's answer in place of the error of the last attempt. */
function replacementFor({ policies }: ServeParts, { call, left }: CallControl, error: GatewayError): Reply | undefined {
  if (call.progress.attempts === 0 || left || error.kind === 'client-closed') return undefined
  for (const policy of policies.failed) {
    const reply = policy.failed(call, error)
    if (reply) return reply
  }
  return undefined
}

/** Reads a multipart form; the call owns its files afterwards. */
export async function takeForm(
  { uploadDirectory: directory }: Pick<ServeParts, 'uploadDirectory'>,
  request: HttpRequest,
  control: CallControl,
): Promise<JsonBody> {
  const { bodyBytesMax: bytesMax } = control.call.models.settings
  const { body, upload } = await readForm(request, { bytesMax, directory })
  if (control.settled) {
    // The client has left meanwhile: the settlement, which closes the files, has already run.
    upload.close()
    throw new GatewayError('client-closed', 'the client left while sending its body')
  }
  control.call.upload = upload
  return body
}
