/** Responses in the background: answered at once as queued, generated without a waiting client, read later. */
import { jsonAnswer, toResponse } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import type { Call } from '../../../core/call.ts'
import type { Services } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import { SignalClient } from '../../../core/internal-request.ts'
import type { HeldRun } from '../../../core/objects/assistants.ts'
import { responseName } from '../../../core/objects/responses.ts'
import type { StoredResponse } from '../../../core/objects/responses.ts'
import { untilStored } from '../../../core/objects/until-stored.ts'
import type { Client } from '../../../core/request.ts'
import { newResponse, newResponseId } from '../../../formats/openai/responses/response-object.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { deploymentOf, recordOf } from './keep.ts'
import type { KeptCall } from './keep.ts'
import type { Json } from '../../../lib/json/json-values.ts'

/** A call that was admitted and continues without its client. */
interface BackgroundCall {
  readonly services: Services
  readonly call: Call
  /** As the client sent it. */
  readonly body: JsonBody
  readonly kept: KeptCall
  /** Continues the call for this client; resolves with its answer. */
  run(client: Client): Promise<Answer>
}

/** Answers with the queued response; the call continues without its client. */
export async function startBackground(background: BackgroundCall): Promise<Answer> {
  const { services, call, body, kept } = background
  const response: Json = { ...newResponse(newResponseId(), call.model, body.parse()), status: 'queued' }
  const record = recordOf(kept, response, services, null)
  const saved = await services.responses.save(record)
  // Says why.
  if (saved === 'no-room') await services.responses.admit(record.keyId)
  if (saved !== 'saved')
    throw new GatewayError(
      'overloaded',
      'responses cannot be stored now, so that nothing can run in the background; try again later',
    )
  try {
    const name = responseName(record)
    services.detached.start({ id: name, keyId: record.keyId }, async signal => {
      const held = services.responseWatch.hold(name)
      await run(background, { record, held, signal }).finally(() => held.release())
    })
  } catch (refused) {
    await services.responses.delete(record.keyId, record.id)
    throw refused
  }
  return jsonAnswer(response, 200, { 'x-request-id': call.requestId })
}

/** Ends the run if it is in this process; another process ends it at the next renewal. */
export function abortBackground(record: Pick<StoredResponse, 'keyId' | 'id'>, services: Services): void {
  services.detached.cancel(responseName(record))
}

interface BackgroundRun {
  readonly record: StoredResponse
  readonly held: HeldRun
  readonly signal: AbortSignal
}

async function run(background: BackgroundCall, { record, held, signal }: BackgroundRun): Promise<void> {
  const { services, kept } = background
  const { responses, clock } = services
  const abort = () => abortBackground(record, services)
  // Started before the first renewal: the signal alone ends the call when the run is cancelled.
  const answering = answered(background, record, signal)
  const renewed = await responses.renew([responseName(record)], clock.epochMs()).catch(() => undefined)
  if (renewed?.size === 0) abort()
  held.renew({ expiresAtMs: Infinity, ended: abort })
  const { response, deploymentId } = await answering
  const { createdAtMs } = record
  await untilStored(clock, () => responses.finish({ ...recordOf(kept, response, services, deploymentId), createdAtMs }))
}

interface StoredAnswer {
  readonly response: Json
  readonly deploymentId: string | null
}

async function answered(
  background: BackgroundCall,
  record: StoredResponse,
  signal: AbortSignal,
): Promise<StoredAnswer> {
  const { services, call } = background
  const { id, created_at, previous_response_id } = record.response
  const same = { id, created_at, previous_response_id, background: true }
  try {
    const answer = await background.run(new SignalClient(signal, call.clientAddress))
    const body = (await toResponse(answer).json()) as Json
    if (answer.status === 200) return { response: { ...body, ...same }, deploymentId: deploymentOf(answer, services) }
    const { message, code } = (body.error ?? {}) as Json
    return { response: failed(record, String(message ?? 'the call failed'), code), deploymentId: null }
  } catch (error) {
    return {
      response: failed(record, error instanceof GatewayError ? error.message : 'the gateway failed on this response'),
      deploymentId: null,
    }
  }
}

/** The record's response with the status `failed`. */
export function failed(record: StoredResponse, message: string, code?: unknown): Json {
  const known = typeof code === 'string' && code !== '' ? code : 'server_error'
  return { ...record.response, status: 'failed', error: { code: known, message } }
}
