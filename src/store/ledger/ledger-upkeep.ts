/** Work on the ledger beside storing rows, in small steps while no rows wait: pending sums, and what is too old. */
import type { LedgerRetention } from '../../core/usage-report.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import { keepPartitions, sweptTables } from './ledger-partitions.ts'
import { deleteOldRows, deleteOldSums } from './ledger-retention.ts'
import { dayOf, pendingDay, rebuildRollup } from './rollup-check.ts'
import type { ThrottledReport } from './throttled-report.ts'

/** How long the thread rests after everything is done, and after a failure. */
export const upkeepEveryMs = 600_000

/** One per ledger's worker. Steps of several replicas do each other no harm. */
export class LedgerUpkeep {
  readonly #connect: () => Promise<LedgerDatabase>
  readonly #nowMs: () => number
  readonly #failures: ThrottledReport
  readonly #epochMs: () => number
  #dueMs = 0
  #retention: LedgerRetention = { rowsMs: null, sumsMs: null }

  constructor(parts: {
    readonly connect: () => Promise<LedgerDatabase>
    readonly nowMs: () => number
    readonly epochMs: () => number
    readonly failures: ThrottledReport
  }) {
    this.#connect = parts.connect
    this.#nowMs = parts.nowMs
    this.#epochMs = parts.epochMs
    this.#failures = parts.failures
  }

  /** What is too old is deleted from the next step on, which is due now. */
  keep(retention: LedgerRetention): void {
    this.#retention = retention
    this.#dueMs = 0
  }

  /** Does a step if one is due. true = another is due at once. */
  async step(): Promise<boolean> {
    if (this.#nowMs() < this.#dueMs) return false
    let more = false
    try {
      more = await this.#next(await this.#connect())
      this.#failures.succeeded()
    } catch (error) {
      this.#failures.failed(error)
    }
    if (!more) this.#dueMs = this.#nowMs() + upkeepEveryMs
    return more
  }

  async #next(database: LedgerDatabase): Promise<boolean> {
    const day = await pendingDay(database)
    if (day !== undefined) {
      await rebuildRollup(database, day)
      return true
    }
    const { rowsMs, sumsMs } = this.#retention
    if (rowsMs !== null && (await this.#keepRows(database, this.#firstDay(rowsMs)))) return true
    return sumsMs !== null && (await deleteOldSums(database, this.#firstDay(sumsMs)))
  }

  /** On Postgres most rows go with their partitions. */
  async #keepRows(database: LedgerDatabase, firstDay: number): Promise<boolean> {
    const { sql } = database
    if (sql && (await keepPartitions(sql, { today: dayOf(this.#epochMs()), firstDay }))) return true
    for (const table of await sweptTables(sql)) if (await deleteOldRows(database, firstDay, table)) return true
    return false
  }

  /** The first day that is kept whole. */
  #firstDay(keptMs: number): number {
    return dayOf(this.#epochMs() - keptMs)
  }
}
