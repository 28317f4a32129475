/** Interfaces implemented by `store`, `pipeline` and `telemetry`, connected in `app/`. */
import type { BatchAmount } from './tenancy/budget-charge.ts'
import type { StoredAmount } from './tenancy/limits.ts'
import type { HttpRequest } from './request.ts'
import type { Caller, VirtualKey } from './caller.ts'
import type { Deployment } from './deployment.ts'
import type { Settings } from './settings.ts'

/** A key as administrators see it. Timestamps are milliseconds since 1970. */
export interface KeyRecord extends VirtualKey {
  /** HMAC-SHA256 of the key under the installation's pepper, lower-case hex. The key itself is not stored. */
  readonly hash: string
  /** `sk-...` and the last four characters. */
  readonly hint: string
  /** Grows with every change; a change may name the version that it was made for. */
  readonly version: number
  readonly createdAtMs: number
  /** Id of the key that made it, or `cli`. */
  readonly createdBy: string
  readonly updatedAtMs: number
  readonly updatedBy: string
}

/** Which keys a list shows, and its page: newest first, from `offset`, or after the last key of the page before. */
export interface KeyQuery {
  readonly userId?: string | undefined
  readonly teamId?: string | undefined
  readonly organizationId?: string | undefined
  readonly alias?: string | undefined
  readonly hash?: string | undefined
  /** Only this key. */
  readonly id?: string | undefined
  /** Deleted keys instead of those that exist. */
  readonly deleted?: boolean | undefined
  /** Only keys of this user, of these teams or of these organizations: what a caller may see. */
  readonly visible?:
    | {
        readonly userId: string | null
        readonly teamIds: readonly string[]
        readonly organizationIds: readonly string[]
      }
    | undefined
  readonly limit: number
  readonly offset: number
  readonly after?: { readonly createdAtMs: number; readonly id: string } | undefined
}

/** The fields of a key that can change; absent = unchanged. A new `hash` and `hint` give it another text. */
export type KeyChanges = Partial<
  Omit<KeyRecord, 'id' | 'version' | 'createdAtMs' | 'createdBy' | 'updatedAtMs' | 'updatedBy'>
>

/** Reads keys; `TenancyStore` changes them. All methods throw `overloaded` when the database is unreachable. */
export interface KeyStore {
  /** By hash, id or alias. */
  find(by: { hash: string } | { id: string } | { alias: string }): Promise<KeyRecord | undefined>
  /** Those of these ids that there are, in any order, by one question. */
  findAll(ids: readonly string[]): Promise<KeyRecord[]>
  list(query: KeyQuery): Promise<{ keys: KeyRecord[]; total: number }>
}

/**
 * Finds callers. Synchronous when cached; what is asked of the database may reject with `overloaded`. Every change of
 * what a caller is made of is seen within a second, also by other replicas.
 */
export interface KeyDirectory {
  /** By the text of a key. */
  lookup(keyText: string): Caller | undefined | Promise<Caller | undefined>
  /** A user without a key, in a team where one is named; undefined = there is no such user. */
  lookupUser(userId: string, teamId?: string): Caller | undefined | Promise<Caller | undefined>
  /** A service account without a key; undefined = there is no such team. */
  lookupServiceAccount(name: string, teamId: string): Caller | undefined | Promise<Caller | undefined>
  /** By the secret of a session's cookie, with `session` set. */
  lookupSession(secret: string): Caller | undefined | Promise<Caller | undefined>
}

/** Resolves the names of models, under one set of settings. */
export interface ModelDirectory {
  readonly settings: Settings
  /** Public names without patterns, in order of the configuration, aliases last. */
  names(): readonly string[]
  /** Patterns such as `vendor/*`. */
  wildcardNames(): readonly string[]
  /**
   * The deployments behind a name, alias, deployment id or pattern; empty = no such model. Blocked ones are among them
   * only where all are.
   */
  resolve(name: string): readonly Deployment[]
  /** By its id. */
  isBlocked(deploymentId: string): boolean
  /** What a deployment of a model of the catalogue would be, for questions about it; never to be called. */
  readonly catalogued: (name: string) => Deployment | undefined
}

