/** Virtual keys in the database. Every change increments one revision, by which other processes follow. */
import type { SQL } from 'bun'
import { GatewayError } from '../../core/errors.ts'
import type { KeyChanges, KeyQuery, KeyRecord, KeyStore } from '../../core/ports.ts'
import type { Clock } from '../../lib/clock.ts'
import { answerInTime, toNumber, toNumberOrNull, transaction, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'

interface KeyStoreOptions {
  readonly database: Database
  readonly clock: Clock
  /** Called after each committed change, with the hash of the key that changed. */
  onChange?(hash: string): void
}

/** The row is locked until the commit, so that revisions become visible in their order. */
async function nextRevision(tx: SQL): Promise<number> {
  const rows = (await tx`
    update installation set value = cast(cast(value as bigint) + 1 as text)
    where name = 'keys_revision' returning value`) as { value: string }[]
  return Number(rows[0]!.value)
}

interface Quota {
  /** null = no limit. */
  readonly keysOfUserMax: number | null
  readonly nowMs: number
}

/**
 * After `nextRevision` only: under its lock one change at a time is counted, on every replica. Blocked keys count,
 * because they can be unblocked; expired ones do not.
 */
async function checkQuota(tx: SQL, userId: string | null, { keysOfUserMax, nowMs }: Quota): Promise<void> {
  if (userId === null || keysOfUserMax === null) return
  const rows = (await tx`
    select count(*) as total from virtual_keys where user_id = ${userId} and deleted_at_ms is null
      and (expires_at_ms is null or expires_at_ms > ${nowMs})`) as { total: unknown }[]
  if (toNumber(rows[0]!.total) < keysOfUserMax) return
  throw new GatewayError('conflict', `this user already has ${keysOfUserMax} key(s), the limit; delete one first`, {
    param: 'user_id',
  })
}

const available = <T>(work: Promise<T>): Promise<T> => whileAvailable('keys', work)

/**
 * Over the table `virtual_keys`. The lock on the revision puts changes one after the other, on all replicas. Deleted
 * keys keep their row and are not found any more.
 */
export function createKeyStore({ database, clock, onChange }: KeyStoreOptions): KeyStore {
  const { sql } = database
  const inTransaction = <T>(work: (tx: SQL) => Promise<T>) => available(transaction(database, work))
  return {
    async insert(record, keysOfUserMax = null) {
      await inTransaction(async tx => {
        const row = { ...toRow(record), deleted_at_ms: null, revision: await nextRevision(tx) }
        await checkQuota(tx, record.userId, { keysOfUserMax, nowMs: clock.epochMs() })
        await tx`insert into virtual_keys ${tx(row)}`
      })
      onChange?.(record.hash)
    },
    find: by => available(findKey(sql, by)),
    list: query => available(listKeys(sql, query)),
    async update(id, changes, keysOfUserMax = null) {
      const updated = await inTransaction(tx => updateKey(tx, { id, changes, keysOfUserMax, nowMs: clock.epochMs() }))
      if (updated) onChange?.(updated.hash)
      return updated
    },
    async delete(id) {
      const nowMs = clock.epochMs()
      const hash = await inTransaction(async tx => {
        const revision = await nextRevision(tx)
        const rows = (await tx`
          update virtual_keys set deleted_at_ms = ${nowMs}, revision = ${revision}
          where id = ${id} and deleted_at_ms is null returning hash`) as { hash: string }[]
        return rows[0]?.hash
      })
      if (hash !== undefined) onChange?.(hash)
      return hash !== undefined
    },
  }
}

async function findKey(sql: SQL, by: Parameters<KeyStore['find']>[0]): Promise<KeyRecord | undefined> {
  // No row holds a NUL, and Postgres refuses it in a parameter.
  if (Object.values(by).some(value => value.includes('\0'))) return undefined
  const rows = (await ('hash' in by
    ? sql`select * from virtual_keys where hash = ${by.hash} and deleted_at_ms is null`
    : 'id' in by
      ? sql`select * from virtual_keys where id = ${by.id} and deleted_at_ms is null`
      : sql`
          select * from virtual_keys where alias = ${by.alias} and deleted_at_ms is null
          order by created_at_ms`)) as Row[]
  return rows[0] && toRecord(rows[0])
}

async function listKeys(sql: SQL, query: KeyQuery): Promise<{ keys: KeyRecord[]; total: number }> {
  const user = query.userId ?? null
  const team = query.teamId ?? null
  const alias = query.alias ?? null
  // A filter that is null matches every row: one statement for all combinations.
  const counted = (await sql`
    select count(*) as total from virtual_keys where deleted_at_ms is null
      and (cast(${user} as text) is null or user_id = ${user})
      and (cast(${team} as text) is null or team_id = ${team})
      and (cast(${alias} as text) is null or alias = ${alias})`) as { total: unknown }[]
  const rows = (await sql`
    select * from virtual_keys where deleted_at_ms is null
      and (cast(${user} as text) is null or user_id = ${user})
      and (cast(${team} as text) is null or team_id = ${team})
      and (cast(${alias} as text) is null or alias = ${alias})
    order by created_at_ms desc, id desc limit ${query.limit} offset ${query.offset}`) as Row[]
  return { keys: rows.map(toRecord), total: toNumber(counted[0]!.total) }
}

interface KeyUpdate extends Quota {
  readonly id: string
  readonly changes: KeyChanges
}

async function updateKey(tx: SQL, { id, changes, ...quota }: KeyUpdate): Promise<KeyRecord | undefined> {
  const revision = await nextRevision(tx)
  const before = await findKey(tx, { id })
  if (!before) return undefined
  const { nowMs } = quota
  const record: KeyRecord = { ...before, ...changes, updatedAtMs: nowMs }
  const counted = before.userId === record.userId && !hasExpired(before, nowMs)
  // An expired key counts when its time is extended, not when it only gets another user.
  if (!counted && !hasExpired(record, nowMs)) await checkQuota(tx, record.userId, quota)
  await tx`update virtual_keys set ${tx({ ...toRow(record), revision })} where id = ${id}`
  return record
}

const hasExpired = ({ expiresAtMs }: KeyRecord, nowMs: number): boolean => expiresAtMs !== null && expiresAtMs <= nowMs

interface Row {
  id: string
  hash: string
  hint: string
  alias: string | null
  user_id: string | null
  team_id: string | null
  models: string
  expires_at_ms: unknown
  blocked: unknown
  requests_per_minute: unknown
  tokens_per_minute: unknown
  parallel_requests: unknown
  metadata: string
  created_at_ms: unknown
  created_by: string
  updated_at_ms: unknown
}

function toRow(record: KeyRecord): Row {
  return {
    id: record.id,
    hash: record.hash,
    hint: record.hint,
    alias: record.alias,
    user_id: record.userId,
    team_id: record.teamId,
    models: JSON.stringify(record.models),
    expires_at_ms: record.expiresAtMs,
    blocked: record.blocked ? 1 : 0,
    requests_per_minute: record.requestsPerMinute,
    tokens_per_minute: record.tokensPerMinute,
    parallel_requests: record.parallelRequests,
    metadata: JSON.stringify(record.metadata),
    created_at_ms: record.createdAtMs,
    created_by: record.createdBy,
    updated_at_ms: record.updatedAtMs,
  }
}

function toRecord(row: Row): KeyRecord {
  return {
    id: row.id,
    hash: row.hash,
    hint: row.hint,
    alias: row.alias,
    userId: row.user_id,
    teamId: row.team_id,
    models: JSON.parse(row.models) as string[],
    expiresAtMs: toNumberOrNull(row.expires_at_ms),
    blocked: toNumber(row.blocked) === 1,
    requestsPerMinute: toNumberOrNull(row.requests_per_minute),
    tokensPerMinute: toNumberOrNull(row.tokens_per_minute),
    parallelRequests: toNumberOrNull(row.parallel_requests),
    metadata: JSON.parse(row.metadata) as Record<string, unknown>,
    createdAtMs: toNumber(row.created_at_ms),
    createdBy: row.created_by,
    updatedAtMs: toNumber(row.updated_at_ms),
  }
}

/** Hashes of the keys that changed after `revision`, deleted ones included, and the newest revision among them. */
export async function keyChangesSince(
  database: Database,
  revision: number,
): Promise<{ hashes: string[]; revision: number }> {
  const changes = database.sql`
    select hash, revision from virtual_keys where revision > ${revision} order by revision limit 10000`
  const rows = await answerInTime<{ hash: string; revision: unknown }[]>(changes)
  return { hashes: rows.map(row => row.hash), revision: rows.length > 0 ? toNumber(rows.at(-1)!.revision) : revision }
}
