/** Files and batches in the database: the gateway's id, the upstream's id, the deployment and the owner of each. */
import type { SQL } from 'bun'
import type { SpendWriter } from '../../core/tenancy/budget-charge.ts'
import { GatewayError } from '../../core/errors.ts'
import { pageBytesMax } from '../../core/objects/object-pages.ts'
import type {
  BatchLease,
  FileKind,
  FilePage,
  FileQuery,
  FileRecord,
  FileStore,
} from '../../core/objects/file-records.ts'
import type { Clock } from '../../lib/clock.ts'
import { answerInTime, toNumber, transactionInTime, unlessSilent } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import type { SharedClock } from '../database/shared-clock.ts'
import { batchRecords } from './batch-records.ts'
import { fileEndMs, findUpstream, toRecord, toRow } from './file-rows.ts'
import type { FileRow } from './file-rows.ts'
import type { StorageGuard } from './storage-guard.ts'

/** Rows of one deletion at most, so that no lock is held for long. */
const deletionBatch = 500
const deletionIntervalMs = 10 * 60_000
/** No lease and no pause of a batch is as long: what is due later was put off by a clock that has gone back since. */
const dueMsMax = 3_600_000

interface FileStoreParts {
  readonly database: Database
  readonly guard: StorageGuard
  /** This process's name in `budget_spend`. */
  readonly writer: SpendWriter
  readonly clock: Clock
  /** That of the database, by which leases are kept; absent = `clock`. */
  readonly sharedClock?: Pick<SharedClock, 'aheadMs'>
  /** Called when old files could not be deleted. */
  report(problem: string): void
}

/** The store, which deletes the records of files that their upstreams keep no more, every ten minutes. */
export interface RunningFileStore extends FileStore {
  /** Deletes them in batches; returns how many there were. */
  deleteExpired(): Promise<number>
  stop(): void
}

/**
 * Over the table `upstream_files`. Every failure of the database is `overloaded`. A text that cannot be an id of the
 * gateway is not found without asking the database. The regular deletion runs until `stop`.
 */
export function createFileStore(parts: FileStoreParts): RunningFileStore {
  const { database, guard, writer, clock, report } = parts
  const { sql } = database
  const shared = (ms: number): number => ms + (parts.sharedClock?.aheadMs ?? 0)
  const inShared = <Lease extends BatchLease>(lease: Lease): Lease => ({ ...lease, nowMs: shared(lease.nowMs) })
  const available = <T>(work: () => Promise<T>): Promise<T> => insisting(unlessSilent(database, work))
  const batches = batchRecords({ database, guard, writer })
  const deleteExpired = () => deleteOld(sql, clock)
  const timer = setInterval(() => {
    deleteExpired().catch(error => report(`old files could not be deleted: ${String(error)}`))
  }, deletionIntervalMs)
  timer.unref()
  return {
    find: (kind, id, keyId) => available(() => findOne(sql, clock, { kind, id, keyId })),
    findUpstream: of => available(() => findUpstream(sql, of)),
    admit: keyId => available(() => guard.admit(keyId)),
    put: (record, options) => insisting(options?.withinQuota ? putWithin(database, guard, record) : put(sql, record)),
    beginBatch: (record, lease) => available(() => batches.begin(record, inShared(lease))),
    batchBegun: (id, upstreamId) => insisting(batches.begun(id, upstreamId)),
    giveUpBatch: id => insisting(batches.giveUp(id)),
    batchSettled: (id, body) => insisting(batches.settled(id, body)),
    update: (id, changes) => available(() => update(sql, id, changes)),
    list: query => available(() => list(sql, clock, query)),
    delete: id => available(() => remove(sql, id)),
    leaseOpenBatches: lease => insisting(leaseOpenBatches(database, inShared(lease))),
    leaseBatch: (id, lease) => insisting(leaseBatch(sql, id, inShared(lease))),
    releaseBatch: (id, { owner, dueAtMs }) => insisting(releaseBatch(sql, id, { owner, dueAtMs: shared(dueAtMs) })),
    releaseBatches: owner => insisting(releaseBatches(sql, owner)),
    deleteExpired,
    stop: () => clearInterval(timer),
  }
}