/** The configuration in use. A reload replaces both at once; the values themselves never change. */
export interface CurrentConfiguration {
  readonly settings: Settings
  readonly models: ModelDirectory
}

/** One answer of the Responses dialect, kept for the key that asked for it. */
export interface StoredResponse {
  readonly id: string
  readonly keyId: string
  /** The response it continues; null = it began a conversation. */
  readonly previousId: string | null
  /** The deployment that answered; null = not known (yet). */
  readonly deploymentId: string | null
  /** `queued`, `in_progress`, `completed`, `incomplete`, `failed` or `cancelled`. */
  readonly status: string
  /** Runs, or ran, without a client that waits. */
  readonly background: boolean
  /** The items of this call alone, each with an id. */
  readonly input: readonly Record<string, unknown>[]
  /** The Response object. */
  readonly response: Record<string, unknown>
  /** Milliseconds since 1970. A run in the background renews it every few seconds. */
  readonly updatedAtMs: number
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

/** A stored response to be shown: without its input, and not parsed. */
export interface StoredAnswer extends Pick<StoredResponse, 'status' | 'background' | 'updatedAtMs'> {
  /** The Response object as JSON. */
  readonly json: string
}

/** One item of a stored response's output. */
export interface StoredItem {
  readonly item: Record<string, unknown>
  readonly deploymentId: string | null
}

/** Lists of stored objects have pages of at most so many bytes, or of one object: reading one holds up little else. */
export const pageBytesMax = 4 * 1024 * 1024

/** Takes memory for bytes that are about to be used. Throws `overloaded` when there is none. */
export type HoldBytes = (bytes: number) => void

/**
 * Responses by key: those of another key are never returned. All methods but `save` throw `overloaded` when the
 * database is unreachable.
 */
export interface ResponseStore {
  /**
   * Throws `quota-exceeded` when the key has no room for another response. Asks the database only for a key that `save`
   * had no room for, so that answers do not depend on it.
   */
  admit(keyId: string): Promise<void>
  /**
   * `failed` = it could not be kept (the problem has been reported), `no-room` = it is beyond the key's quota; the
   * answer itself is not affected.
   */
  save(record: StoredResponse): Promise<'saved' | 'failed' | 'no-room'>
  /** `hold` as in `conversation`. */
  find(keyId: string, id: string, hold?: HoldBytes): Promise<StoredResponse | undefined>
  /** The same to be shown: however large it is, reading it holds up little else. */
  answer(keyId: string, id: string, hold?: HoldBytes): Promise<StoredAnswer | undefined>
  /** Its input alone, likewise. */
  input(keyId: string, id: string, hold?: HoldBytes): Promise<StoredResponse['input'] | undefined>
  /**
   * A response and those it continues, oldest first; undefined = the conversation is not here as a whole.
   * Throws `too-large` when it has more than `bytesMax` bytes or a thousand turns. `hold` is told their bytes before
   * they are read, and may throw.
   */
  conversation(keyId: string, id: string, bytesMax: number, hold?: HoldBytes): Promise<StoredResponse[] | undefined>
  /** Output items by their ids, and the deployment that made each; what is not found is missing in the map. */
  items(keyId: string, ids: readonly string[]): Promise<Map<string, StoredItem>>
  delete(keyId: string, id: string): Promise<boolean>
  /** Replaces the record if it is still queued or in progress. false = it was cancelled or deleted meanwhile. */
  finish(record: StoredResponse): Promise<boolean>
  /** Marks a running response as alive and in progress. false = it was cancelled or deleted meanwhile. */
  renew(keyId: string, id: string, nowMs: number): Promise<boolean>
}

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
  isAbandoned(run: Pick<AssistantObject, 'id' | 'updatedAtMs'>): boolean
}

