/**
 * The ledger on Postgres in partitions, so that old rows go by dropping tables (docs/decisions/0045). The key is the id
 * of the call: a UUID v7 begins with its time, so that the primary key stays `request_id` alone and every program
 * writes as it did. Ids of other kinds (of ended batches) are anywhere, mostly in the default partition.
 */
import type { SQL } from 'bun'
import { dayMs } from '../../lib/clock.ts'

/** Any number; the same for all replicas: one of them changes partitions at a time. */
const advisoryLock = 7_203_612
/** For ids that no other partition takes. */
const otherName = 'ledger_other'
/** Days for which there are partitions before they come. */
const daysAhead = 3
/** Partitions that a retention makes: a question about a time looks into each of them. */
const partitionsMax = 100
/** A larger table is taken over by `modelgate ledger partition` alone: for some seconds nothing reads or writes it. */
const automaticRowsMax = 2_000_000
/** Longer than this no reader and writer waits behind a change of partitions; it is tried again later. */
const lockTimeout = '1s'

/** What is kept, and since when. Days since 1970, UTC. */
interface PartitionSpan {
  readonly today: number
  /** The first day that is kept whole. */
  readonly firstDay: number
}

interface Partition {
  readonly name: string
  readonly fromDay: number
  readonly toDay: number
}

/** Does one step: takes the table over, makes a partition, drops one. true = there may be more to do. */
export async function keepPartitions(sql: SQL, span: PartitionSpan): Promise<boolean> {
  if (!(await isPartitioned(sql))) {
    if ((await rowsOf(sql)) > automaticRowsMax) return false
    return takeOver(sql, span.today)
  }
  const partitions = await partitionsOf(sql)
  const endDay = partitions.at(-1)?.toDay ?? span.today
  if (endDay < span.today + daysAhead) {
    await makePartition(sql, endDay, endDay + Math.max(1, Math.ceil((span.today - span.firstDay) / partitionsMax)))
    return true
  }
  for (const partition of partitions) if (await dropIfOld(sql, partition, span.firstDay)) return true
  return false
}

/** Tables that rows are deleted from one by one: those that no time bounds. */
export async function sweptTables(sql: SQL | undefined): Promise<readonly string[]> {
  if (!sql || !(await isPartitioned(sql))) return ['ledger']
  const before = (await partitionsOf(sql)).filter(({ fromDay }) => fromDay === 0)
  return [...before.map(({ name }) => name), otherName]
}

/** As `keepPartitions` says it: the rows that are there become the first partition. false = it was done before. */
export async function takeOver(sql: SQL, today: number): Promise<boolean> {
  const day = today + daysAhead
  return sql.begin(async tx => {
    await begin(tx)
    // As long as it takes: what is there is looked at once, row by row.
    await tx.unsafe('set local statement_timeout = 0')
    await tx.unsafe('lock table ledger in access exclusive mode')
    if (await isPartitioned(tx)) return false
    const indexes = (await tx`select pg_get_indexdef(indexrelid) as text from pg_index
      where indrelid = 'ledger'::regclass and not indisprimary`) as { text: string }[]
    const first = nameOf(0, day)
    await tx.unsafe(
      `create table ledger_parts (like ledger including defaults, primary key (request_id))
        partition by range (request_id)`,
    )
    for (const { text } of indexes) await tx.unsafe(text.replace(/ INDEX \S+ ON \S+ /, ' INDEX ON ledger_parts '))
    await tx.unsafe(`alter table ledger rename to ${first}`)
    await tx.unsafe('alter table ledger_parts rename to ledger')
    await tx.unsafe(`create table ${otherName} partition of ledger default`)
    await tx.unsafe(
      `with moved as (delete from ${first} where request_id >= '${idFrom(day)}' returning *)
        insert into ledger select * from moved`,
    )
    await tx.unsafe(`alter table ledger attach partition ${first} for values from (minvalue) to ('${idFrom(day)}')`)
    return true
  })
}

/** Whether the ledger of this database is divided by days. */
export async function isPartitioned(sql: SQL): Promise<boolean> {
  const [row] = (await sql`select relkind::text as kind from pg_class where oid = 'ledger'::regclass`) as {
    kind: string
  }[]
  return row?.kind === 'p'
}

/** As the last analysis of the table counted them; -1 = there was none, as in a new database. */
async function rowsOf(sql: SQL): Promise<number> {
  const [row] = (await sql`select reltuples as rows from pg_class where oid = 'ledger'::regclass`) as {
    rows: unknown
  }[]
  return Number(row?.rows ?? 0)
}

const nameOf = (fromDay: number, toDay: number): string => `ledger_p${fromDay}_${toDay}`

/** Before every id of the day or a later one, behind all earlier ones (RFC 9562, 5.7: 48 bits of milliseconds). */
function idFrom(day: number): string {
  const digits = (day * dayMs).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}

async function begin(tx: SQL): Promise<void> {
  await tx.unsafe(`set local lock_timeout = '${lockTimeout}'`)
  await tx`select pg_advisory_xact_lock(${advisoryLock})`
}

/** Rows of its days that came before it was there are moved into it. */
async function makePartition(sql: SQL, fromDay: number, toDay: number): Promise<void> {
  const name = nameOf(fromDay, toDay)
  const [from, to] = [idFrom(fromDay), idFrom(toDay)]
  await sql.begin(async tx => {
    await begin(tx)
    if ((await partitionsOf(tx)).some(one => one.toDay >= toDay)) return
    await tx.unsafe(`create table ${name} (like ledger including defaults)`)
    await tx.unsafe(`lock table ${otherName} in access exclusive mode`)
    await tx.unsafe(
      `with moved as (delete from ${otherName} where request_id >= '${from}' and request_id < '${to}' returning *)
        insert into ${name} select * from moved`,
    )
    await tx.unsafe(`alter table ledger attach partition ${name} for values from ('${from}') to ('${to}')`)
  })
}

/** Oldest first, without the default one. */
async function partitionsOf(sql: SQL): Promise<Partition[]> {
  const rows = (await sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ledger'::regclass`) as { name: string }[]
  return rows
    .flatMap(({ name }): Partition[] => {
      const found = /^ledger_p(\d+)_(\d+)$/.exec(name)
      return found ? [{ name, fromDay: Number(found[1]), toDay: Number(found[2]) }] : []
    })
    .toSorted((a, b) => a.fromDay - b.fromDay)
}

/**
 * Only where every row of it began before `firstDay`: an id may be older than its call. Until which day rows are
 * missing is noted with it, see `ledger-retention.ts`.
 */
async function dropIfOld(sql: SQL, { name, toDay }: Partition, firstDay: number): Promise<boolean> {
  if (toDay > firstDay || (await hasNewer(sql, name, firstDay))) return false
  await sql.begin(async tx => {
    await begin(tx)
    // A default partition rules out that it is detached concurrently; this takes milliseconds, or is tried again.
    await tx.unsafe(`alter table ledger detach partition ${name}`)
    if (await hasNewer(tx, name, firstDay)) throw new Error(`rows of a day that is kept came into ${name}`)
    await tx`insert into installation (name, value) values ('ledger_rows_from_day', ${String(firstDay)})
      on conflict (name) do update set value = excluded.value
      where cast(installation.value as integer) < cast(excluded.value as integer)`
    await tx.unsafe(`drop table ${name}`)
  })
  return true
}

async function hasNewer(sql: SQL, name: string, firstDay: number): Promise<boolean> {
  const rows = (await sql.unsafe(
    `select 1 as found from ${name} where started_at_ms >= ${firstDay * dayMs} limit 1`,
  )) as unknown[]
  return rows.length > 0
}
