/** The state of a batch: read from its upstream, stored, and settled when it has ended. */
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { FileCall } from '../core/objects/files.ts'
import type { FileRecord } from '../core/objects/file-records.ts'
import type { Json } from '../lib/json/json-values.ts'
import { aboutObject, deploymentOf, isIntent, publicBatch, upstreamPath } from './objects.ts'
import { hasEnded, settleBatch, settleLost } from './batch-settlement.ts'
import type { OutputFile } from './batch-settlement.ts'

/** Settling takes milliseconds; the rest allows for differences between the clocks of replicas. */
const settleLeaseMs = 60_000
/** It is tried so often to give it back while the database is away. */
const giveBackMs = 1000

/** One request for the state of a batch. */
interface BatchQuestion extends Pick<FileCall, 'request' | 'of' | 'totalMs'> {
  readonly record: FileRecord
  /** The worker that holds the lease of the batch; absent = this look takes it when the batch has ended. */
  readonly leasedBy?: string | undefined
}

/** A batch ends within a day (`completion_window`): what is not found after two is charged as what it reserved. */
const lostAfterMs = 48 * 3_600_000

/** It is so old that its upstream, where it still lists it, has ended it. */
export const isPastItsEnd = ({ clock }: Services, { createdAtMs }: FileRecord): boolean =>
  clock.epochMs() - createdAtMs > lostAfterMs

/**
 * Reads the batch from its upstream. Rejects with the upstream's error; the worker that holds the lease ends a batch
 * that its upstream has forgotten, which would else hold what it reserved for ever.
 */
export async function askForBatch(services: Services, { record, leasedBy, ...how }: BatchQuestion): Promise<Json> {
  if (isIntent(record)) return { ...record.body }
  const deployment = deploymentOf(services, record)
  const path = upstreamPath(record)
  let answer: Json
  try {
    answer = await aboutObject(record, 'batch_id', () =>
      services.fileCalls.json({ ...how, deployment, method: 'GET', path }),
    )
  } catch (error) {
    const isGone = error instanceof GatewayError && error.kind === 'not-found'
    if (leasedBy === undefined || !isGone || !isPastItsEnd(services, record)) throw error
    return endLost(services, record)
  }
  return refreshedBatch(services, record, answer, { request: how.request, leasedBy })
}

/** Stores the upstream's answer as clients see it; one replica settles the batch when it has ended. */
export async function refreshedBatch(
  services: Services,
  record: FileRecord,
  answer: Json,
  { request, leasedBy }: Pick<BatchQuestion, 'request' | 'leasedBy'>,
): Promise<Json> {
  const { output_file_id: fileId } = answer
  const output = typeof fileId === 'string' && fileId !== '' ? { request, fileId } : undefined
  let body: Json
  try {
    body = await publicBatch(services, request, record, answer)
  } catch (error) {
    // Its files cannot be shown, but what it has used is billed all the same.
    const end = { ...answer, status: String(answer.status).toLowerCase() }
    if (hasEnded(end))
      await settleOnce(services, record, { end, body: { ...record.body, status: end.status }, output }, leasedBy)
    throw error
  }
  const isSettled = hasEnded(body) && (await settleOnce(services, record, { end: body, body, output }, leasedBy))
  if (!isSettled && !record.recorded) await services.files.update(record.id, { body })
  return body
}

interface BatchEnd {
  /** Has the usage and the times. */
  readonly end: Json
  /** What is kept. */
  readonly body: Json
  readonly output: OutputFile | undefined
}

/** false = it is settled already, or by another worker, or has to be later: when the lease ends. */
async function settleOnce(
  services: Services,
  record: FileRecord,
  { end, body, output }: BatchEnd,
  leasedBy: string | undefined,
): Promise<boolean> {
  // Each reading has an owner of its own: of several that see the end at once, also in one process, one settles.
  const owner = leasedBy ?? crypto.randomUUID()
  const lease = { owner, nowMs: services.clock.epochMs(), leaseMs: settleLeaseMs }
  if (record.recorded || !(await services.files.leaseBatch(record.id, lease))) return false
  try {
    if (!(await settleBatch(services, record, { deployment: deploymentOf(services, record), batch: end, output })))
      return false
    return await services.files.batchSettled(record.id, body)
  } catch (error) {
    // Else nothing would settle it for a minute. A worker gives its lease back by itself.
    if (leasedBy === undefined) void giveBack(services, record, owner)
    throw error
  }
}

/** Gives the lease back, as soon as the database answers. Never rejects. */
async function giveBack({ files, clock }: Services, { id }: FileRecord, owner: string): Promise<void> {
  const endsMs = clock.monotonicMs() + settleLeaseMs
  while (clock.monotonicMs() < endsMs)
    try {
      await files.releaseBatch(id, { owner, dueAtMs: clock.epochMs() })
      return
    } catch {
      await Bun.sleep(giveBackMs)
    }
}

/** The end of a batch of which its upstream reported none. */
export async function endLost(services: Services, record: FileRecord): Promise<Json> {
  const body = { ...record.body, status: 'failed' }
  await settleLost(services, record, deploymentOf(services, record))
  await services.files.batchSettled(record.id, body)
  return body
}