/**
 * While the database is away files and batches fail; other calls go on. Leases, and records of what an upstream has
 * done already, ask a silent database all the same.
 */
function insisting<T>(work: Promise<T>): Promise<T> {
  return answerInTime(work).catch(cause => {
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError('overloaded', 'files and batches cannot be reached now; try again later', { cause })
  })
}

/** Clients may send bytes as an id that a database refuses; the gateway's ids are words and hyphens. */
function isId(id: string): boolean {
  return /^[\w-]{1,64}$/.test(id)
}

async function findOne(
  sql: SQL,
  clock: Clock,
  { kind, id, keyId }: { kind: FileKind; id: string; keyId: string | null },
): Promise<FileRecord | undefined> {
  if (!isId(id)) return undefined
  const [row] = (await sql`select * from upstream_files where id = ${id} and kind = ${kind}
    and (expires_at_ms is null or expires_at_ms > ${clock.epochMs()})`) as FileRow[]
  return row && (keyId === null || row.key_id === keyId) ? toRecord(row) : undefined
}

async function put(sql: SQL, record: FileRecord): Promise<FileRecord> {
  await sql`
    insert into upstream_files ${sql(toRow(record))}
    on conflict (key_id, kind, deployment_id, upstream_id) do nothing`
  const stored = await findUpstream(sql, record)
  if (!stored) throw new Error('a file was deleted while it was stored')
  return stored
}

function putWithin(database: Database, guard: StorageGuard, record: FileRecord): Promise<FileRecord> {
  return transactionInTime(database, async tx => {
    const stored = await put(tx, record)
    const { body, models, filename } = toRow(record)
    await guard.check(tx, record.keyId, Buffer.byteLength(body + models + filename))
    return stored
  })
}

async function update(sql: SQL, id: string, { body, bytes }: Parameters<FileStore['update']>[1]): Promise<boolean> {
  const changed = (await sql`
    update upstream_files set
      body = coalesce(${body === undefined ? null : JSON.stringify(body)}, body),
      bytes = coalesce(${bytes ?? null}, bytes),
      expires_at_ms = case kind when 'file' then coalesce(${body ? fileEndMs(body) : null}, expires_at_ms) end
    where id = ${id}
    returning id`) as unknown[]
  return changed.length > 0
}

async function list(sql: SQL, clock: Clock, query: FileQuery): Promise<FilePage | undefined> {
  const { kind, keyId, purpose, limit, order, after } = query
  const values: (string | number)[] = []
  const value = (one: string | number) => `$${values.push(one)}`
  const conditions = [`kind = ${value(kind)}`, `(expires_at_ms is null or expires_at_ms > ${value(clock.epochMs())})`]
  if (keyId !== null) conditions.push(`key_id = ${value(keyId)}`)
  // No purpose has such characters, and a database refuses some of them.
  if (purpose !== undefined && !/^[\x20-\x7e]*$/.test(purpose)) return { records: [], hasMore: false, bytes: 0 }
  if (purpose !== undefined) conditions.push(`purpose = ${value(purpose)}`)
  if (after !== undefined) {
    const place = await findOne(sql, clock, { kind, id: after, keyId })
    if (!place) return undefined
    conditions.push(
      `(created_at_ms, id) ${order === 'asc' ? '>' : '<'} (${value(place.createdAtMs)}, ${value(place.id)})`,
    )
  }
  const inOrder = `order by created_at_ms ${order}, id ${order}`
  // The page is chosen by sizes alone. One row more than it says whether there is another.
  const rows = (await sql.unsafe(
    `with page as materialized (
      select id, created_at_ms, octet_length(body) + octet_length(models) + octet_length(filename) as row_bytes
      from upstream_files where ${conditions.join(' and ')} ${inOrder} limit ${value(limit + 1)}
    ), counted as (
      select id, row_bytes, sum(row_bytes) over (${inOrder} rows unbounded preceding) as total,
        count(*) over () as found
      from page
    )
    select one.*, counted.row_bytes, counted.found
    from counted join upstream_files one on one.id = counted.id
    where total <= ${value(pageBytesMax)} or total = row_bytes
    order by one.created_at_ms ${order}, one.id ${order}`,
    values,
  )) as (FileRow & { row_bytes: unknown; found: unknown })[]
  const page = rows.slice(0, limit)
  return {
    records: page.map(toRecord),
    hasMore: toNumber(rows[0]?.found ?? 0) > page.length,
    bytes: page.reduce((sum, { row_bytes: bytes }) => sum + toNumber(bytes), 0),
  }
}

