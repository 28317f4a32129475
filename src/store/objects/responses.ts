/** Answers of the Responses dialect in the database, each under the key that asked for it. */
import type { SQL } from 'bun'
import { GatewayError } from '../../core/errors.ts'
import type { HoldBytes } from '../../core/objects/object-pages.ts'
import { responseName } from '../../core/objects/responses.ts'
import type { ResponseStore, StoredAnswer, StoredItem, StoredResponse } from '../../core/objects/responses.ts'
import type { Clock } from '../../lib/clock.ts'
import { parseListInTurns } from '../../lib/json/list-in-turns.ts'
import { answerInTime, toNumber, transaction, transactionInTime, unlessSilent } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { ThrottledReport } from '../ledger/throttled-report.ts'
import type { StorageGuard } from './storage-guard.ts'
import { objectsOf } from '../../lib/json/json-values.ts'
import { exactText, parseExact } from '../../lib/json/exact-json.ts'
import { schemaNames } from '../../core/dialects/exact-names.ts'

/** Rows of one deletion at most, so that no lock is held for long. */
const deletionBatch = 500
const deletionIntervalMs = 10 * 60_000
const conversationTurnsMax = 1000

interface ResponseStoreOptions {
  readonly database: Database
  readonly clock: Clock
  readonly guard: StorageGuard
  /** Called when an answer could not be kept, or old ones could not be deleted. */
  report(problem: string): void
}

/** The store, which deletes expired responses every ten minutes. */
export interface RunningResponseStore extends ResponseStore {
  /** Deletes expired responses in batches; returns how many there were. */
  deleteExpired(): Promise<number>
  /** Ends the regular deletion. */
  stop(): void
}

/** Over the tables `responses` and `response_items`. The regular deletion runs until `stop`. */
export function createResponseStore(options: ResponseStoreOptions): RunningResponseStore {
  const { database, clock, guard, report } = options
  const { sql } = database
  const available = availability(database)
  const failures = new ThrottledReport({
    failing: 'a response could not be stored',
    recovered: 'responses are stored again',
    report,
    nowMs: () => clock.monotonicMs(),
  })
  const deleteExpired = () => deleteOld(database, clock)
  const timer = setInterval(() => {
    deleteExpired().catch(error => report(`old responses could not be deleted: ${String(error)}`))
  }, deletionIntervalMs)
  timer.unref()
  /** Keys without room when a response of theirs was last to be saved. */
  const full = new Set<string>()
  return {
    async admit(keyId) {
      if (!full.has(keyId)) return
      await available(() => guard.admit(keyId))
      full.delete(keyId)
    },
    async save(record) {
      try {
        await answerInTime(
          unlessSilent(database, () => transactionInTime(database, tx => insertWithin(tx, guard, record))),
        )
        failures.succeeded()
        return 'saved'
      } catch (error) {
        if (error instanceof GatewayError && (error.kind === 'quota-exceeded' || error.kind === 'too-large')) {
          full.add(record.keyId)
          return 'no-room'
        }
        failures.failed(error)
        return 'failed'
      }
    },
    find: (keyId, id, hold) => available(() => findOne(sql, clock, { keyId, id: asStored(id), hold })),
    answer: (keyId, id, hold) => available(() => findAnswer(sql, clock, { keyId, id: asStored(id), hold })),
    input: (keyId, id, hold) => available(() => findInput(sql, clock, { keyId, id: asStored(id), hold })),
    conversation: (keyId, id, bytesMax, hold) =>
      available(() => readConversation(sql, clock, { keyId, id: asStored(id), bytesMax, hold })),
    items: (keyId, ids) => available(() => readItems(sql, clock, { keyId, ids: ids.map(asStored) })),
    delete: (keyId, id) =>
      available(() =>
        changed(sql`
          delete from responses where key_id = ${keyId} and id = ${asStored(id)}
            and expires_at_ms > ${clock.epochMs()} returning id`),
      ),
    finish: (record, renewedAtMs) =>
      available(() => transaction(database, tx => finish(tx, record, renewedAtMs ?? Number.MAX_SAFE_INTEGER))),
    renew: (names, nowMs) => available(() => renew(sql, names, nowMs)),
    deleteExpired,
    stop: () => clearInterval(timer),
  }
}

/** No row holds a NUL, and Postgres refuses it in a parameter. */
const asStored = (id: string): string => id.replaceAll('\0', '\ufffd')

/** While the database is away only stored responses fail; other calls go on. */
function availability(database: Database) {
  return <T>(work: () => Promise<T>): Promise<T> =>
    answerInTime(unlessSilent(database, work)).catch(cause => {
      throw cause instanceof GatewayError
        ? cause
        : new GatewayError('overloaded', 'stored responses cannot be reached now; try again later', { cause })
    })
}

