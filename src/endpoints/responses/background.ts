/** Responses in the background: answered at once as queued, made without their client, fetched later. */
import { jsonAnswer, toResponse } from '../../core/answer.ts'
import type { Answer } from '../../core/answer.ts'
import type { Call } from '../../core/call.ts'
import type { Services } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import { SignalClient } from '../../core/internal-request.ts'
import type { StoredResponse } from '../../core/ports.ts'
import type { Client } from '../../core/request.ts'
import { newResponse, newResponseId } from '../../formats/openai/responses/response-object.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { deploymentOf, recordOf } from './keep.ts'
import type { KeptCall } from './keep.ts'

type Fields = Record<string, unknown>

const renewalMs = 5000
/** A run that was not renewed for this long is gone with its process. */
export const staleMs = 60_000

/** A call that was admitted and goes on without its client. */
interface BackgroundCall {
  readonly services: Services
  readonly call: Call
  /** As the client sent it. */
  readonly body: JsonBody
  readonly kept: KeptCall
  /** Goes on with the call, for this client; resolves with its answer. */
  run(client: Client): Promise<Answer>
}

/** Answers with the queued response; the call goes on without its client. */
export async function startBackground(background: BackgroundCall): Promise<Answer> {
  const { services, call, body, kept } = background
  const response: Fields = { ...newResponse(newResponseId(), call.model, body.parse()), status: 'queued' }
  const record = recordOf(kept, response, services, null)
  if (!(await services.responses.save(record)))
    throw new GatewayError(
      'overloaded',
      'responses cannot be stored now, so that nothing can run in the background; try again later',
    )
  if (!services.detached.start(runId(record), signal => run(background, record, signal))) {
    await services.responses.delete(record.keyId, record.id)
    throw new GatewayError('overloaded', 'too many responses run in the background already; try again later')
  }
  return jsonAnswer(response, 200, { 'x-request-id': call.id })
}

/** Ids are of a key. */
function runId({ keyId, id }: StoredResponse): string {
  return `${keyId} ${id}`
}

/** Ends the run in this process, if it is here; elsewhere the next renewal does. */
export function abortBackground(record: StoredResponse, services: Services): void {
  services.detached.cancel(runId(record))
}

async function run(background: BackgroundCall, record: StoredResponse, signal: AbortSignal): Promise<void> {
  const { services, kept } = background
  const { keyId, id } = record
  const renew = () =>
    services.responses.renew(keyId, id, services.epochMs()).then(
      alive => alive || abortBackground(record, services),
      // The database may be away for a while; the run goes on.
      () => {},
    )
  // From the beginning: nothing else ends the call when the run is cancelled.
  const answering = answered(background, record, signal)
  await renew()
  const timer = setInterval(() => void renew(), renewalMs)
  try {
    const { response, deploymentId } = await answering
    await services.responses.finish({
      ...recordOf(kept, response, services, deploymentId),
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

async function answered(background: BackgroundCall, record: StoredResponse, signal: AbortSignal): Promise<Answered> {
  const { services, call } = background
  const { id, created_at, previous_response_id } = record.response
  const same = { id, created_at, previous_response_id, background: true }
  try {
    const answer = await background.run(new SignalClient(signal, call.client.clientAddress))
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
