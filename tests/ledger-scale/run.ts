/**
 * `npm run ledger-scale -- --rows 1000000 --keys 100000 --days 30`: a ledger of so many rows, and so many keys with
 * their users and teams, in a SQLite file; how long a gateway on it takes for lists, searches and reports. Ends with
 * status 1 when a 95th percentile is above the limit. With `--directory` the file is kept, and used again. With
 * `--beside SECONDS` it measures calls beside clean-up and live pages in place of that (`beside.ts`).
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Database as Sqlite } from 'bun:sqlite'
import { randomUUIDv7 } from 'bun'
import { startServer } from '../../src/app/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { openDatabase } from '../../src/store/database/open.ts'
import { openLedgerDatabase } from '../../src/store/ledger/ledger-database.ts'
import { exampleRow } from '../../src/store/ledger/ledger-fixture.ts'
import { decodeRecord, encodeSettlement } from '../../src/store/ledger/ledger-record.ts'
import { masterKey } from '../e2e/harness.ts'
import { measureBeside } from './beside.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '100000' },
    days: { type: 'string', default: '30' },
    repeats: { type: 'string', default: '40' },
    directory: { type: 'string' },
    beside: { type: 'string' },
  },
})
const [rows, keys, days, repeats] = [values.rows, values.keys, values.days, values.repeats].map(Number) as [
  number,
  number,
  number,
  number,
]
if (![rows, keys, days, repeats].every(one => Number.isInteger(one) && one > 0))
  throw new Error('--rows, --keys, --days and --repeats must be whole numbers above 0')

const p95MsMax = 200
const batchRows = 2000
const dayMs = 86_400_000
const usersPerTeam = 50
const keysPerUser = 5

const directory = values.directory ?? mkdtempSync(join(tmpdir(), 'ledger-scale-'))
mkdirSync(directory, { recursive: true })
const path = join(directory, 'modelgate.sqlite')
const databaseUrl = `sqlite:${path}`

if (!existsSync(path)) await fill()
const seconds = Number(values.beside)
const failed = values.beside === undefined ? await measure() : await measureBeside({ path, days, seconds })
if (!values.directory) rmSync(directory, { recursive: true, force: true })
process.exit(failed ? 1 : 0)

/** Rows spread evenly over the days, in the order of their time; every key has as many. */
async function fill(): Promise<void> {
  const database = await openDatabase(databaseUrl)
  await migrate(database)
  await database.close()
  await fillKeys()
  const ledger = await openLedgerDatabase(databaseUrl)
  ledger.setBulk(true)
  const firstMs = Math.floor(Date.now() / dayMs - days + 1) * dayMs
  const startMs = performance.now()
  for (let at = 0; at < rows; at += batchRows) {
    const batch = Array.from({ length: Math.min(batchRows, rows - at) }, (_, index) => rowAt(at + index, firstMs))
    await ledger.insert(batch)
  }
  await ledger.close()
  const seconds = (performance.now() - startMs) / 1000
  console.log(`${rows} rows of ${keys} keys stored in ${seconds.toFixed(0)} s: ${Math.round(rows / seconds)} a second`)
}

/** One key, user and team are made by the API; the others are copies of their rows under other ids. */
async function fillKeys(): Promise<void> {
  const server = await start()
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${server.url.replace(/\/$/, '')}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify(body),
    })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  }
  await post('/team/new', { team_id: 'first', team_alias: 'first', max_budget: 100 })
  await post('/user/new', { user_id: 'first', user_email: 'first@example.com', auto_create_key: false })
  await post('/key/generate', { key_alias: 'first', user_id: 'first', team_id: 'first', max_budget: 10 })
  await server.stop()
  const database = new Sqlite(path, { readwrite: true, create: false })
  database.run('pragma busy_timeout = 10000')
  const users = Math.ceil(keys / keysPerUser)
  const teams = Math.ceil(users / usersPerTeam)
  copyRows(database, 'teams', teams, { id: `'team-' || n`, alias: `'Team ' || n` })
  copyRows(database, 'users', users, { id: `'user-' || n`, email: `'user-' || n || '@example.com'`, user_name: 'null' })
  copyRows(database, 'virtual_keys', keys, {
    id: `'key-' || n`,
    hash: `hex(randomblob(32))`,
    alias: `'key ' || n`,
    user_id: `'user-' || (n / ${keysPerUser})`,
    team_id: `'team-' || (n / ${keysPerUser * usersPerTeam})`,
  })
  database.close()
}