/** true = there was such a row. */
async function changed(statement: Promise<unknown>): Promise<boolean> {
  return ((await statement) as unknown[]).length > 0
}

async function findOne(
  sql: SQL,
  clock: Clock,
  { keyId, id, hold }: Pick<ConversationRead, 'keyId' | 'id' | 'hold'>,
): Promise<StoredResponse | undefined> {
  const rows = (await sql`
    select * from responses where key_id = ${keyId} and id = ${id} and expires_at_ms > ${clock.epochMs()}`) as Row[]
  const [row] = rows
  if (!row) return undefined
  hold?.(toNumber(row.bytes))
  return toRecord(row)
}

async function findAnswer(
  sql: SQL,
  clock: Clock,
  { keyId, id, hold }: Pick<ConversationRead, 'keyId' | 'id' | 'hold'>,
): Promise<StoredAnswer | undefined> {
  const [row] = (await sql`
    select status, background, updated_at_ms, response from responses
    where key_id = ${keyId} and id = ${id} and expires_at_ms > ${clock.epochMs()}`) as Row[]
  if (!row) return undefined
  hold?.(row.response.length)
  const { status, response } = row
  // The column is the newer one while a response runs, which is small.
  const isStale = status === 'queued' || status === 'in_progress'
  return {
    status,
    background: toNumber(row.background) === 1,
    updatedAtMs: toNumber(row.updated_at_ms),
    json: isStale ? exactText({ ...(parseExact(response, schemaNames) as Record<string, unknown>), status }) : response,
  }
}

async function findInput(
  sql: SQL,
  clock: Clock,
  { keyId, id, hold }: Pick<ConversationRead, 'keyId' | 'id' | 'hold'>,
): Promise<StoredResponse['input'] | undefined> {
  const [row] = (await sql`
    select input from responses
    where key_id = ${keyId} and id = ${id} and expires_at_ms > ${clock.epochMs()}`) as Row[]
  if (!row) return undefined
  hold?.(row.input.length)
  return inputOf(row)
}

const inputOf = ({ input }: Pick<Row, 'input'>): Promise<Record<string, unknown>[]> =>
  parseListInTurns(input, schemaNames) as Promise<Record<string, unknown>[]>

async function finish(tx: SQL, record: StoredResponse, renewedAtMs: number): Promise<boolean> {
  const open = await changed(tx`
    delete from responses where key_id = ${record.keyId} and id = ${record.id}
      and status in ('queued', 'in_progress') and updated_at_ms <= ${renewedAtMs} returning id`)
  if (open) await insert(tx, record)
  return open
}

async function renew(sql: SQL, names: readonly string[], nowMs: number): Promise<Map<string, string>> {
  const parts = names.flatMap(name => {
    const space = name.indexOf(' ')
    return [name.slice(0, space), name.slice(space + 1)]
  })
  const placeholders = names.map((_, at) => `($${2 * at + 2}, $${2 * at + 3})`).join(', ')
  const rows = (await sql.unsafe(
    `update responses set updated_at_ms = $1, status = 'in_progress'
     where (id, key_id) in (values ${placeholders}) and status in ('queued', 'in_progress')
     returning key_id, id, status`,
    [nowMs, ...parts],
  )) as Pick<Row, 'key_id' | 'id' | 'status'>[]
  return new Map(rows.map(({ key_id: keyId, id, status }) => [responseName({ keyId, id }), status]))
}

/** An upstream that gives one id twice replaces its own earlier answer, for the same key only. */
async function insert(tx: SQL, record: StoredResponse): Promise<void> {
  await tx`delete from responses where key_id = ${record.keyId} and id = ${record.id}`
  await tx`insert into responses ${tx(toRow(record))}`
  const ids = new Set<string>()
  for (const item of objectsOf(record.response.output)) if (typeof item.id === 'string' && item.id) ids.add(item.id)
  for (const itemId of ids)
    await tx`
      insert into response_items (key_id, item_id, response_id) values (${record.keyId}, ${itemId}, ${record.id})
      on conflict (key_id, item_id) do update set response_id = excluded.response_id`
}

async function insertWithin(tx: SQL, guard: StorageGuard, record: StoredResponse): Promise<void> {
  await insert(tx, record)
  await guard.check(tx, record.keyId, toRow(record).bytes)
}

interface ConversationRead {
  readonly keyId: string
  readonly id: string
  readonly bytesMax: number
  readonly hold: HoldBytes | undefined
}

