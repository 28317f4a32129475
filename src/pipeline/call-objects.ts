/** A call about stored objects (files, batches): with the same policies and settlement as a call of a model. */
import type { Answer } from '../core/answer.ts'
import type { Call, CallInAdmission } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { AdmittedLine, BatchLine, ObjectCall, Services } from '../core/endpoint.ts'
import { GatewayError, toGatewayError } from '../core/errors.ts'
import type { Outcome } from '../core/hub/operation.ts'
import { readBody, readJsonBody } from '../core/request.ts'
import type { HttpRequest } from '../core/request.ts'
import type { JsonBody } from '../lib/json/json-body.ts'
import { admitDryRun, admitted } from './admission/admission.ts'
import { CallControl } from './call-control.ts'
import { lineOf, openCall } from './call-record.ts'
import { lineBody } from './lanes/attempt.ts'
import { answerHeaders, respond } from './respond.ts'
import { takeForm } from './serve.ts'
import type { ServeParts } from './serve.ts'
import { settler } from './settlement/settle.ts'

/** Default limit of a JSON body. */
const jsonBytesMax = 1024 * 1024

/** Binds the parts. A refusal or failure is settled, then thrown for `endpoints/router.ts` to answer. */
export function createCallObjects(parts: ServeParts): Services['callObjects'] {
  const settle = settler(parts)
  return async (request, caller, objectCall) => {
    const { operation, route } = objectCall
    const call = openCall(parts, request, caller, { operation, route, format: undefined, options: objectCall })
    return run(parts, request, objectCall, new CallControl(call, settle))
  }
}

async function run(
  parts: ServeParts,
  request: HttpRequest,
  objectCall: ObjectCall,
  control: CallControl,
): Promise<Answer> {
  const { call } = control
  let until: Promise<Outcome> | undefined
  try {
    if (control.left) throw new GatewayError('client-closed', 'the client left before its request was read')
    const reply = (await admitted(call, parts.policies.head)) ?? (await admitBody(parts, request, objectCall, control))
    if (reply) {
      control.settle('success', reply.status)
      return respond(parts, call, reply)
    }
    const answer = await objectCall.work(call, over => (until = over))
    if (until) void until.then(outcome => control.settle(outcome, answer.status))
    else control.settle('success', answer.status)
    return { ...answer, headers: { ...answer.headers, ...answerHeaders(parts, call) } }
  } catch (thrown) {
    const error = toGatewayError(thrown)
    control.settle(error.kind === 'client-closed' ? 'client_closed' : 'error', error.status, error)
    error.answerHeaders = answerHeaders(parts, call)
    throw error
  }
}

async function admitBody(parts: ServeParts, request: HttpRequest, objectCall: ObjectCall, control: CallControl) {
  const { call } = control
  const { body, bodyBytesMax = jsonBytesMax } = objectCall
  if (body === 'form') call.body = await takeForm(parts, request, control)
  if (body === 'json') call.body = await jsonBody(request, bodyBytesMax)
  return admitted(call, parts.policies.body)
}

/** A missing body counts as an empty object. */
async function jsonBody({ body }: HttpRequest, bytesMax: number): Promise<JsonBody> {
  const bytes = await readBody(body, bytesMax)
  return readJsonBody(bytes.length === 0 ? Buffer.from('{}') : bytes)
}

/** Binds the parts. See `Services.admitLine`. */
export function createAdmitLine(parts: ServeParts): (call: Call, line: BatchLine) => Promise<AdmittedLine> {
  return async (call, line) => {
    const dryRun = lineOf(parts, call, line)
    await admitDryRun(dryRun, parts.policies.line)
    for (const policy of parts.policies.answer) {
      if (!policy.answer(dryRun)) continue
      throw new GatewayError(
        'invalid-request',
        `the policy '${policy.name}' reads answers, and those of a batch come in a file that it does not see; ` +
          'send this request as a call of its own',
      )
    }
    return {
      candidates: dryRun.candidates,
      boundAt: deployment => boundOf(dryRun, deployment),
      bodyFor: deployment => lineBody(dryRun, deployment),
    }
  }
}

/** A form says nothing of what it costs. */
function boundOf(line: CallInAdmission, deployment: Deployment): bigint | null {
  if (!line.format) return null
  line.candidates = [deployment]
  line.fallbacksInOrder = line.contextWindowFallbacks = line.contentPolicyFallbacks = []
  try {
    return line.bounds().costNanoUsdMax
  } catch (error) {
    // What only its upstream can read, its upstream may refuse.
    if (error instanceof GatewayError) return null
    throw error
  }
}
