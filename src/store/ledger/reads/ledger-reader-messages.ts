/** The messages between the main thread and the threads that read the ledger. */
import type { OpenedFile } from '../../../platform/sqlite-file-guard.ts'
import type { ReadKind } from './ledger-reads.ts'

/** What is read, and how. */
export interface ReadThreadSettings {
  readonly databaseUrl: string
  /** The SQLite file that the main thread has open. */
  readonly openedFile?: OpenedFile | undefined
  /** true = in the time that nothing else wants, see `idlePriority`. */
  readonly isIdle: boolean
}

/** What the main thread asks for. */
export type ReadRequest =
  | { readonly kind: 'open'; readonly settings: ReadThreadSettings }
  /** `query` = of the kind, see `ReadQuery`. */
  | { readonly kind: 'ask'; readonly id: number; readonly of: ReadKind; readonly query: unknown }
  /** The connection is closed, and the thread ends. */
  | { readonly kind: 'close' }

/** Each question is answered once. */
export type ReadReply =
  /** `answer` = of its kind, see `ReadAnswer`. */
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly error: string }
