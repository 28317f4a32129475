/** Batches end while no client looks: this asks for the open ones from time to time, so that each is settled. */
import type { Services } from '../../core/endpoint.ts'
import type { FileRecord } from '../../core/ports.ts'
import type { Client } from '../../core/request.ts'
import { askForBatch } from './batch-state.ts'
import { hasEnded } from './settle.ts'

/** An upstream that does not answer in this time is asked again later. */
const questionMs = 30_000
/** More than a question and the settlement take. */
const leaseMs = 300_000
const batchesAtOnce = 8
/** A batch runs for hours: the pauses grow with its age, up to this. */
const pauseMsMax = 15 * 60_000

const noClient: Client = { clientAddress: '', left: false, onLeft: () => {} }

/** How often is looked, and what is told of failures. */
interface BatchWatch {
  /** Between two looks, and the least between two questions for the same batch. */
  readonly pollMs: number
  report(problem: string, error: unknown): void
}

/**
 * Looks until it is stopped; `stop` resolves when no question is under way. Of several replicas one asks for a batch.
 */
export function watchBatches(services: Services, { pollMs, report }: BatchWatch): { stop(): Promise<void> } {
  const owner = crypto.randomUUID()
  let stopped = false
  let looking = Promise.resolve()
  const look = async (): Promise<void> => {
    for (let asked = batchesAtOnce; asked === batchesAtOnce && !stopped; ) {
      const nowMs = services.epochMs()
      const due = await services.files.leaseOpenBatches({ owner, nowMs, leaseMs, limit: batchesAtOnce })
      await Promise.all(due.map(record => ask(services, { owner, pollMs, report }, record)))
      asked = due.length
    }
  }
  const timer = setInterval(() => {
    looking = looking.then(look).catch(error => report('open batches cannot be looked for', error))
  }, pollMs)
  timer.unref()
  return {
    stop() {
      stopped = true
      clearInterval(timer)
      return looking
    },
  }
}

async function ask(services: Services, watch: BatchWatch & { owner: string }, record: FileRecord): Promise<void> {
  const { owner, pollMs, report } = watch
  try {
    const body = await askForBatch(services, { request: noClient, record, totalMs: questionMs, leasedBy: owner })
    if (hasEnded(body)) return
  } catch (error) {
    report(`the batch ${record.id} cannot be asked for`, error)
  }
  const ageMs = services.epochMs() - record.createdAtMs
  const dueAtMs = services.epochMs() + Math.max(pollMs, Math.min(ageMs / 10, pauseMsMax))
  await services.files.releaseBatch(record.id, { owner, dueAtMs }).catch(() => false)
}
