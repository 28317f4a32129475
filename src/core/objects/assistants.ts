/**
 * Assistants, threads, messages, runs and steps as they are stored. Implemented by `store/objects/assistants.ts`; the
 * watch of runs by `pipeline/background/run-watch.ts`.
 */

/** `message` and `run` belong to a thread, `step` to a run. */
export type AssistantKind = 'assistant' | 'thread' | 'message' | 'run' | 'step'

/** One object of the Assistants dialect, kept for the key that made it. */
export interface AssistantObject {
  /** Made here; the same in all keys, because no other gives ids out. */
  readonly id: string
  readonly kind: AssistantKind
  readonly keyId: string
  /** The thread of a message or a run, the run of a step; null = it has no parent. */
  readonly parentId: string | null
  /** The run that wrote the message; null = none did. */
  readonly runId: string | null
  /** A run that has not ended: its thread takes no other, and no messages but its own. */
  readonly active: boolean
  /** Milliseconds since 1970. A run that is worked on renews it every few seconds. */
  readonly updatedAtMs: number
  /** The public object. */
  readonly body: Readonly<Record<string, unknown>>
  /** Internal fields, never shown to clients. */
  readonly hidden: Readonly<Record<string, unknown>>
}

/** Which objects a list shows, and its page. */
export interface AssistantQuery {
  readonly kind: AssistantKind
  /** null = of every key. */
  readonly keyId: string | null
  readonly parentId?: string
  /** Only the messages of this run. */
  readonly runId?: string
  readonly limit: number
  /** The page ends before what would exceed them, after one object at the earliest; absent = no limit. */
  readonly bytesMax?: number
  /** By the time of creation. */
  readonly order: 'asc' | 'desc'
  /** The id before the page, in this order. */
  readonly after?: string | undefined
  /** The id after the page; only used without `after`. */
  readonly before?: string | undefined
}

/** `bytes` = of the objects, as they are stored. */
export interface AssistantPage {
  readonly objects: AssistantObject[]
  readonly hasMore: boolean
  readonly bytes: number
}

/** The changes to an object; absent = unchanged. */
export interface AssistantChange {
  readonly body?: AssistantObject['body']
  readonly hidden?: AssistantObject['hidden']
  readonly active?: boolean
  readonly updatedAtMs?: number
  /** Other objects, stored in the same step: new ones, or new versions of those that are there. */
  readonly put?: readonly AssistantObject[]
  /**
   * true = a client asks for it: refused where it grows beyond the quota of the key. What a run has made is paid for
   * and kept all the same.
   */
  readonly withinQuota?: true
}

/** Stores assistants, threads and runs. All methods throw `overloaded` when the database is unreachable. */
export interface AssistantStore {
  /** `keyId` null = of every key. */
  find(kind: AssistantKind, id: string, keyId: string | null): Promise<AssistantObject | undefined>
  /** Undefined = `after` or `before` is not one of these objects. */
  list(query: AssistantQuery): Promise<AssistantPage | undefined>
  /** All or none, as `append` and `change` do. All three throw `quota-exceeded` or `too-large` by the key's quota. */
  insert(objects: readonly AssistantObject[]): Promise<void>
  /** Adds to a thread without an active run: all or none. Else returns the active run, or `gone`. */
  append(threadId: string, objects: readonly AssistantObject[]): Promise<'added' | 'gone' | AssistantObject>
  /**
   * Changes an object atomically. `edit` is given its present state and returns undefined to leave it unchanged.
   * Resolves with the changed object; undefined = unchanged, or deleted.
   */
  change(
    id: string,
    edit: (object: AssistantObject) => AssistantChange | undefined,
  ): Promise<AssistantObject | undefined>
  /** Marks active runs as alive. Their status by id; those that have ended or are gone are left out. */
  renew(runIds: readonly string[], nowMs: number): Promise<ReadonlyMap<string, string>>
  /** Deletes it with its children. true = it existed. */
  delete(id: string): Promise<boolean>
}

/** Which runs of assistants are worked on, by this process or another one. */
export interface RunWatch {
  /** This process works on the run until `release`. */
  hold(runId: string): HeldRun
  /** The process that worked on the run has ended: the run is queued or in progress, and never will be continued. */
  isAbandoned(run: Pick<AssistantObject, 'id' | 'updatedAtMs'>): Promise<boolean>
}

/** A run that this process works on. */
export interface HeldRun {
  /**
   * From now on the stored run is renewed every second. `ended` is called when it was cancelled or deleted, and at
   * `expiresAtMs` (milliseconds since 1970).
   */
  renew(until: { readonly expiresAtMs: number; ended(reason: 'cancelled' | 'expired'): void }): void
  release(): void
}
