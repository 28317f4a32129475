/** Stores answers before they reach the client: the terminal event is sent only once the response is stored. */
import { streamOf } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import type { Services } from '../../../core/endpoint.ts'
import type { StoredResponse } from '../../../core/objects/responses.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { exactObject, exactText } from '../../../lib/json/exact-json.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'

/** Facts of a call before it is answered. */
export interface KeptCall {
  readonly keyId: string
  readonly input: readonly Json[]
  readonly previousId: string | null
  /** false = the client asked not to store the response. */
  readonly store: boolean
  readonly background: boolean
}

/**
 * The record to store under `response.id`; it expires after `response_retention_days`, by default 30. `response` is
 * not copied.
 */
export function recordOf(
  call: KeptCall,
  response: Json,
  services: Services,
  deploymentId: string | null,
): StoredResponse {
  const settings = services.current.settings
  const nowMs = services.clock.epochMs()
  return {
    id: response.id as string,
    keyId: call.keyId,
    previousId: call.previousId,
    deploymentId,
    status: typeof response.status === 'string' ? response.status : 'completed',
    background: call.background,
    input: call.input,
    response,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    expiresAtMs: nowMs + settings.responseRetentionMs,
  }
}

/** The deployment that the pipeline names in its headers. */
export function deploymentOf({ headers }: Answer, services: Services): string | null {
  return headers[`${services.current.settings.headerPrefix}-model-id`] ?? null
}

/** The same answer, stored on its way. One that cannot be stored has `store: false`. */
export async function keepAnswer(answer: Answer, call: KeptCall, services: Services): Promise<Answer> {
  if (answer.status !== 200 || (!call.store && call.previousId === null)) return answer
  const { body } = answer
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    const stream = call.store ? streamOf(body) : undefined
    return stream ? { ...answer, body: keepStream(stream, deploymentOf(answer, services), { call, services }) } : answer
  }
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  const response = exactObject(text, schemaNames)
  const changed = response && (await kept(response, { call, services }, deploymentOf(answer, services)))
  return { ...answer, body: changed ? exactText(response) : text }
}

interface KeepContext {
  readonly call: KeptCall
  readonly services: Services
}

/** true = the object was changed. */
async function kept(response: Json, { call, services }: KeepContext, deploymentId: string | null): Promise<boolean> {
  let changed = false
  if ((response.previous_response_id ?? null) !== call.previousId) {
    response.previous_response_id = call.previousId
    changed = true
  }
  if (!call.store) return changed
  if (
    typeof response.id === 'string' &&
    response.id !== '' &&
    (await services.responses.save(recordOf(call, response, services, deploymentId))) === 'saved'
  )
    return changed
  response.store = false
  return true
}

const terminalEvents = ['event: response.completed\n', 'event: response.incomplete\n', 'event: response.failed\n'].map(
  text => Buffer.from(text),
)

/** Pieces of a stream consist of whole events; only one with a terminal event is parsed. */
function keepStream(
  source: ReadableStream<Uint8Array>,
  deploymentId: string | null,
  keeping: KeepContext,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        controller.enqueue(await keptPiece(value, keeping, deploymentId))
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 1 },
  )
}

async function keptPiece(piece: Uint8Array, keeping: KeepContext, deploymentId: string | null): Promise<Uint8Array> {
  const buffer = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
  const at = Math.max(...terminalEvents.map(event => buffer.lastIndexOf(event)))
  if (at < 0) return piece
  const [head, ...lines] = buffer.toString('utf8', at).split('\n')
  const data = lines[0]?.startsWith('data: ') ? exactObject(lines[0].slice('data: '.length), schemaNames) : undefined
  const response = data?.response as Json | undefined
  if (!data || typeof response !== 'object' || response === null) return piece
  if (!(await kept(response, keeping, deploymentId))) return piece
  const event = [head, `data: ${exactText(data)}`, ...lines.slice(1)].join('\n')
  return Buffer.concat([buffer.subarray(0, at), Buffer.from(event)])
}
