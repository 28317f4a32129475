/** Reads virtual keys; `store/tenancy` changes them. */
import type { SQL } from 'bun'
import { GatewayError } from '../../core/errors.ts'
import type { KeyQuery, KeyRecord, KeyStore } from '../../core/tenancy/keys.ts'
import { dayMs } from '../../lib/clock.ts'
import { toNumber, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { keyColumns, toRecord } from '../tenancy/columns.ts'
import type { Row } from '../tenancy/columns.ts'
import { Where } from '../tenancy/where.ts'

interface Quota {
  /** null = no limit. */
  readonly keysOfUserMax: number | null
  readonly nowMs: number
}

/**
 * Under the lock on the revision only, so that one change at a time is counted, on every replica. Blocked keys count,
 * because they can be unblocked; expired ones do not. Throws `conflict`.
 */
export async function checkQuota(tx: SQL, userId: string | null, { keysOfUserMax, nowMs }: Quota): Promise<void> {
  if (userId === null || keysOfUserMax === null) return
  const rows = (await tx`
    select count(*) as total from virtual_keys where user_id = ${userId} and deleted_at_ms is null
      and (expires_at_ms is null or expires_at_ms > ${nowMs})`) as { total: unknown }[]
  if (toNumber(rows[0]!.total) < keysOfUserMax) return
  throw new GatewayError('conflict', `this user already has ${keysOfUserMax} key(s), the limit; delete one first`, {
    param: 'user_id',
  })
}

/** Over the table `virtual_keys`. Deleted keys keep their row and are not found any more. */
export function createKeyStore(database: Pick<Database, 'sql' | 'isSilent'>): KeyStore {
  const { sql } = database
  const available = <T>(work: () => Promise<T>): Promise<T> => whileAvailable(database, 'keys', work)
  return {
    find: by => available(() => findKey(sql, by)),
    findAll: ids => available(() => findKeys(sql, ids)),
    list: query => available(() => listKeys(sql, query)),
  }
}

/** `sql` = the database, or a transaction. Of several keys with an alias the oldest. */
export async function findKey(sql: SQL, by: Parameters<KeyStore['find']>[0]): Promise<KeyRecord | undefined> {
  // No row holds a NUL, and Postgres refuses it in a parameter.
  if (Object.values(by).some(value => value.includes('\0'))) return undefined
  const rows = (await ('hash' in by
    ? sql`select * from virtual_keys where hash = ${by.hash} and deleted_at_ms is null`
    : 'id' in by
      ? sql`select * from virtual_keys where id = ${by.id} and deleted_at_ms is null`
      : sql`
          select * from virtual_keys where alias = ${by.alias} and deleted_at_ms is null
          order by created_at_ms limit 1`)) as Row[]
  return rows[0] && toRecord(keyColumns, rows[0])
}

async function findKeys(sql: SQL, ids: readonly string[]): Promise<KeyRecord[]> {
  // No row holds a NUL, and Postgres refuses it in a parameter.
  const storableIds = ids.filter(id => !id.includes('\0'))
  if (storableIds.length === 0) return []
  const where = new Where()
  where.raw('deleted_at_ms is null')
  where.among('id', storableIds)
  return (await where.select<Row>(sql, 'virtual_keys')).map(row => toRecord(keyColumns, row))
}

/**
 * The key that a text of this hash belongs to: also the text before, as long as it may be used, with the end of that as
 * the key's. Its own text comes first.
 */
export async function findKeyOfText(sql: SQL, hash: string): Promise<KeyRecord | undefined> {
  const rows = (await sql`
    select * from virtual_keys where (hash = ${hash} or former_hash = ${hash}) and deleted_at_ms is null
    order by case when hash = ${hash} then 0 else 1 end limit 1`) as Row[]
  const key = rows[0] && toRecord(keyColumns, rows[0])
  if (!key || key.hash === hash || key.formerEndMs === null) return key
  const { expiresAtMs: ownEndMs, formerObjectsOwner: objectsOwner } = key
  return { ...key, expiresAtMs: Math.min(key.formerEndMs, ownEndMs ?? Infinity), ownEndMs, objectsOwner }
}

/** What a list is ordered by. Names are those that people see; a key without an end ends after all others. */
const orders = {
  begun: 'created_at_ms',
  name: "lower(coalesce(alias, hint, ''))",
  end: 'coalesce(expires_at_ms, 9007199254740991)',
} as const

/** How long before its end a key is said to end. */
const endingMs = 14 * dayMs

function stateCondition({ is, nowMs }: NonNullable<KeyQuery['state']>, where: Where): string {
  const isOpen = () => `(expires_at_ms is null or expires_at_ms > ${where.bind(nowMs)})`
  switch (is) {
    case 'blocked':
      return 'blocked = 1'
    case 'expired':
      return `expires_at_ms <= ${where.bind(nowMs)}`
    case 'ending':
      return `blocked = 0 and expires_at_ms > ${where.bind(nowMs)} and expires_at_ms <= ${where.bind(nowMs + endingMs)}`
    case 'active':
      return `blocked = 0 and ${isOpen()}`
  }
}

async function listKeys(sql: SQL, query: KeyQuery): Promise<{ keys: KeyRecord[]; total: number }> {
  const where = new Where()
  where.raw(`deleted_at_ms is ${query.deleted ? 'not null' : 'null'}`)
  where.equal('user_id', query.userId)
  where.equal('team_id', query.teamId)
  where.equal('organization_id', query.organizationId)
  where.equal('alias', query.alias)
  if (query.search !== undefined)
    where.any([
      where.amongText('id', [query.search]),
      where.containsText('alias', query.search),
      // What people know of its text: `sk-...` and the last four characters.
      where.containsText('hint', query.search),
      `team_id in (select id from teams where ${where.containsText('alias', query.search)})`,
    ])
  where.equal('hash', query.hash)
  where.equal('id', query.id)
  if (query.ofDirectory) where.raw('of_directory = 1')
  if (query.state) where.raw(stateCondition(query.state, where))
  const { visible } = query
  if (visible)
    where.any([
      ...(visible.userId === null ? [] : [`user_id = ${where.bind(visible.userId)}`]),
      where.amongText('team_id', visible.teamIds),
      where.amongText('organization_id', visible.organizationIds),
      `team_id in (select id from teams where ${where.amongText('organization_id', visible.organizationIds)})`,
    ])
  const { rows, total } = await where.page<Row>(sql, 'virtual_keys', query, orders[query.sortBy ?? 'begun'])
  return { keys: rows.map(row => toRecord(keyColumns, row)), total }
}
