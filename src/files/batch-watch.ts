/** Reads open batches from their upstreams periodically, so that each is settled also when no client asks for it. */
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
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
/** While the database is away it is asked so often whether it is back: an end has to come into the ledger soon then. */
const retryMsDefault = 1000
/** A batch whose end could not be stored is requested again after this time, however old it is. */
const unstoredPauseMs = 5000
/** The interval for one batch grows with its age up to this: batches run for hours. */
const pauseMsMax = 15 * 60_000

const noClient: Client = { clientAddress: '', left: false, onLeft: () => {} }

/** How often open batches are read, and what is called on failures. */
interface BatchWatch {
  /** Interval of the search for open batches, and the shortest interval for one batch. */
  readonly pollMs: number
  /** Of a test that cannot wait as long. */
  readonly retryMs?: number
  report(problem: string, error: unknown): void
}

/**
 * Runs until `stop`, which resolves when no request is open. A lease lets one replica at a time ask for a batch.
 */
export function watchBatches(services: Services, watch: BatchWatch): { stop(): Promise<void> } {
  const { pollMs, report, retryMs = retryMsDefault } = watch
  const owner = crypto.randomUUID()
  let stopped = false
  let isFailing = false
  let search = Promise.resolve()
  let retry: ReturnType<typeof setTimeout> | undefined
  let doubtUntilMs = -Infinity
  const doubt = () => void (doubtUntilMs = services.clock.monotonicMs() + doubtMs)
  const lookAgain = (afterMs: number) => {
    if (stopped) return
    retry ??= setTimeout(() => {
      retry = undefined
      look()
    }, afterMs)
    retry.unref()
  }
  const readOpen = async (): Promise<void> => {
    // Taken without an answer, or not given back, while the database was away: others would wait for minutes.
    if (services.clock.monotonicMs() < doubtUntilMs) await services.files.releaseBatches(owner)
    for (let dueCount = batchesAtOnce; dueCount === batchesAtOnce && !stopped; ) {
      const nowMs = services.clock.epochMs()
      const due = await services.files.leaseOpenBatches({ owner, nowMs, leaseMs, limit: batchesAtOnce })
      await Promise.all(due.map(record => refresh(services, { ...watch, owner, doubt, lookAgain }, record)))
      isFailing = false
      dueCount = due.length
    }
  }
  const look = () => {
    search = search.then(readOpen).catch(error => {
      doubt()
      if (!isFailing) report('open batches cannot be looked for', error)
      isFailing = true
      lookAgain(retryMs)
    })
  }
  const timer = setInterval(look, pollMs)
  timer.unref()
  return {
    stop() {
      stopped = true
      clearInterval(timer)
      clearTimeout(retry)
      return search
    },
  }
}

interface Lease extends BatchWatch {
  readonly owner: string
  /** Called when the lease may not have been released in the database. */
  doubt(): void
  /** Open batches are looked for once more, not at the next interval. */
  lookAgain(afterMs: number): void
}

async function refresh(services: Services, lease: Lease, record: FileRecord): Promise<void> {
  const { owner, pollMs, report, doubt, lookAgain } = lease
  let isUnstored = false
  try {
    const how = { totalMs: requestTimeoutMs, leasedBy: owner }
    const body = isIntent(record)
      ? await lookForBatch(services, noClient, record, how)
      : await askForBatch(services, { request: noClient, record, ...how })
    if (!body || hasEnded(body)) return
  } catch (error) {
    report(`the batch ${record.id} cannot be asked for`, error)
    // Of the gateway's own stores: an upstream has other words.
    isUnstored = error instanceof GatewayError && error.kind === 'overloaded'
  }
  const ageMs = services.clock.epochMs() - record.createdAtMs
  const pauseMs = isUnstored ? unstoredPauseMs : Math.max(pollMs, Math.min(ageMs / 10, pauseMsMax))
  if (isUnstored) lookAgain(unstoredPauseMs)
  const dueAtMs = services.clock.epochMs() + pauseMs
  await services.files.releaseBatch(record.id, { owner, dueAtMs }).catch(doubt)
}
