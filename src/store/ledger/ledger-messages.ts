/** The messages between the main thread and the ledger's worker. */
import type { OpenedFile } from '../../platform/sqlite-file-guard.ts'
import type { SharedPriority } from '../../platform/thread-priority.ts'
import type { WriteTurns } from '../database/write-turns.ts'
import type { LedgerRetention } from '../../core/ledger/usage-report.ts'
import type { Backlog } from './journal/journal-backlog.ts'
import type { JournalPosition } from './journal/journal.ts'
import type { DayRanking } from './sums/rollup-top.ts'

/** Where the journal is and where its rows go. */
export interface LedgerWriterSettings {
  readonly databaseUrl: string
  /** The SQLite file that the main thread has open. */
  readonly openedFile?: OpenedFile | undefined
  readonly directory: string
  /** Names this start of this process, see `SegmentName`. */
  readonly start: string
  readonly priority: SharedPriority
  /** Of the threads that write to the SQLite file. */
  readonly turns: WriteTurns
}

/** What the main thread asks for. Rows come by the journal, and by `rows` only while it has no room for them. */
export type LedgerRequest =
  | { readonly kind: 'open'; readonly settings: LedgerWriterSettings }
  | { readonly kind: 'spare'; readonly path: string; readonly bytes: number }
  | { readonly kind: 'flush'; readonly id: number; readonly position: JournalPosition }
  /** Records as they would stand in the journal. */
  | { readonly kind: 'rows'; readonly id: number; readonly texts: readonly string[] }
  /** Of a day that it requested; absent = it could not be read. */
  | { readonly kind: 'ranked'; readonly day: number; readonly ranking: DayRanking | undefined }
  /** Sent at the start and when the settings change. */
  | { readonly kind: 'retention'; readonly retention: LedgerRetention }
  /** The journal has grown since the worker reported that it is idle. */
  | { readonly kind: 'wake' }
  | { readonly kind: 'close' }

/** What the worker sends: answers by id, and changes of its state. */
export type LedgerReply =
  | { readonly kind: 'spare'; readonly path: string; readonly error: string | null }
  /** `committed: false` = the database is down. */
  | { readonly kind: 'flushed'; readonly id: number; readonly committed: boolean }
  /** `stored: false` = the database is down: the sender keeps the records. */
  | { readonly kind: 'stored'; readonly id: number; readonly stored: boolean }
  /** Every row before it is in the database. Sent four times a second under load, and when there is no more work. */
  | {
      readonly kind: 'committed'
      readonly position: JournalPosition
      /** So many records stand before it in this process's journal. */
      readonly records: number
      /** What stands behind it was written after this moment, milliseconds since 1970. */
      readonly sinceMs: number
    }
  /** What earlier processes left and is not stored yet. Sent four times a second, and when all of it is stored. */
  | { readonly kind: 'earlier'; readonly backlog: Backlog }
  /** Segments of a journal are missing, or records are damaged: so much more is lost for good. */
  | { readonly kind: 'lost'; readonly segments: number; readonly records: number }
  /** Everything before it is in the database; the worker reads on when it is woken. */
  | { readonly kind: 'idle'; readonly position: JournalPosition }
  /** A thread that reads is to choose whose sums of a day are shown. */
  | { readonly kind: 'rank'; readonly day: number }
  | { readonly kind: 'problem'; readonly text: string }
  /** Why the database does not take rows; null = it does. Sent when it changes. */
  | { readonly kind: 'database'; readonly failure: string | null }
  /** `complete: false` = files of the journal are left for the next start. */
  | { readonly kind: 'closed'; readonly complete: boolean }
