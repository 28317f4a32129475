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
/** Of a statement without an answer, after which the database has done it or never will. */
const doubtMs = 15_000
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
  let doubtUntilMs = -Infinity
  const doubt = () => void (doubtUntilMs = services.clock.monotonicMs() + doubtMs)
  const readOpen = async (): Promise<void> => {
    // Taken without an answer, or not given back, while the database was away: others would wait for minutes.
    if (services.clock.monotonicMs() < doubtUntilMs) await services.files.releaseBatches(owner)
    for (let dueCount = batchesAtOnce; dueCount === batchesAtOnce && !stopped; ) {
      const nowMs = services.clock.epochMs()
      const due = await services.files.leaseOpenBatches({ owner, nowMs, leaseMs, limit: batchesAtOnce })
      await Promise.all(due.map(record => refresh(services, { owner, pollMs, report, doubt }, record)))
      dueCount = due.length
    }
  }
  const timer = setInterval(() => {
    search = search.then(readOpen).catch(error => {
      doubt()
      report('open batches cannot be looked for', error)
    })
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

interface Lease extends BatchWatch {
  readonly owner: string
  /** It may not be given back. */
  doubt(): void
}

async function refresh(services: Services, lease: Lease, record: FileRecord): Promise<void> {
  const { owner, pollMs, report, doubt } = lease
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
  await services.files.releaseBatch(record.id, { owner, dueAtMs }).catch(doubt)
}
