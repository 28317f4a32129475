/**
 * Assistants, threads, messages, runs and steps in the database: JSON objects with an owner, a parent and a position.
 */
import type { SQL } from 'bun'
import { GatewayError } from '../../core/errors.ts'
import type {
  AssistantChange,
  AssistantKind,
  AssistantObject,
  AssistantPage,
  AssistantQuery,
  AssistantStore,
} from '../../core/objects/assistants.ts'
import { answerInTime, toNumber, transactionInTime, unlessSilent } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import type { StorageGuard } from './storage-guard.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { schemaNames } from '../../core/dialects/exact-names.ts'

/** OpenAI's own limit (Assistants guide, "Managing Threads and Messages"). */
const messagesMax = 100_000

/**
 * Over the table `assistant_objects`. Every failure of the database is `overloaded`; beyond 100,000 messages a thread
 * throws `invalid-request`, and beyond the quota of its key what a client asks to store throws `quota-exceeded`.
 */
export function createAssistantStore(database: Database, guard: StorageGuard): AssistantStore {
  const { sql } = database
  const available = <T>(work: () => Promise<T>): Promise<T> => insisting(unlessSilent(database, work))
  return {
    find: (kind, id, keyId) => available(() => findOne(sql, kind, { id, keyId })),
    list: query => available(() => list(sql, query)),
    insert: objects => available(() => transactionInTime(database, tx => insertWithin(tx, guard, objects))),
    append: (threadId, objects) =>
      available(() => transactionInTime(database, tx => append(tx, guard, { threadId, objects }))),
    change: (id, edit) => available(() => transactionInTime(database, tx => change(tx, guard, { id, edit }))),
    renew: (runIds, nowMs) => insisting(renew(sql, runIds, nowMs)),
    delete: id => available(() => remove(sql, id)),
  }
}

/** While the database is away only assistants and threads fail; other calls go on. */
function insisting<T>(work: Promise<T>): Promise<T> {
  return answerInTime(work).catch(cause => {
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError('overloaded', 'assistants and threads cannot be reached now; try again later', { cause })
  })
}

/** Clients may send bytes as an id that a database refuses; the gateway's ids are words. */
function isId(id: string): boolean {
  return /^\w{1,64}$/.test(id)
}

async function findOne(
  sql: SQL,
  kind: AssistantKind,
  { id, keyId }: { id: string; keyId: string | null },
): Promise<AssistantObject | undefined> {
  const row = await rowOf(sql, kind, id)
  return row && (keyId === null || row.key_id === keyId) ? toObject(row) : undefined
}

async function rowOf(sql: SQL, kind: AssistantKind, id: string): Promise<Row | undefined> {
  if (!isId(id)) return undefined
  const rows = (await sql`select * from assistant_objects where id = ${id} and kind = ${kind}`) as Row[]
  return rows[0]
}

async function list(sql: SQL, query: AssistantQuery): Promise<AssistantPage | undefined> {
  const { kind, keyId, parentId, runId, limit, bytesMax, order, after, before } = query
  const cursor = after ?? before
  const backwards = after === undefined && before !== undefined
  const cursorRow = cursor === undefined ? undefined : await rowOf(sql, kind, cursor)
  const foreign = (row: Row) =>
    (keyId !== null && row.key_id !== keyId) || (parentId !== undefined && row.parent_id !== parentId)
  if (cursor !== undefined && (!cursorRow || foreign(cursorRow))) return undefined
  if (runId !== undefined && !isId(runId)) return { objects: [], hasMore: false, bytes: 0 }
  const ascending = (order === 'asc') !== backwards
  const values: (string | number)[] = []
  const value = (one: string | number) => `$${values.push(one)}`
  const conditions = [`kind = ${value(kind)}`]
  if (keyId !== null) conditions.push(`key_id = ${value(keyId)}`)
  if (parentId !== undefined) conditions.push(`parent_id = ${value(parentId)}`)
  if (runId !== undefined) conditions.push(`run_id = ${value(runId)}`)
  if (cursorRow)
    conditions.push(
      `(position, id) ${ascending ? '>' : '<'} (${value(toNumber(cursorRow.position))}, ${value(cursorRow.id)})`,
    )
  const direction = ascending ? 'asc' : 'desc'
  const inOrder = `order by position ${direction}, id ${direction}`
  // The page is chosen by sizes alone. One row more than it says whether there is another.
  const rows = (await sql.unsafe(
    `with page as materialized (
      select id, position, octet_length(body) + octet_length(hidden) as bytes
      from assistant_objects where ${conditions.join(' and ')} ${inOrder} limit ${value(limit + 1)}
    ), counted as (
      select id, bytes, sum(bytes) over (${inOrder} rows unbounded preceding) as total, count(*) over () as found
      from page
    )
    select one.*, counted.bytes, counted.found from counted join assistant_objects one on one.id = counted.id
    where total <= ${value(bytesMax ?? Number.MAX_SAFE_INTEGER)} or total = bytes
    order by one.position ${direction}, one.id ${direction}`,
    values,
  )) as (Row & { bytes: unknown; found: unknown })[]
  const objects = rows.slice(0, limit).map(toObject)
  return {
    objects: backwards ? objects.reverse() : objects,
    hasMore: toNumber(rows[0]?.found ?? 0) > objects.length,
    bytes: rows.slice(0, limit).reduce((sum, { bytes }) => sum + toNumber(bytes), 0),
  }
}