async function remove(sql: SQL, id: string): Promise<boolean> {
  return ((await sql`delete from upstream_files where id = ${id} returning id`) as unknown[]).length > 0
}

/**
 * One statement, so that it is atomic. On Postgres other replicas run it at the same time: rows that one of them has
 * just taken are locked and passed over. SQLite has one writer at a time, and no row locks.
 */
async function leaseOpenBatches(
  { sql, kind }: Database,
  { owner, nowMs, leaseMs, limit }: BatchLease & { readonly limit: number },
): Promise<FileRecord[]> {
  const rows = (await sql.unsafe(
    `with due as materialized (
      select id from upstream_files where kind = 'batch' and recorded = 0 and (due_at_ms <= $1 or due_at_ms > $2)
      order by due_at_ms, id limit $3 ${kind === 'postgres' ? 'for update skip locked' : ''}
    )
    update upstream_files set lease_owner = $4, due_at_ms = $5 where id in (select id from due) returning *`,
    [nowMs, nowMs + dueMsMax, limit, owner, nowMs + leaseMs],
  )) as FileRow[]
  return rows.map(toRecord)
}

async function leaseBatch(sql: SQL, id: string, { owner, nowMs, leaseMs }: BatchLease): Promise<boolean> {
  if (!isId(id)) return false
  const taken = (await sql`
    update upstream_files set lease_owner = ${owner}, due_at_ms = ${nowMs + leaseMs}
    where id = ${id} and kind = 'batch' and recorded = 0
      and (lease_owner is null or lease_owner = ${owner} or due_at_ms <= ${nowMs} or due_at_ms > ${nowMs + dueMsMax})
    returning id`) as unknown[]
  return taken.length > 0
}

async function releaseBatch(
  sql: SQL,
  id: string,
  { owner, dueAtMs }: Parameters<FileStore['releaseBatch']>[1],
): Promise<boolean> {
  const released = (await sql`
    update upstream_files set lease_owner = null, due_at_ms = ${dueAtMs}
    where id = ${id} and lease_owner = ${owner} returning id`) as unknown[]
  return released.length > 0
}

async function releaseBatches(sql: SQL, owner: string): Promise<void> {
  await sql`
    update upstream_files set lease_owner = null, due_at_ms = 0
    where kind = 'batch' and recorded = 0 and lease_owner = ${owner}`
}

/** As long as replicas run of a version that does not note the end, rows of theirs stay until their file is read. */
async function deleteOld(sql: SQL, clock: Clock): Promise<number> {
  let deleted = 0
  for (;;) {
    const rows = (await sql`
      delete from upstream_files where id in (
        select id from upstream_files where expires_at_ms <= ${clock.epochMs()} limit ${deletionBatch}
      ) returning id`) as unknown[]
    deleted += rows.length
    if (rows.length < deletionBatch) return deleted
    // Leaves the database to other work.
    await Bun.sleep(50)
  }
}
