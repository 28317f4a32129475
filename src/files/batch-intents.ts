/**
 * Batches that were sent to their upstream without an answer that was kept: the process ended, the answer did not come,
 * the database was away. They are looked for in the upstream's list, and settled or given up.
 */
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { FaultKind } from '../core/errors.ts'
import type { FileRecord } from '../core/objects/file-records.ts'
import type { Client } from '../core/request.ts'
import { objectsOf } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'
import { endLost, isPastItsEnd, refreshedBatch } from './batch-state.ts'
import { deploymentOf, idIn } from './objects.ts'

/** Of an upstream that has begun nothing. */
const refusals: ReadonlySet<FaultKind> = new Set([
  'model-not-found',
  'not-found',
  'too-large',
  'upstream-credentials',
  'upstream-model-missing',
  'upstream-rate-limited',
  'upstream-refused',
])
/** An upstream that lists its batches with a delay lists this one by then. */
const listedWithinMs = 120_000
/** Clocks of upstreams differ. */
const clockSkewMs = 60_000
const pageSize = 100
const pagesMax = 20

/** Whether the upstream said that it begins no batch. */
export const isRefusal = (error: unknown): boolean => error instanceof GatewayError && refusals.has(error.kind)

/** The upstream has begun the batch. Rejects with `overloaded` while this cannot be stored. */
export async function begunBatch(services: Services, record: FileRecord, answer: Json): Promise<FileRecord> {
  const begun = await services.files.batchBegun(record.id, idIn(answer))
  if (!begun) throw new GatewayError('conflict', `the batch '${record.id}' was given up while it was started`)
  services.limiter.stored(begun.returned)
  return begun.record
}

/** Looks for one. Resolves with the batch; undefined = it was given up. Rejects where it may be found later. */
export async function lookForBatch(
  services: Services,
  request: Client,
  record: FileRecord,
  { leasedBy, totalMs }: { leasedBy: string; totalMs: number },
): Promise<Json | undefined> {
  const ageMs = services.clock.epochMs() - record.createdAtMs
  let answer: Json | undefined
  try {
    answer = await findAtUpstream(services, record, { request, totalMs })
  } catch (error) {
    if (!isPastItsEnd(services, record)) throw error
    return endLost(services, record)
  }
  if (answer) {
    const begun = await begunBatch(services, record, answer)
    return refreshedBatch(services, begun, answer, { request, leasedBy })
  }
  if (ageMs < listedWithinMs) throw new GatewayError('not-found', 'its upstream does not list it yet')
  services.limiter.stored(await services.files.giveUpBatch(record.id))
  return undefined
}

/** undefined = it is in no page of the list, which was read back to the time before it. */
async function findAtUpstream(
  services: Services,
  record: FileRecord,
  how: { request: Client; totalMs: number },
): Promise<Json | undefined> {
  const deployment = deploymentOf(services, record)
  const { keyId, deploymentId } = record
  const input = await services.files.find('file', String(record.body.input_file_id), keyId)
  if (!input) throw new GatewayError('not-found', 'its input file was deleted, by which it would be known')
  const isBefore = (batch: Json) => !(Number(batch.created_at) * 1000 >= record.createdAtMs - clockSkewMs)
  let after = ''
  for (let page = 0; page < pagesMax; page++) {
    const path = `/batches?limit=${pageSize}${after}`
    const list = await services.fileCalls.json({ ...how, deployment, method: 'GET', path })
    const batches = objectsOf(list.data)
    for (const batch of batches) {
      if (isBefore(batch) || batch.input_file_id !== input.upstreamId) continue
      const known = await services.files.findUpstream({ kind: 'batch', keyId, deploymentId, upstreamId: idIn(batch) })
      if (!known) return batch
    }
    const last = batches.at(-1)
    // Newest first, as vendors list them.
    if (list.has_more !== true || !last || isBefore(last)) return undefined
    after = `&after=${encodeURIComponent(idIn(last))}`
  }
  throw new GatewayError('upstream-broken', 'the list of batches is too long to find it there')
}
