/** Work on the ledger beside storing rows, in small steps while no rows wait: who spent most, and what is too old. */
import type { LedgerRetention } from '../../core/ledger/usage-report.ts'
import { StepPace } from '../../lib/step-pace.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import { keepPartitions, sweptTables } from './ledger-partitions.ts'
import { deleteOldRows, deleteOldSums, foldLatency } from './ledger-retention.ts'
import type { DeletedStep } from './ledger-retention.ts'
import { foldSums } from './sums/fold-sums.ts'
import { dayToRank, storeRanking } from './sums/rollup-top.ts'
import type { DayRanking } from './sums/rollup-top.ts'
import { dayOf } from './sums/rollup-check.ts'
import type { ThrottledReport } from './throttled-report.ts'
import { dayMs } from '../../lib/clock.ts'

/** How long the thread rests after everything is done, and after a failure. */
export const maintenanceIntervalMs = 600_000

/**
 * Of deletions. The only write lock of SQLite is taken for some milliseconds in each tenth of a second, and calls have
 * the processor and the disk in between: a thousand rows a second and more. A commit alone takes some milliseconds, so
 * that fewer rows than the least would hardly be quicker. Postgres locks rows alone, and a server far away is slow to
 * answer: there steps are larger.
 */
const paces = {
  sqlite: { targetMs: 10, itemsMin: 50, itemsMax: 500, restTimes: 8 },
  postgres: { targetMs: 50, itemsMin: 200, itemsMax: 1000, restTimes: 2 },
} as const
/** How long calls took is kept by hour for so long, and then by day. Those of today and yesterday are always there. */
const latencyHoursMs = 3 * dayMs
/** How often is looked whether a day is chosen. */
const rankingPollMs = 100
/** However slow the disk is, old rows go: a hundred a second at least. */
const restMsMax = 500

/** One per ledger's worker. Steps of several replicas do each other no harm. */
export class LedgerMaintenance {
  readonly #connect: () => Promise<LedgerDatabase>
  readonly #nowMs: () => number
  readonly #failures: ThrottledReport
  readonly #epochMs: () => number
  #pace: StepPace | undefined
  /** Days without many sums, see `dayToRank`. */
  readonly #smallDays = new Set<number>()
  /** The day for which is being chosen; then what was, or null where it could not be read. */
  #chosen: { readonly day: number; readonly nowMs: number; ranking?: DayRanking | null } | undefined
  #dueMs = 0
  /** The next step is due after a rest, and not after `upkeepEveryMs`. */
  #isMore = false
  #retention: LedgerRetention = { rowsMs: null, sumsMs: null }

  readonly #askForRanking: (day: number) => void

  constructor(parts: {
    readonly connect: () => Promise<LedgerDatabase>
    /** Answered by `ranked`. */
    readonly askForRanking: (day: number) => void
    readonly nowMs: () => number
    readonly epochMs: () => number
    readonly failures: ThrottledReport
  }) {
    this.#connect = parts.connect
    this.#askForRanking = parts.askForRanking
    this.#nowMs = parts.nowMs
    this.#epochMs = parts.epochMs
    this.#failures = parts.failures
  }

  /** What is too old is deleted from the next step on, which is due now. */
  keep(retention: LedgerRetention): void {
    this.#retention = retention
    this.#dueMs = 0
  }

  /** The answer of `askForRanking`; undefined = it could not be read, and is requested again after `upkeepEveryMs`. */
  ranked(day: number, ranking: DayRanking | undefined): void {
    if (this.#chosen?.day === day) this.#chosen.ranking = ranking ?? null
  }

  /**
   * Does a step if one is due. Returns in how many milliseconds the next one is; undefined = everything is done for a
   * while.
   */
  async step(): Promise<number | undefined> {
    const fromMs = this.#nowMs()
    if (fromMs < this.#dueMs) return this.#isMore ? this.#dueMs - fromMs : undefined
    const retention = this.#retention
    let restMs: number | undefined
    try {
      restMs = await this.#next(await this.#connect())
      this.#failures.succeeded()
    } catch (error) {
      this.#failures.failed(error)
    }
    if (restMs === undefined && this.#retention !== retention) restMs = 0
    this.#isMore = restMs !== undefined
    this.#dueMs = this.#nowMs() + (restMs ?? maintenanceIntervalMs)
    return restMs
  }

  async #next(database: LedgerDatabase): Promise<number | undefined> {
    const { rowsMs, sumsMs } = this.#retention
    await foldSums(database)
    const pace = (this.#pace ??= new StepPace(paces[database.kind]))
    const fromMs = this.#nowMs()
    const isMore =
      (rowsMs !== null && (await this.#keepRows(database, { firstDay: this.#firstDay(rowsMs), rows: pace.items }))) ||
      (sumsMs !== null && (await deleteOldSums(database, { firstDay: this.#firstDay(sumsMs), rows: pace.items }))) ||
      (await foldLatency(database, this.#firstDay(latencyHoursMs)))
    if (isMore) return Math.min(restMsMax, pace.took(this.#nowMs() - fromMs))
    const ranking = await this.#rank(database)
    if (ranking === 'stored') return this.#nowMs() - fromMs
    return ranking === 'waits' ? rankingPollMs : undefined
  }

  /** Chosen in another thread, which takes some tenths of a second for a day. */
  async #rank(database: LedgerDatabase): Promise<'stored' | 'waits' | 'none'> {
    const chosen = this.#chosen
    if (chosen) {
      if (chosen.ranking === undefined) return 'waits'
      this.#chosen = undefined
      if (chosen.ranking === null) throw new Error(`the sums of day ${chosen.day} could not be read`)
      await storeRanking(database, chosen, chosen.ranking)
      return 'stored'
    }
    const nowMs = this.#epochMs()
    const day = await dayToRank(database, nowMs, this.#smallDays)
    if (day === undefined) return 'none'
    this.#chosen = { day, nowMs }
    this.#askForRanking(day)
    return 'waits'
  }

  /** On Postgres most rows go with their partitions. */
  async #keepRows(database: LedgerDatabase, step: DeletedStep): Promise<boolean> {
    const { sql } = database
    if (sql && (await keepPartitions(sql, { today: dayOf(this.#epochMs()), firstDay: step.firstDay }))) return true
    for (const table of await sweptTables(sql)) if (await deleteOldRows(database, { ...step, table })) return true
    return false
  }

  /** The first day that is kept whole. */
  #firstDay(keptMs: number): number {
    return dayOf(this.#epochMs() - keptMs)
  }
}