/** A run that this process works on. */
export interface HeldRun {
  /**
   * From now on the stored run is renewed every second. `ended` is called when it was cancelled or deleted, or, with
   * true, at `expiresAtMs` (milliseconds since 1970).
   */
  renew(until: { readonly expiresAtMs: number; ended(expired: boolean): void }): void
  release(): void
}

/** The two kinds of objects that upstreams store. */
export type FileKind = 'file' | 'batch'

/** On whose behalf a file was sent or a batch started, as the caller was then: keys change and tokens name teams. */
export interface FileOwner {
  readonly keyAlias: string | null
  readonly userId: string | null
  readonly teamId: string | null
  readonly organizationId: string | null
  /** Of the call, its key and its team. */
  readonly tags: readonly string[]
  /** The derivations of the key that it was sent with; nano-dollars. */
  readonly derived: readonly { readonly id: string; readonly endMs: number; readonly maxNanoUsd: string }[]
}

/** A file or a batch that an upstream stores, under the id that clients use. */
export interface FileRecord {
  /** `file-...` or `batch_...`, made here. */
  readonly id: string
  readonly kind: FileKind
  readonly keyId: string
  readonly deploymentId: string
  /** Never shown. */
  readonly upstreamId: string
  /** Of a file; empty for a batch. */
  readonly purpose: string
  /** Of a file; empty for a batch. */
  readonly filename: string
  /** Of a file, as the upstream counts it; 0 for a batch. */
  readonly bytes: number
  /** The public models that a batch, or its input file, calls. */
  readonly models: readonly string[]
  /** Milliseconds since 1970. */
  readonly createdAtMs: number
  /** As clients saw it last. */
  readonly body: Readonly<Record<string, unknown>>
  /** Of a batch: its end is in the ledger. */
  readonly recorded: boolean
  /** null = stored by a version that did not keep it. */
  readonly owner: FileOwner | null
  /** Of an input file of batches: what its requests can cost, by public model; absent = it was not worked out. */
  readonly bounds?: Readonly<Record<string, RequestsBound>>
  /** Of a batch: what it has reserved, which is given back when it is settled; absent = nothing. */
  readonly reserved?: readonly BatchAmount[]
}

/** What the requests of one model in an input file can cost together. */
export interface RequestsBound {
  readonly requests: number
  /** Nano-dollars as decimal text; null = not known: a price is missing, or one does not tell how much it asks for. */
  readonly nanoUsd: string | null
}

/** Which files or batches a list shows, and its page. */
export interface FileQuery {
  readonly kind: FileKind
  /** null = of every key. */
  readonly keyId: string | null
  readonly purpose?: string | undefined
  readonly limit: number
  /** By the time of creation. */
  readonly order: 'asc' | 'desc'
  /** The id before the page, in this order. */
  readonly after?: string | undefined
}

/** A page of at most `pageBytesMax`, or of one object. */
export interface FilePage {
  readonly records: readonly FileRecord[]
  readonly hasMore: boolean
  /** What was read of the database. */
  readonly bytes: number
}

/** A batch that its upstream knows. */
export interface BegunBatch {
  readonly record: FileRecord
  /** Came back from a record that was given up. */
  readonly returned: readonly StoredAmount[]
}

/** The right to poll and settle a batch, for a while. All times are milliseconds since 1970. */
export interface BatchLease {
  /** Any text of at most 255 characters that no other worker uses, in no replica. */
  readonly owner: string
  readonly nowMs: number
  /** More than the work takes, and more than clocks of replicas differ: a lease that is over can be taken by others. */
  readonly leaseMs: number
}

