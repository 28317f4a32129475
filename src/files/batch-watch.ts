/** Reads open batches from their upstreams periodically, so that each is settled also when no client asks for it. */
import type { Services } from '../core/endpoint.ts'
import type { FileRecord } from '../core/objects/file-records.ts'
import type { Client } from '../core/request.ts'
import { lookForBatch } from './batch-intents.ts'
import { askForBatch } from './batch-state.ts'
import { hasEnded } from './batch-settlement.ts'
import { isIntent } from './objects.ts'

/** Timeout of one request to an upstream. */
const requestTimeoutMs = 30_000
/** Longer than a request and the settlement take. */
const leaseMs = 300_000
const batchesAtOnce = 8
/** The interval for one batch grows with its age up to this: batches run for hours. */
const pauseMsMax = 15 * 60_000

const noClient: Client = { clientAddress: '', left: false, onLeft: () => {} }

/** How often open batches are read, and who is told of failures. */
interface BatchWatch {
  /** Interval of the search for open batches, and the shortest interval for one batch. */
  readonly pollMs: number
  report(problem: string, error: unknown): void
}

/**
 * Runs until `stop`, which resolves when no request is open. A lease lets one replica at a time ask for a batch.
 */
export function watchBatches(services: Services, { pollMs, report }: BatchWatch): { stop(): Promise<void> } {
  const owner = crypto.randomUUID()
  let stopped = false
  let search = Promise.resolve()
  const readOpen = async (): Promise<void> => {
    for (let asked = batchesAtOnce; asked === batchesAtOnce && !stopped; ) {
      const nowMs = services.clock.epochMs()
      const due = await services.files.leaseOpenBatches({ owner, nowMs, leaseMs, limit: batchesAtOnce })
      await Promise.all(due.map(record => refresh(services, { owner, pollMs, report }, record)))
      asked = due.length
    }
  }
  const timer = setInterval(() => {
    search = search.then(readOpen).catch(error => report('open batches cannot be looked for', error))
  }, pollMs)
  timer.unref()
  return {
    stop() {
      stopped = true
      clearInterval(timer)
      return search
    },
  }
}

async function refresh(services: Services, watch: BatchWatch & { owner: string }, record: FileRecord): Promise<void> {
  const { owner, pollMs, report } = watch
  try {
    const how = { totalMs: requestTimeoutMs, leasedBy: owner }
    const body = isIntent(record)
      ? await lookForBatch(services, noClient, record, how)
      : await askForBatch(services, { request: noClient, record, ...how })
    if (!body || hasEnded(body)) return
  } catch (error) {
    report(`the batch ${record.id} cannot be asked for`, error)
  }
  const ageMs = services.clock.epochMs() - record.createdAtMs
  const dueAtMs = services.clock.epochMs() + Math.max(pollMs, Math.min(ageMs / 10, pauseMsMax))
  await services.files.releaseBatch(record.id, { owner, dueAtMs }).catch(() => false)
}
