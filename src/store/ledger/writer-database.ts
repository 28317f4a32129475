/** The database as the ledger's writer uses it: opened when it is needed, closed after a failure, asked to sync. */
import type { RefusedRowFile } from './journal/refused-rows.ts'
import type { ColumnValue } from './journal/ledger-record.ts'
import { openLedgerDatabase, RefusedRows } from './ledger-database.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import type { LedgerWriterSettings } from './ledger-messages.ts'
import { foldSums } from './sums/fold-sums.ts'
import type { ThrottledReport } from './throttled-report.ts'

type Row = readonly ColumnValue[]

interface WriterDatabaseOptions extends Pick<LedgerWriterSettings, 'databaseUrl' | 'openedFile'> {
  /** Keeps the rows that the database does not take. */
  readonly refused: RefusedRowFile
  /** Failures to sync. */
  readonly syncFailures: ThrottledReport
  /** Failures to move pending sums. */
  readonly foldFailures: ThrottledReport
  /** Called when the reason changes why the database takes no rows; null = it does. */
  reportFailure(failure: string | null): void
}

/** How long sums of many keys wait at most, so that each is changed once for the calls of that time. */
const foldEveryMs = 1000

/** One connection at a time. */
export class WriterDatabase {
  readonly #options: WriterDatabaseOptions
  #database: Promise<LedgerDatabase> | undefined
  #failure: string | null = null
  /** No row was stored since the last sync. */
  #isSynced = true
  /** Sums of stored rows are not yet where reports read them. */
  #hasPendingSums = false
  #foldedMs = 0

  constructor(options: WriterDatabaseOptions) {
    this.#options = options
  }

  /** Why the database takes no rows; null = it does. */
  get failure(): string | null {
    return this.#failure
  }

  connect(): Promise<LedgerDatabase> {
    if (this.#database === undefined) {
      const { databaseUrl, openedFile } = this.#options
      const database = openLedgerDatabase(databaseUrl, openedFile)
      this.#database = database
      database.catch(() => {
        if (this.#database === database) this.#database = undefined
      })
    }
    return this.#database
  }

  /** false = the database is down: `close` comes next, since a broken connection is not used again. */
  async insert(rows: readonly Row[]): Promise<boolean> {
    try {
      await this.#insert(await this.connect(), rows)
      this.#report(null)
      return true
    } catch (error) {
      this.#report(String(error))
      return false
    }
  }

  /** A row that the database refuses must not block the others: the batch is halved until that row is alone. */
  async #insert(database: LedgerDatabase, rows: readonly Row[]): Promise<void> {
    this.#isSynced = false
    try {
      const { hasPendingSums } = await database.insert(rows)
      this.#hasPendingSums ||= hasPendingSums
    } catch (error) {
      if (!(error instanceof RefusedRows)) throw error
      if (rows.length === 1) return this.#options.refused.add(rows[0]!, error)
      const half = rows.length >> 1
      await this.#insert(database, rows.slice(0, half))
      await this.#insert(database, rows.slice(half))
    }
  }

  /** A database that was away may come back as one that cannot be used. */
  #report(failure: string | null): void {
    if (failure === this.#failure) return
    this.#failure = failure
    this.#options.reportFailure(failure)
  }

  /** Before anything is dropped that a loss of power would need: the journal, or records in memory. */
  async isOnDisk(): Promise<boolean> {
    try {
      if (!this.#isSynced) await (await this.connect()).sync()
      this.#isSynced = true
    } catch (error) {
      this.#options.syncFailures.failed(error)
    }
    return this.#isSynced
  }

  /** Sums of stored rows wait to be moved. */
  get hasPendingSums(): boolean {
    return this.#hasPendingSums
  }

  /** Moves pending sums about once a second; `atOnce`: now. */
  async foldSums({ atOnce }: { readonly atOnce: boolean }): Promise<void> {
    const nowMs = performance.now()
    if (!this.#hasPendingSums || (!atOnce && nowMs - this.#foldedMs < foldEveryMs)) return
    this.#foldedMs = nowMs
    try {
      await foldSums(await this.connect())
      this.#hasPendingSums = false
      this.#options.foldFailures.succeeded()
    } catch (error) {
      this.#options.foldFailures.failed(error)
    }
  }

  /** Gives memory back, if a connection is open. */
  async rest(): Promise<void> {
    await this.#database?.then(open => open.rest()).catch(() => {})
  }

  async close(): Promise<void> {
    const database = this.#database
    this.#database = undefined
    await database?.then(open => open.close()).catch(() => {})
  }
}
