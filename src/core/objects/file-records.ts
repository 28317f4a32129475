/** Records of files and batches, which upstreams store. Implemented by `store/objects/files.ts`. */
import type { BatchAmount } from '../tenancy/budget-charge.ts'
import type { StoredAmount } from '../tenancy/limits.ts'

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
  /** Nano-dollars as decimal text; null = not known: a price is missing, or how much a request asks for. */
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
   * Stores a batch before it is sent to its upstream, with the id that it has here in place of the upstream's, and what
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
   * The end of the batch is in the ledger, and what it had reserved is back with it. Of several callers that saw the
   * same end exactly one gets true; false = another one did, or the batch is gone.
   */
  batchSettled(id: string, body: FileRecord['body']): Promise<boolean>
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
  /** Ends every lease of an owner that works on no batch: these are due. */
  releaseBatches(owner: string): Promise<void>
  /** Undefined = `after` is not one of these. */
  list(query: FileQuery): Promise<FilePage | undefined>
  /** true = it existed. */
  delete(id: string): Promise<boolean>
}
