/** Starts batches, and reads their state for lists. */
import type { Call } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { FileOwner, FileRecord } from '../core/ports.ts'
import type { Client } from '../core/request.ts'
import type { Json } from '../lib/json/json-values.ts'
import { hasEnded } from './batch-settlement.ts'
import { askForBatch, refreshedBatch } from './batch-state.ts'
import { aboutObject, deploymentOf, fileOwnerOf, findRecord, idIn, newId, optionalMs, upstreamPath } from './objects.ts'
import { callable } from './upstreams.ts'

/** The fields of a batch that are sent to its upstream, beside the input file. */
export interface BatchFields {
  readonly endpoint: string
  readonly completion_window: string
  readonly metadata?: Json | null
  readonly output_expires_after?: Json | null
}

/**
 * Starts a batch at the upstream of its input file and stores its record; resolves with the batch as clients see it.
 */
export async function startBatch(
  services: Services,
  call: Call,
  input: FileRecord,
  fields: BatchFields,
): Promise<Json> {
  const deployment = deploymentOf(services, input)
  const answer = await aboutObject(input, 'input_file_id', () =>
    services.fileCalls
      .json({
        request: call.client,
        of: call,
        deployment,
        method: 'POST',
        path: '/batches',
        body: { json: { ...fields, input_file_id: input.upstreamId } },
        outlivesClient: true,
      })
      .catch((error: unknown) => noBatches(services, call.client, { input, deployment, error })),
  )
  // An administrator may start a batch with the file of another key, to which it then belongs.
  const owner = call.caller.key.id === input.keyId ? fileOwnerOf(call) : input.owner
  const record = await store(services, call.client, { input, owner, deployment, upstreamId: idIn(answer) })
  return refreshedBatch(services, call.client, record, answer)
}

/** An upstream that answers 404 and has the file does not know the path. Rejects in any case. */
async function noBatches(
  services: Services,
  request: Client,
  { input, deployment, error }: { input: FileRecord; deployment: Deployment; error: unknown },
): Promise<never> {
  if (!(error instanceof GatewayError) || error.kind !== 'model-not-found') throw error
  const path = upstreamPath(input)
  try {
    await services.fileCalls.json({ request, deployment, method: 'GET', path, totalMs: optionalMs })
  } catch {
    throw error
  }
  throw new GatewayError(
    'upstream-refused',
    `the upstream that keeps the file runs no batches: ${error.message}; send the file with a model of one that does`,
    { status: error.status, cause: error },
  )
}

interface Started {
  readonly input: FileRecord
  readonly owner: FileOwner | null
  readonly deployment: Deployment
  readonly upstreamId: string
}

async function store(
  services: Services,
  request: Client,
  { input, owner, deployment, upstreamId }: Started,
): Promise<FileRecord> {
  const id = newId('batch')
  const record: FileRecord = {
    id,
    kind: 'batch',
    keyId: input.keyId,
    deploymentId: deployment.id,
    upstreamId,
    purpose: '',
    filename: '',
    bytes: 0,
    models: input.models,
    createdAtMs: services.clock.epochMs(),
    body: { id, object: 'batch', status: 'validating', input_file_id: input.id },
    recorded: false,
    owner,
  }
  try {
    return await services.files.put(record, { withinQuota: true })
  } catch (error) {
    // Without its record the batch could not be read, and its cost would not be recorded.
    const path = upstreamPath(record, '/cancel')
    await services.fileCalls
      .json({ request, deployment, method: 'POST', path, outlivesClient: true })
      .catch(() => undefined)
    throw error
  }
}

/**
 * The file that a batch is to run. Throws 404, 400 for a file with another purpose, and 403 for models that the key may
 * not call: its access may have changed since the file was sent.
 */
export async function findInputFile(services: Services, call: Call, id: string): Promise<FileRecord> {
  const record = await findRecord(services, call.caller, { kind: 'file', id, param: 'input_file_id' })
  if (record.purpose !== 'batch')
    throw new GatewayError(
      'invalid-request',
      `the file '${record.id}' was sent with the purpose '${record.purpose}'; a batch needs one with the purpose ` +
        `'batch'`,
      { param: 'input_file_id' },
    )
  for (const model of record.models) {
    const found = callable(call, model)
    if (typeof found === 'string') throw new GatewayError('model-forbidden', found, { param: 'input_file_id' })
  }
  return record
}

/**
 * A batch for a list: read from its upstream until it has ended. When the upstream fails or does not answer in time,
 * the stored state is used, so that one upstream cannot fail the whole list.
 */
export async function listedBatch(services: Services, call: Call, record: FileRecord): Promise<Json> {
  // `recorded` too: a slower answer from before the end may have been stored over the final one.
  if (record.recorded && hasEnded(record.body)) return record.body
  try {
    return await askForBatch(services, { request: call.client, of: call, record, totalMs: optionalMs })
  } catch (error) {
    if (error instanceof GatewayError && error.kind !== 'client-closed' && error.kind !== 'internal') return record.body
    throw error
  }
}