/** Stores which upstream has which file or batch. All methods throw `overloaded` when the database is unreachable. */
export interface FileStore {
  /** `keyId` null = of every key. */
  find(kind: FileKind, id: string, keyId: string | null): Promise<FileRecord | undefined>
  findUpstream(of: Pick<FileRecord, 'kind' | 'keyId' | 'deploymentId' | 'upstreamId'>): Promise<FileRecord | undefined>
  /** Throws `quota-exceeded` when the key has no room for another file or batch: asked before one is sent. */
  admit(keyId: string): Promise<void>
  /**
   * Resolves with the stored record: an object that the key already has under another id keeps that id. `withinQuota` =
   * throws `quota-exceeded` or `too-large` by the key's quota.
   */
  put(record: FileRecord, options?: { readonly withinQuota: boolean }): Promise<FileRecord>
  /** true = it was changed. false = it was deleted. */
  update(id: string, changes: Partial<Pick<FileRecord, 'body' | 'bytes'>>): Promise<boolean>
  /**
   * Stores a batch before its upstream hears of it, with the id that it has here in place of the upstream's, and what
   * it reserves as spent; the lease of the caller keeps others from looking for it. Throws as `put` with `withinQuota`.
   */
  beginBatch(record: FileRecord, lease: BatchLease): Promise<void>
  /**
   * The upstream has begun the batch under this id. Resolves with the record: another one, where that has the id
   * already, and this one is given up then; undefined = it is gone.
   */
  batchBegun(id: string, upstreamId: string): Promise<BegunBatch | undefined>
  /** The upstream has no such batch: its record goes, and what it had reserved comes back. */
  giveUpBatch(id: string): Promise<readonly StoredAmount[]>
  /**
   * The end of the batch is in the ledger: what it had reserved comes back. Of several callers that saw the same end
   * exactly one gets it; undefined = another one did, or the batch is gone.
   */
  batchSettled(id: string, body: FileRecord['body']): Promise<readonly StoredAmount[] | undefined>
  /**
   * Takes the batches that are due: not recorded, not leased by a live owner, and not put off by `releaseBatch`;
   * longest overdue first. No batch is given to two live owners, however many replicas ask at once.
   */
  leaseOpenBatches(lease: BatchLease & { readonly limit: number }): Promise<FileRecord[]>
  /**
   * Takes, or renews, the lease of one batch, due or not: to be held while its end is settled, so that one caller does.
   * false = another live owner has it, it is recorded, or it is gone.
   */
  leaseBatch(id: string, lease: BatchLease): Promise<boolean>
  /**
   * Ends the lease; `leaseOpenBatches` passes the batch over until `dueAtMs`. false = it was not this owner's any more.
   */
  releaseBatch(id: string, release: { readonly owner: string; readonly dueAtMs: number }): Promise<boolean>
  /** Undefined = `after` is not one of these. */
  list(query: FileQuery): Promise<FilePage | undefined>
  /** true = it existed. */
  delete(id: string): Promise<boolean>
}

/** Milliseconds without a renewal after which stored work counts as abandoned: its process has ended. */
export const abandonedAfterMs = 60_000

/** Work that continues after its request was answered. */
export interface DetachedRuns {
  /**
   * `work` must not reject; `signal` aborts on `cancel` and when the program stops. Throws `rate-limited` when the key
   * has its share of the places, `overloaded` when none is free, and `conflict` when a run of this id goes on.
   */
  start(run: { readonly id: string; readonly keyId: string }, work: (signal: AbortSignal) => Promise<void>): void
  /** Nothing happens when no such run is in this process. */
  cancel(id: string): void
}

/** Whether the pages for people can be served, and why not. */
export type PagesState =
  | { readonly state: 'ready' | 'making' | 'absent' }
  | { readonly state: 'failed'; readonly why: string }

/** The built pages. `html` and `file` may only be asked once the state is `ready`. */
export interface WebPages {
  state(): PagesState
  /** The page at `path` below `/ui/`, whose relative addresses start from `base`. */
  html(base: string, path: string): string
  /** Bytes that never change with their headers, compressed where the client takes it; undefined = no such file. */
  file(
    name: string,
    request: Pick<HttpRequest, 'headers'>,
  ): { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> } | undefined
}
