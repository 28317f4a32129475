/** Starts batches, and reads their state for lists. */
import { storingIdOf } from '../core/caller.ts'
import { isFree } from '../pricing/cost.ts'
import type { Call, StartedBatch } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import { accountOf } from '../core/objects/files.ts'
import type { BatchLease, FileOwner, FileRecord } from '../core/objects/file-records.ts'
import type { Client } from '../core/request.ts'
import type { Json } from '../lib/json/json-values.ts'
import { callerOf, hasEnded, modelAt } from './batch-settlement.ts'
import { askForBatch, refreshedBatch } from './batch-state.ts'
import { begunBatch, isRefusal } from './batch-intents.ts'
import {
  aboutObject,
  deploymentOf,
  fileOwnerOf,
  findRecord,
  isIntent,
  newId,
  optionalMs,
  upstreamPath,
} from './objects.ts'
import { callable } from './upstreams.ts'

/** The fields of a batch that are sent to its upstream, beside the input file. */
export interface BatchFields {
  readonly endpoint: string
  readonly completion_window: string
  readonly metadata?: Json | null
  readonly output_expires_after?: Json | null
}

/** OpenAI answers within a second: it reads the file afterwards. */
const startMs = 60_000
/** Until then no replica looks for a batch that is being started. */
const intentLeaseMs = 2 * startMs

/**
 * Starts a batch at the upstream of its input file; resolves with the batch as clients see it. Its record, with what it
 * reserves, is stored first: what the upstream began is found again, also where this process ends.
 */
export async function startBatch(
  services: Services,
  call: Call,
  input: FileRecord,
  fields: BatchFields,
): Promise<Json> {
  const deployment = deploymentOf(services, input)
  const record = intentOf(services, call, input)
  const lease = { owner: crypto.randomUUID(), nowMs: services.clock.epochMs(), leaseMs: intentLeaseMs }
  await begin(services, call, record, lease)
  let mayHaveBegun = true
  try {
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
          totalMs: startMs,
          failed: sent => (mayHaveBegun = sent),
        })
        .catch((error: unknown) => noBatches(services, call.client, { input, deployment, error })),
    )
    const begun = await begunBatch(services, record, answer).catch(error =>
      cancelled(services, { call, deployment, answer, error }),
    )
    return await refreshedBatch(services, begun, answer, { request: call.client })
  } catch (error) {
    const isRefused = !mayHaveBegun || isRefusal(error)
    const ended = endIntent(services, record, { owner: lease.owner, isRefused })
    // What it reserved is back before the client knows; that another look is due may be noted later.
    if (isRefused) await ended
    throw error
  }
}

interface UnstoredBatch {
  readonly call: Call
  readonly deployment: Deployment
  readonly answer: Json
  readonly error: unknown
}

/** The client gets the error, and may start another. */
async function cancelled(services: Services, { call, deployment, answer, error }: UnstoredBatch): Promise<never> {
  const { id } = answer
  if (typeof id === 'string')
    await services.fileCalls
      .json({
        request: call.client,
        deployment,
        method: 'POST',
        path: `/batches/${encodeURIComponent(id)}/cancel`,
        outlivesClient: true,
      })
      .catch(() => undefined)
  throw error
}

function intentOf(services: Services, call: Call, input: FileRecord): FileRecord {
  const id = newId('batch')
  return {
    id,
    kind: 'batch',
    keyId: input.keyId,
    deploymentId: input.deploymentId,
    upstreamId: id,
    purpose: '',
    filename: '',
    bytes: 0,
    models: input.models,
    createdAtMs: services.clock.epochMs(),
    body: { id, object: 'batch', status: 'validating', input_file_id: input.id },
    recorded: false,
    owner: batchOwnerOf(call, input),
    ...(call.taken.batch && { reserved: call.taken.batch.amounts }),
  }
}

/** An administrator may start a batch with the file of another key, to which it then belongs. */
function batchOwnerOf(call: Call, input: FileRecord): FileOwner | null {
  return storingIdOf(call.caller) === input.keyId ? fileOwnerOf(call) : input.owner
}

/** What budgets need to know of the batch that is to run this file. */
export async function startedBatch(services: Services, call: Call, input: FileRecord): Promise<StartedBatch> {
  const owner = batchOwnerOf(call, input)
  const isOwn = storingIdOf(call.caller) === input.keyId
  const deployment = deploymentOf(services, input)
  return {
    caller: isOwn ? call.caller : await callerOf(services, { keyId: input.keyId, owner }),
    tags: owner?.tags ?? [],
    models: input.models.map(name => {
      const prices = modelAt(services, name, deployment)?.prices
      const { requests, nanoUsd } = input.bounds?.[name] ?? { requests: 0, nanoUsd: null }
      const isKnown = prices != null && (prices.variants?.batch !== undefined || isFree(prices))
      return { name, requests, nanoUsd: nanoUsd === null ? null : BigInt(nanoUsd), isPriced: isKnown }
    }),
  }
}

/** Stores the record; what the call has reserved is its own from then on. */
async function begin(
  { files }: Services,
  { taken: { batch } }: Call,
  record: FileRecord,
  lease: BatchLease,
): Promise<void> {
  if (batch) batch.isClaimed = true
  try {
    await files.beginBatch(record, lease)
  } catch (error) {
    // A database that is away may have stored it all the same.
    if (error instanceof GatewayError && error.kind !== 'overloaded') batch?.release()
    else batch?.keep('unknown')
    throw error
  }
  batch?.keep('stored')
}

/** Without an answer that says no, the upstream may have begun it: the watch looks for it. */
async function endIntent(
  { files, clock, limiter }: Services,
  { id }: FileRecord,
  { owner, isRefused }: { owner: string; isRefused: boolean },
): Promise<void> {
  try {
    if (isRefused) limiter.stored(await files.giveUpBatch(id))
    else await files.releaseBatch(id, { owner, dueAtMs: clock.epochMs() })
  } catch {
    // The lease ends by itself, and the watch looks for it then.
  }
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
    checkOpen(services, record, found)
  }
  return record
}

/** Throws where what serves the model at the upstream of the file is blocked; another upstream may serve it, too. */
function checkOpen({ current }: Services, { deploymentId }: FileRecord, found: readonly Deployment[]): void {
  const { deployments } = current.settings
  const home = deployments.find(one => one.id === deploymentId)
  const isThere = (one: Deployment) => home !== undefined && accountOf(one) === accountOf(home)
  const { modelName } = found[0]!
  if (found.some(isThere) || !deployments.some(one => one.blocked && one.modelName === modelName && isThere(one)))
    return
  throw new GatewayError(
    'model-blocked',
    `the deployment of '${modelName}' at the upstream that keeps this file is switched off by an administrator; ` +
      'send the file again',
    { param: 'input_file_id' },
  )
}

/**
 * A batch for a list: read from its upstream until it has ended. When the upstream fails or does not answer in time,
 * the stored state is used, so that one upstream cannot fail the whole list.
 */
export async function listedBatch(services: Services, call: Call, record: FileRecord): Promise<Json> {
  // `recorded` too: a slower answer from before the end may have been stored over the final one.
  if (isIntent(record) || (record.recorded && hasEnded(record.body))) return record.body
  try {
    return await askForBatch(services, { request: call.client, of: call, record, totalMs: optionalMs })
  } catch (error) {
    if (error instanceof GatewayError && error.kind !== 'client-closed' && error.kind !== 'internal') return record.body
    throw error
  }
}