/** Two statements for any length: ids and sizes first, then the turns. */
async function readConversation(
  sql: SQL,
  clock: Clock,
  request: ConversationRead,
): Promise<StoredResponse[] | undefined> {
  const nowMs = clock.epochMs()
  const { keyId, id, bytesMax, hold } = request
  const turns = (await sql`
    with recursive chain (id, previous_id, turn, total) as (
      select id, previous_id, 1, bytes from responses
      where key_id = ${keyId} and id = ${id} and expires_at_ms > ${nowMs}
      union all
      select one.id, one.previous_id, chain.turn + 1, chain.total + one.bytes
      from responses one join chain on one.id = chain.previous_id
      where one.key_id = ${keyId} and one.expires_at_ms > ${nowMs}
        and chain.turn < ${conversationTurnsMax} and chain.total <= ${bytesMax}
    )
    select id, previous_id, total from chain order by turn desc`) as Pick<Row, 'id' | 'previous_id'>[] &
    { total: unknown }[]
  const [oldest] = turns
  if (!oldest) return undefined
  if (toNumber(oldest.total) > bytesMax)
    throw new GatewayError('too-large', `the stored conversation is larger than ${bytesMax} bytes; start a new one`, {
      param: 'previous_response_id',
    })
  if (oldest.previous_id !== null && turns.length >= conversationTurnsMax)
    throw new GatewayError(
      'too-large',
      `the stored conversation has more than ${conversationTurnsMax} turns; start a new one`,
      {
        param: 'previous_response_id',
      },
    )
  if (oldest.previous_id !== null) return undefined
  hold?.(toNumber(oldest.total))
  const rows = (await sql`
    select * from responses where key_id = ${keyId} and id in ${sql(turns.map(turn => turn.id))}`) as Row[]
  const byId = new Map(rows.map(row => [row.id, row]))
  const records = turns.map(turn => byId.get(turn.id))
  // Deleted between the two statements.
  if (records.includes(undefined)) return undefined
  const read: StoredResponse[] = []
  for (const row of records) read.push(await toRecord(row!))
  return read
}

async function readItems(
  sql: SQL,
  clock: Clock,
  { keyId, ids }: { readonly keyId: string; readonly ids: readonly string[] },
): Promise<Map<string, StoredItem>> {
  const found = new Map<string, StoredItem>()
  if (ids.length === 0) return found
  const wanted = new Set(ids)
  const rows = (await sql`
    select distinct responses.id, responses.response, responses.deployment_id from response_items
    join responses on responses.key_id = response_items.key_id and responses.id = response_items.response_id
    where response_items.key_id = ${keyId} and response_items.item_id in ${sql([...wanted])}
      and responses.expires_at_ms > ${clock.epochMs()}`) as Pick<Row, 'response' | 'deployment_id'>[]
  for (const row of rows)
    for (const item of objectsOf((parseExact(row.response, schemaNames) as Record<string, unknown>).output))
      if (typeof item.id === 'string' && wanted.has(item.id))
        found.set(item.id, { item, deploymentId: row.deployment_id })
  return found
}

async function deleteOld(database: Database, clock: Clock): Promise<number> {
  let deleted = 0
  for (;;) {
    const nowMs = clock.epochMs()
    const rows = (await database.sql`
      delete from responses where (key_id, id) in (
        select key_id, id from responses where expires_at_ms <= ${nowMs} order by expires_at_ms limit ${deletionBatch}
      ) returning id`) as unknown[]
    deleted += rows.length
    if (rows.length < deletionBatch) return deleted
    // Leaves the database to other work.
    await Bun.sleep(50)
  }
}

interface Row {
  key_id: string
  id: string
  previous_id: string | null
  deployment_id: string | null
  status: string
  background: unknown
  input: string
  response: string
  bytes: unknown
  created_at_ms: unknown
  updated_at_ms: unknown
  expires_at_ms: unknown
}

function toRow(record: StoredResponse): Row & { bytes: number } {
  const input = exactText(record.input)
  const response = exactText({ ...record.response, status: record.status })
  return {
    key_id: record.keyId,
    id: record.id,
    previous_id: record.previousId === record.id ? null : record.previousId,
    deployment_id: record.deploymentId,
    status: record.status,
    background: record.background ? 1 : 0,
    input,
    response,
    bytes: Buffer.byteLength(input) + Buffer.byteLength(response),
    created_at_ms: record.createdAtMs,
    updated_at_ms: record.updatedAtMs,
    expires_at_ms: record.expiresAtMs,
  }
}

async function toRecord(row: Row): Promise<StoredResponse> {
  return {
    id: row.id,
    keyId: row.key_id,
    previousId: row.previous_id,
    deploymentId: row.deployment_id,
    status: row.status,
    background: toNumber(row.background) === 1,
    input: await inputOf(row),
    // The column is the newer one while a response runs.
    response: { ...(parseExact(row.response, schemaNames) as Record<string, unknown>), status: row.status },
    createdAtMs: toNumber(row.created_at_ms),
    updatedAtMs: toNumber(row.updated_at_ms),
    expiresAtMs: toNumber(row.expires_at_ms),
  }
}