function copyRows(database: Sqlite, table: string, count: number, changed: Readonly<Record<string, string>>): void {
  const columns = (database.query(`pragma table_info(${table})`).all() as { name: string }[]).map(({ name }) => name)
  const values = columns.map(name => changed[name] ?? (name === 'created_at_ms' ? 'created_at_ms - n' : `row.${name}`))
  database.run(`with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n < ${count - 1})
    insert into ${table} (${columns.join(', ')}) select ${values.join(', ')}
    from numbers, (select * from ${table} limit 1) as row`)
}

function start() {
  return startServer({
    configFile: undefined,
    host: '127.0.0.1',
    port: 0,
    dataDirectory: directory,
    masterKey: new Secret(masterKey),
    databaseUrl,
    redisUrl: undefined,
    environment: { MODELGATE_LOG_LEVEL: 'off', MODELGATE_DRAIN_DELAY_MS: '0', MODELGATE_DISCOVER: '0' },
  })
}

function rowAt(at: number, firstMs: number) {
  // A step that shares no factor with most counts: neighbours in time have different keys.
  const key = (at * 7919) % keys
  const user = Math.floor(key / keysPerUser)
  const row = exampleRow({
    request_id: randomUUIDv7(),
    started_at_ms: firstMs + Math.floor((at / rows) * (Date.now() - firstMs)),
    key_id: `key-${key}`,
    user_id: `user-${user}`,
    team_id: `team-${Math.floor(user / usersPerTeam)}`,
    model: `model-${at % 12}`,
    deployment_id: `deployment-${at % 12}`,
    client_name: `client-${at % 5}`,
    request_tags: at % 10 === 0 ? [`tag-${at % 200}`] : null,
    price_list: '2026-11-20',
    cost_source: 'prices',
    cost_nano_usd: String(1000 + (at % 1_000_000)),
  })
  const record = decodeRecord(encodeSettlement(row))
  if (record?.kind !== 'settlement') throw new Error('a row is no settlement')
  return record.values
}

/** true = something took too long. */
async function measure(): Promise<boolean> {
  const server = await start()
  const random = (most: number) => Math.floor(Math.random() * most)
  const userCount = Math.ceil(keys / keysPerUser)
  const questions: Readonly<Record<string, () => string>> = {
    'keys, first page': () => '/key/list?size=50&return_full_object=true',
    'keys, a page far back': () => `/key/list?size=50&return_full_object=true&page=${1 + random(keys / 50)}`,
    'keys of a team': () => `/key/list?size=50&team_id=team-${random(Math.ceil(userCount / usersPerTeam))}`,
    'users, first page': () => '/user/list?page_size=50',
    'users, searched': () => `/user/list?page_size=50&user_email=user-${random(userCount)}@`,
    'teams, first page': () => '/v2/team/list?page_size=50',
    'budgets, nearest to their limits': () => '/budget/usage',
    overview: () => '/overview',
    'list, first page': () => '/spend/logs?limit=50',
    'search, a key': () => `/spend/logs?limit=50&key_id=key-${random(keys)}`,
    'search, a user and a model': () => `/spend/logs?limit=50&user_id=user-${random(userCount)}&model=model-3`,
    'search, a team': () => `/spend/logs?limit=50&team_id=team-${random(Math.ceil(userCount / usersPerTeam))}`,
    'daily activity, a user': () => `/user/daily/activity?user_id=user-${random(userCount)}`,
    'daily activity, a team': () => `/team/daily/activity?team_ids=team-${random(Math.ceil(userCount / usersPerTeam))}`,
    'daily activity, a tag': () => `/tag/daily/activity?tags=tag-${random(20) * 10}`,
    'daily activity, everybody, a day': () => '/user/daily/activity?page_size=1',
    'spend by model': () => '/global/spend/models',
    'activity by day': () => '/global/activity',
  }
  let failed = false
  for (const [name, path] of Object.entries(questions)) {
    const times: number[] = []
    for (let at = 0; at < repeats; at++) times.push(await timeOf(`${server.url.replace(/\/$/, '')}${path()}`))
    const p95Ms = times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1]!
    failed ||= p95Ms > p95MsMax
    console.log(`${name.padEnd(34)} p95 ${p95Ms.toFixed(1).padStart(8)} ms${p95Ms > p95MsMax ? '  too long' : ''}`)
  }
  await server.stop()
  return failed
}

async function timeOf(url: string): Promise<number> {
  const startMs = performance.now()
  const response = await fetch(url, { headers: { authorization: `Bearer ${masterKey}` } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${text.slice(0, 300)}`)
  return performance.now() - startMs
}
