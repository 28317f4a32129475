/** Calls that nobody waits for: answered at once, run by themselves, asked for later. */
import { randomUUIDv7 } from 'bun'
import { jsonAnswer } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import { toResponse } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { ModelCall, Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError } from '../../core/errors.ts'
import { madeRequest, SignalClient } from '../../core/request.ts'
import type { StoredResponse } from '../../core/ports.ts'
import { newResponse, newResponseId } from '../../formats/openai/responses/response-object.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { deploymentOf, recordOf } from './keep.ts'
import type { KeptCall } from './keep.ts'

type Fields = Record<string, unknown>

const renewalMs = 5000
/** A run that was not renewed for this long is gone with its process. */
export const staleMs = 60_000

/** What a run needs once its client has its answer. */
interface BackgroundCall {
  readonly request: HttpRequest
  readonly services: Services
  readonly caller: Caller
  /** As the client sent it. */
  readonly body: JsonBody
  /** What is sent: the conversation written out. */
  readonly bytes: Uint8Array
  readonly kept: KeptCall
  readonly asked: ModelCall
}

/** Answers with the queued response; the run goes on without its client. */
export async function startBackground(call: BackgroundCall): Promise<Answer> {
  const { services, body, kept } = call
  const response: Fields = {
    ...newResponse(newResponseId(), String(body.get('model')), body.parse()),
    status: 'queued',
  }
  const record = recordOf(kept, response, services, null)
  if (!(await services.responses.save(record)))
    throw new GatewayError(
      'overloaded',
      'responses cannot be stored now, so that nothing can run in the background; try again later',
    )
  if (!services.detached.start(runId(record), signal => run(call, record, signal))) {
    await services.responses.delete(record.keyId, record.id)
    throw new GatewayError('overloaded', 'too many responses run in the background already; try again later')
  }
  return jsonAnswer(response, 200, { 'x-request-id': call.request.id })
}

/** Ids are of a key. */
function runId({ keyId, id }: StoredResponse): string {
  return `${keyId} ${id}`
}

/** Ends the run in this process, if it is here; elsewhere the next renewal does. */
export function abortBackground(record: StoredResponse, services: Services): void {
  services.detached.cancel(runId(record))
}

async function run(call: BackgroundCall, record: StoredResponse, signal: AbortSignal): Promise<void> {
  const { services } = call
  const { keyId, id } = record
  const renew = () =>
    services.responses.renew(keyId, id, services.epochMs()).then(
      alive => alive || abortBackground(record, services),
      // The database may be away for a while; the run goes on.
      () => {},
    )
  await renew()
  const timer = setInterval(() => void renew(), renewalMs)
  try {
    const { response, deploymentId } = await answered(call, record, signal)
    await services.responses.finish({
      ...recordOf(call.kept, response, services, deploymentId),
      createdAtMs: record.createdAtMs,
    })
  } finally {
    clearInterval(timer)
  }
}

interface Answered {
  readonly response: Fields
  readonly deploymentId: string | null
}

async function answered(call: BackgroundCall, record: StoredResponse, signal: AbortSignal): Promise<Answered> {
  const { services, caller, asked } = call
  const { request } = call
  const { path, params, query, headers, clientAddress } = request
  const client = new SignalClient(signal, clientAddress)
  const own = madeRequest({ id: randomUUIDv7(), path, params, query, headers, bytes: call.bytes, client })
  const { id, created_at, previous_response_id } = record.response
  const same = { id, created_at, previous_response_id, background: true }
  try {
    const answer = await services.callModel(own, caller, { ...asked, stream: false })
    const body = (await toResponse(answer).json()) as Fields
    if (answer.status === 200) return { response: { ...body, ...same }, deploymentId: deploymentOf(answer, services) }
    const { message, code } = (body.error ?? {}) as Fields
    return { response: failed(record, String(message ?? 'the call failed'), code), deploymentId: null }
  } catch (error) {
    return {
      response: failed(record, error instanceof GatewayError ? error.message : 'the gateway failed on this response'),
      deploymentId: null,
    }
  }
}

/** The record's response, ended by a failure. */
export function failed(record: StoredResponse, message: string, code?: unknown): Fields {
  const known = typeof code === 'string' && code !== '' ? code : 'server_error'
  return { ...record.response, status: 'failed', error: { code: known, message } }
}
