/** Fills a database with a large ledger, and with keys, users and teams, by few large statements. */
import { existsSync } from 'node:fs'
import { SQL } from 'bun'
import { columnList } from '../../src/core/ledger/ledger-columns.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { openDatabase } from '../../src/store/database/open.ts'
import { openLedgerDatabase } from '../../src/store/ledger/ledger-database.ts'
import { exampleRow } from '../../src/store/ledger/ledger-fixture.ts'
import { addLatencyText, expectedLatencyText } from '../../src/store/ledger/sums/latency-table.ts'
import { decodeRecord, encodeSettlement } from '../../src/store/ledger/journal/ledger-record.ts'
import { addDerivedText, derivedTables, summedText } from '../../src/store/ledger/sums/rollup-derived.ts'
import { addRollupText, expectedRollupText, rollupScopes } from '../../src/store/ledger/sums/rollup-table.ts'

/** Users of a team, and keys of a user. */
export const [usersPerTeam, keysPerUser] = [50, 5]
const dayMs = 86_400_000
/** Of a statement that makes rows. */
const partRows = 500_000

interface Amounts {
  readonly rows: number
  readonly keys: number
  readonly days: number
}

/** Whether the database has a ledger: it was filled before. */
export async function isFilled(databaseUrl: string): Promise<boolean> {
  if (databaseUrl.startsWith('sqlite:')) return existsSync(databaseUrl.slice('sqlite:'.length))
  return withDatabase(databaseUrl, async sql => {
    const [found] = (await sql`select to_regclass('ledger')::text as name`) as { name: string | null }[]
    return found?.name != null
  })
}

/** Makes the tables, and one row of the ledger that the others are copies of. */
export async function prepare(databaseUrl: string): Promise<void> {
  const database = await openDatabase(databaseUrl)
  await migrate(database)
  await database.close()
  const ledger = await openLedgerDatabase(databaseUrl)
  const record = decodeRecord(
    encodeSettlement(exampleRow({ request_id: 'copied', price_list: '2026-11-20', cost_source: 'prices' })),
  )
  if (record?.kind !== 'settlement') throw new Error('a row is no settlement')
  await ledger.insert([record.values])
  await ledger.close()
}

/**
 * Rows spread evenly over the days, in the order of their time; every key has as many. They are stored without indexes,
 * which are made afterwards, and then the daily sums are made from them: as the gateway would have stored them, in a
 * twentieth of the time.
 */
export async function fillLedger(databaseUrl: string, { rows, keys, days }: Amounts): Promise<void> {
  const startMs = performance.now()
  const firstMs = Math.floor(Date.now() / dayMs - days + 1) * dayMs
  await withDatabase(databaseUrl, async sql => {
    const isSqlite = databaseUrl.startsWith('sqlite:')
    if (isSqlite)
      for (const pragma of ['synchronous = off', 'cache_size = -1000000']) await sql.unsafe(`pragma ${pragma}`)
    const indexes = await indexesOf(sql, isSqlite)
    for (const { name } of indexes) await sql.unsafe(`drop index ${name}`)
    const changed = changedColumns(isSqlite, { rows, keys, firstMs, spanMs: Date.now() - firstMs })
    const names = columnList.map(column => column.name)
    const values = names.map(name => changed[name] ?? `row.${name}`)
    for (let from = 0; from < rows; from += partRows)
      await sql.unsafe(`insert into ledger (${names.join(', ')}) select ${values.join(', ')}
        from ${numbers(isSqlite, from, Math.min(rows, from + partRows))},
        (select * from ledger where request_id = 'copied') as row`)
    for (const table of ['ledger_daily', ...derivedTables.map(one => one.name), 'ledger_latency'])
      await sql.unsafe(`delete from ${table}`)
    await sql.unsafe("delete from ledger where request_id = 'copied'")
    for (const { text } of indexes) await sql.unsafe(text)
    const [kind, firstDay] = [isSqlite ? 'sqlite' : 'postgres', firstMs / dayMs] as const
    for (let day = firstDay; day < firstDay + days; day++) {
      for (const scope of rollupScopes) await sql.unsafe(addRollupText(expectedRollupText(kind, scope)), [day])
      for (const table of derivedTables)
        for (const scope of table.scopes)
          await sql.unsafe(addDerivedText(table, summedText(table, scope, 'ledger_daily', 'and day = $1')), [day])
      await sql.unsafe(addLatencyText(expectedLatencyText()), [day])
    }
    // SQLite is not analyzed in use; Postgres does it by itself after a while.
    if (!isSqlite) await sql.unsafe('vacuum analyze')
  })
  console.log(`${rows} rows of ${keys} keys stored in ${((performance.now() - startMs) / 1000).toFixed(0)} s`)
}

