/** The state of a batch: asked of its upstream, kept, and settled when it is the end. */
import type { Services } from '../../core/endpoint.ts'
import type { FileCall } from '../../core/files.ts'
import type { FileRecord } from '../../core/ports.ts'
import type { Client } from '../../core/request.ts'
import type { Fields } from '../kept-objects.ts'
import { aboutObject, deploymentOf, publicBatch, upstreamPath } from './objects.ts'
import { hasEnded, settleBatch } from './settle.ts'

/** Settling takes milliseconds; clocks of replicas may differ by this much. */
const settleLeaseMs = 60_000
/** One question for a batch. */
interface BatchQuestion extends Pick<FileCall, 'request' | 'of' | 'totalMs'> {
  readonly record: FileRecord
  /** The worker that holds the lease of the batch; absent = none does yet. */
  readonly leasedBy?: string
}

/** Asks the upstream for the batch as it is now. Rejects with the upstream's fault. */
export async function askForBatch(services: Services, { record, leasedBy, ...how }: BatchQuestion): Promise<Fields> {
  const deployment = deploymentOf(services, record)
  const path = upstreamPath(record)
  const answer = await aboutObject(record, 'batch_id', () =>
    services.fileCalls.json({ ...how, deployment, method: 'GET', path }),
  )
  return refreshedBatch(services, how.request, record, answer, leasedBy)
}

/** The upstream's answer as clients see it: kept, and settled by one replica when it is the end. */
export async function refreshedBatch(
  services: Services,
  request: Client,
  record: FileRecord,
  answer: Fields,
  // An owner of its own: of several questions that see the same end at once, in one process too, one settles it.
  leasedBy: string = crypto.randomUUID(),
): Promise<Fields> {
  const body = await publicBatch(services, request, record, answer)
  const isEnd = hasEnded(body) && !record.recorded
  const lease = { owner: leasedBy, nowMs: services.epochMs(), leaseMs: settleLeaseMs }
  if (isEnd && (await services.files.leaseBatch(record.id, lease))) {
    await settleBatch(services, record, deploymentOf(services, record), body)
    await services.files.update(record.id, { body, recorded: true })
  } else if (!record.recorded) await services.files.update(record.id, { body })
  return body
}
