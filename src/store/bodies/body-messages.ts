/** The messages between the main thread and the thread that stores bodies. */
import type { BodyLoss, CallBodies } from '../../core/ledger/stored-bodies.ts'
import type { OpenedFile } from '../../platform/sqlite-file-guard.ts'
import type { WriteTurns } from '../database/write-turns.ts'
import type { SharedPriority } from '../../platform/thread-priority.ts'

/** Where bodies go, and the keys for them as the environment gives them. */
export interface BodyWriterSettings {
  readonly databaseUrl: string
  /** The SQLite file that the main thread has open. */
  readonly openedFile?: OpenedFile | undefined
  readonly dataDirectory: string
  /** The variables that give keys (`store/keys/encryption-keys.ts`). */
  readonly environment: Readonly<Record<string, string>>
}

/** With what the thread starts. */
export interface BodyThreadSettings extends BodyWriterSettings {
  readonly priority: SharedPriority
  /** Of the threads that write to the SQLite file. */
  readonly turns: WriteTurns
}

/** What the main thread asks for. */
export type BodyRequest =
  | { readonly kind: 'open'; readonly settings: BodyThreadSettings }
  /** `held` = the room that is given back when it is stored or lost. */
  | { readonly kind: 'keep'; readonly bodies: CallBodies; readonly held: number; readonly storedBytesMax: number }
  /** Answered when everything before it is stored or lost. */
  | { readonly kind: 'flush'; readonly id: number }
  /** Deletes what is older than `firstDay` (since 1970, UTC), and the oldest beyond the bound. Answered when done. */
  | { readonly kind: 'maintain'; readonly id: number; readonly firstDay: number; readonly storedBytesMax: number }

/** What the thread answers. */
export type BodyReply =
  | { readonly kind: 'stored'; readonly bodies: number; readonly held: number }
  | { readonly kind: 'lost'; readonly bodies: number; readonly held: number; readonly why: BodyLoss }
  | { readonly kind: 'done'; readonly id: number }
  | { readonly kind: 'problem'; readonly text: string }