async function append(
  tx: SQL,
  guard: StorageGuard,
  { threadId, objects }: { threadId: string; objects: readonly AssistantObject[] },
): Promise<'added' | 'gone' | AssistantObject> {
  // The thread's row is locked while it grows: messages keep their order, and only one run begins.
  const threads =
    (await tx`update assistant_objects set active = active where id = ${threadId} returning id`) as unknown[]
  if (threads.length === 0) return 'gone'
  const [busy] = (await tx`select * from assistant_objects where parent_id = ${threadId} and active = 1`) as Row[]
  if (busy) return toObject(busy)
  await insertWithin(tx, guard, objects)
  return 'added'
}

/** Inserts what a client asks for: only within the quota of the key. */
async function insertWithin(tx: SQL, guard: StorageGuard, objects: readonly AssistantObject[]): Promise<void> {
  await insert(tx, objects)
  const bytesByKey = new Map<string, number>()
  for (const object of objects) bytesByKey.set(object.keyId, (bytesByKey.get(object.keyId) ?? 0) + sizeOf(object))
  for (const [keyId, bytes] of bytesByKey) await guard.check(tx, keyId, bytes)
}

const sizeOf = ({ body, hidden }: Pick<AssistantObject, 'body' | 'hidden'>): number =>
  Buffer.byteLength(exactText(body)) + Buffer.byteLength(exactText(hidden))

async function insert(tx: SQL, objects: readonly AssistantObject[]): Promise<void> {
  const last = new Map<string, number>()
  for (const object of objects) {
    const { parentId, kind } = object
    let position = object.updatedAtMs
    if (parentId !== null) {
      const parentKey = `${kind} ${parentId}`
      position = (last.get(parentKey) ?? (await lastPosition(tx, kind, parentId))) + 1
      last.set(parentKey, position)
      if (kind === 'message' && position > messagesMax)
        throw new GatewayError('invalid-request', `a thread takes at most ${messagesMax} messages; start a new one`)
    }
    await tx`insert into assistant_objects ${tx(toRow(object, position))}`
  }
}

async function lastPosition(tx: SQL, kind: AssistantKind, parentId: string): Promise<number> {
  const rows = (await tx`
    select max(position) as last from assistant_objects where parent_id = ${parentId} and kind = ${kind}`) as {
    last: unknown
  }[]
  return toNumber(rows[0]?.last ?? 0)
}

interface Edited {
  readonly id: string
  edit(object: AssistantObject): AssistantChange | undefined
}

async function change(tx: SQL, guard: StorageGuard, { id, edit }: Edited): Promise<AssistantObject | undefined> {
  if (!isId(id)) return undefined
  // Changes nothing, but locks the row for this change.
  const [row] = (await tx`update assistant_objects set active = active where id = ${id} returning *`) as Row[]
  if (!row) return undefined
  const before = toObject(row)
  const edited = edit(before)
  if (!edited) return undefined
  const { put = [], withinQuota = false, ...changes } = edited
  const object: AssistantObject = { ...before, ...changes }
  await replace(tx, object)
  const added: AssistantObject[] = []
  for (const one of put) if (!(await replace(tx, one))) added.push(one)
  await insert(tx, added)
  const addedBytes = sizeOf(object) - sizeOf(before)
  if (withinQuota && (addedBytes > 0 || put.length > 0)) await guard.check(tx, object.keyId, addedBytes)
  return object
}

/** false = there is no such object. */
async function replace(tx: SQL, { id, active, updatedAtMs, body, hidden }: AssistantObject): Promise<boolean> {
  const rows = (await tx`
    update assistant_objects set active = ${active ? 1 : 0}, updated_at_ms = ${updatedAtMs},
      body = ${exactText(body)}, hidden = ${exactText(hidden)}
    where id = ${id} returning id`) as unknown[]
  return rows.length > 0
}

async function renew(sql: SQL, runIds: readonly string[], nowMs: number): Promise<Map<string, string>> {
  const placeholders = runIds.map((_, at) => `$${at + 2}`).join(', ')
  const rows = (await sql.unsafe(
    `update assistant_objects set updated_at_ms = $1 where id in (${placeholders}) and active = 1 returning id, body`,
    [nowMs, ...runIds],
  )) as Pick<Row, 'id' | 'body'>[]
  return new Map(rows.map(({ id, body }) => [id, String((JSON.parse(body) as Record<string, unknown>).status)]))
}

async function remove(sql: SQL, id: string): Promise<boolean> {
  if (!isId(id)) return false
  return ((await sql`delete from assistant_objects where id = ${id} returning id`) as unknown[]).length > 0
}

interface Row {
  id: string
  kind: string
  key_id: string
  parent_id: string | null
  run_id: string | null
  /** 1, 2, 3 ... within a parent; without one, milliseconds since 1970. */
  position: unknown
  active: unknown
  updated_at_ms: unknown
  body: string
  hidden: string
}

function toRow(object: AssistantObject, position: number): Row {
  return {
    id: object.id,
    kind: object.kind,
    key_id: object.keyId,
    parent_id: object.parentId,
    run_id: object.runId,
    position,
    active: object.active ? 1 : 0,
    updated_at_ms: object.updatedAtMs,
    body: exactText(object.body),
    hidden: exactText(object.hidden),
  }
}

function toObject(row: Row): AssistantObject {
  return {
    id: row.id,
    kind: row.kind as AssistantKind,
    keyId: row.key_id,
    parentId: row.parent_id,
    runId: row.run_id,
    active: toNumber(row.active) === 1,
    updatedAtMs: toNumber(row.updated_at_ms),
    body: parseExact(row.body, schemaNames) as Record<string, unknown>,
    hidden: parseExact(row.hidden, schemaNames) as Record<string, unknown>,
  }
}