/** One key, user and team are there; further ones are copies of their rows under other ids. */
export async function copyKeys(databaseUrl: string, keys: number): Promise<void> {
  const users = Math.ceil(keys / keysPerUser)
  const isSqlite = databaseUrl.startsWith('sqlite:')
  await withDatabase(databaseUrl, async sql => {
    const copy = async (table: string, count: number, changed: Readonly<Record<string, string>>) => {
      const names = Object.keys(((await sql.unsafe(`select * from ${table} limit 1`)) as object[])[0]!)
      const values = names.map(
        name => changed[name] ?? (name === 'created_at_ms' ? 'row.created_at_ms - n' : `row.${name}`),
      )
      await sql.unsafe(`insert into ${table} (${names.join(', ')}) select ${values.join(', ')}
        from ${numbers(isSqlite, 0, count)}, (select * from ${table} limit 1) as row`)
    }
    await copy('teams', Math.ceil(users / usersPerTeam), { id: `'team-' || n`, alias: `'Team ' || n` })
    await copy('users', users, { id: `'user-' || n`, email: `'user-' || n || '@example.com'`, user_name: 'null' })
    await copy('virtual_keys', keys, {
      id: `'key-' || n`,
      hash: isSqlite ? 'hex(randomblob(32))' : "encode(sha256(n::text::bytea), 'hex')",
      alias: `'key ' || n`,
      user_id: `'user-' || (n / ${keysPerUser})`,
      team_id: `'team-' || (n / ${keysPerUser * usersPerTeam})`,
    })
  })
}

/** SQL of the columns of row `n` that are not those of the copied row. */
function changedColumns(
  isSqlite: boolean,
  { rows, keys, firstMs, spanMs }: { rows: number; keys: number; firstMs: number; spanMs: number },
): Readonly<Record<string, string>> {
  const ms = `(${firstMs} + n * ${spanMs} / ${rows})`
  // A step that shares no factor with most counts: neighbours in time have different keys.
  const key = `((n * 7919) % ${keys})`
  // As a UUID of version 7: the time, and then what makes it the only one.
  const id = isSqlite
    ? `printf('%08x-%04x-7000-8000-%012x', ${ms} >> 16, ${ms} & 65535, n)`
    : `format('%s-%s-7000-8000-%s', lpad(to_hex(${ms} >> 16), 8, '0'), lpad(to_hex(${ms} & 65535), 4, '0'),
        lpad(to_hex(n), 12, '0'))`
  return {
    request_id: id,
    started_at_ms: ms,
    key_id: `'key-' || ${key}`,
    user_id: `'user-' || (${key} / ${keysPerUser})`,
    team_id: `'team-' || (${key} / ${keysPerUser * usersPerTeam})`,
    model: `'model-' || (n % 12)`,
    deployment_id: `'deployment-' || (n % 12)`,
    outcome: `case when n % 200 = 0 then 'error' else 'success' end`,
    client_name: `'client-' || (n % 5)`,
    request_tags: `case when n % 10 = 0 then '["tag-' || (n % 200) || '"]' end`,
    cost_nano_usd: '1000 + n % 1000000',
  }
}

const numbers = (isSqlite: boolean, from: number, to: number): string =>
  isSqlite
    ? `(with recursive numbers (n) as (select ${from} union all select n + 1 from numbers where n < ${to - 1})
        select n from numbers) as numbers`
    : `generate_series(${from}::bigint, ${to - 1}::bigint) as numbers (n)`

async function indexesOf(sql: SQL, isSqlite: boolean): Promise<{ name: string; text: string }[]> {
  const rows = await sql.unsafe(
    isSqlite
      ? "select name, sql as text from sqlite_schema where type = 'index' and tbl_name = 'ledger' and sql is not null"
      : `select indexname as name, indexdef as text from pg_indexes
         where tablename = 'ledger' and indexname <> 'ledger_pkey'`,
  )
  return [...(rows as { name: string; text: string }[])]
}

/** On one connection, without a limit of time. */
export async function withDatabase<T>(databaseUrl: string, work: (sql: SQL) => Promise<T>): Promise<T> {
  const sql = new SQL(databaseUrl, { max: 1 })
  try {
    // A thread of the gateway that was stopped just now may have the file still.
    if (databaseUrl.startsWith('sqlite:')) await sql.unsafe('pragma busy_timeout = 10000')
    return await work(sql)
  } finally {
    await sql.close()
  }
}
