/** The commands on the ledger, on a database with rows. */
import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { exampleRow, ledgerRig, record } from '../store/ledger/ledger-fixture.ts'
import { runCommand } from './cli-fixture.ts'
import { blankRecord } from '../core/tenancy/fields.ts'
import { teamFields, userFields } from '../core/tenancy/field-tables.ts'
import { openDatabase } from '../store/database/open.ts'
import { createTenancyStore } from '../store/tenancy/store.ts'
import { dayMs, systemClock } from '../lib/clock.ts'

const rig = ledgerRig()
afterEach(() => rig.end())

const noonMs = Date.parse('2026-11-20T12:00:00Z')

/** Rows at noon of two days, and a way to run commands on their database. */
async function ledgerOfTwoDays() {
  const place = await rig.place()
  const ledger = await rig.open(place)
  for (const at of [0, 1, 1]) record(ledger, exampleRow({ started_at_ms: noonMs + at * dayMs }))
  await ledger.close()
  const run = (...words: string[]) =>
    runCommand(['ledger', ...words, '--data-dir', place.directory], { DATABASE_URL: place.databaseUrl })
  const change = (text: string) => {
    const database = new Database(place.databaseUrl.slice('sqlite:'.length))
    database.run(text)
    database.close()
  }
  return { run, change }
}

test('verify names the days whose sums are wrong, and rebuild mends those of the span', async () => {
  const { run, change } = await ledgerOfTwoDays()
  expect(await run('verify')).toEqual({ code: 0, out: 'the sums of 2 days are those of their rows\n', error: '' })
  change("update ledger_daily set cost_nano_usd = cost_nano_usd + 1 where scope = 'key'")
  const found = await run('verify', '--json')
  expect(found.code).toBe(1)
  const differing = (day: string) => ({ day, scope: 'key', wrong: 1, missing: 1 })
  expect(JSON.parse(found.out)).toEqual({
    ok: false,
    days: 2,
    differences: [
      differing('2026-11-20'),
      differing('2026-11-21'),
      { day: 'all', scope: 'totals of key', wrong: 1, missing: 1 },
    ],
  })
  const mended = await run('rebuild', '--from', '2026-11-21', '--to', '2026-11-21')
  expect(mended).toEqual({ code: 0, out: 'the sums of 1 days were made from their rows\n', error: '' })
  const left = await run('verify')
  expect(left.code).toBe(1)
  expect(left.out).toMatch(/^DAY +SUMS BY +WRONG +MISSING\n2026-11-20 +key +1 +1\n$/)
  expect(left.error).toContain('modelgate ledger rebuild')
  await run('rebuild')
  expect((await run('verify')).code).toBe(0)
})

test('days that are none are refused, and so is a span that ends before it begins', async () => {
  const { run } = await ledgerOfTwoDays()
  expect(await run('verify', '--from', 'yesterday')).toMatchObject({
    code: 2,
    error: "--from must be a day such as 2026-11-01; got 'yesterday'\n",
  })
  const swapped = await run('rebuild', '--from', '2026-11-02', '--to', '2026-11-01')
  expect(swapped).toMatchObject({ code: 2, error: '--from is after --to; swap them\n' })
})

test('export writes every row of the span once, oldest first, with exact money and cells that are no formulas', async () => {
  const place = await rig.place()
  const ledger = await rig.open(place)
  const rows = Array.from({ length: 2500 }, (_, at) =>
    exampleRow({
      // Many in one millisecond, so that a page ends between them.
      started_at_ms: noonMs + Math.floor(at / 700),
      cost_nano_usd: String(9_007_199_254_740_993n + BigInt(at)),
      model: at === 7 ? '=cmd("x"),\ny' : 'small-model',
      request_tags: at === 7 ? ['a', 'b,"c'] : null,
      key_alias: at === 7 ? 'x;=1+1;-2' : at === 8 ? '\uff1dcmd()' : null,
    }),
  )
  for (const row of rows) record(ledger, row)
  record(ledger, exampleRow({ started_at_ms: noonMs + dayMs }))
  await ledger.close()
  const run = (...words: string[]) =>
    runCommand(['ledger', 'export', '--data-dir', place.directory, ...words], { DATABASE_URL: place.databaseUrl })
  const lines = (await run('--format', 'jsonl', '--to', '2026-11-20')).out.trimEnd().split('\n')
  const order = (one: { started_at_ms: number; request_id: string }) => `${one.started_at_ms} ${one.request_id}`
  const expected = rows.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
  expect(lines.map(line => JSON.parse(line) as object)).toEqual(expected)
  const csv = (await run('--from', '2026-11-20')).out
  expect(csv.split('\n', 1)[0]).toStartWith('request_id,started_at_ms,')
  expect(csv).toContain(`,"'=cmd(""x""),\ny",`)
  // Where the comma is that of decimals, spreadsheets part cells at semicolons.
  expect(csv).toContain(",x;'=1+1;-2,")
  expect(csv).toContain(",'\uff1dcmd(),")
  expect(csv).toContain(',"[""a"",""b,\\""c""]"')
  expect(csv).toContain(`,${rows[3]!.cost_nano_usd},`)
  expect(csv.match(/^[0-9a-f-]{36},/gm)).toHaveLength(2501)
  expect(await run('--format', 'xml')).toMatchObject({ code: 2, error: "--format must be csv or jsonl; got 'xml'\n" })
})

/** Calls of two months by a team with a name, one without, and no team. */
async function ledgerOfTeams() {
  const place = await rig.place()
  const ledger = await rig.open(place)
  const row = { team_id: 'team-1', cost_nano_usd: '1500000000', input_tokens: 10, output_tokens: 5 }
  const at = { started_at_ms: noonMs }
  record(ledger, exampleRow({ ...row, ...at }))
  record(ledger, exampleRow({ ...row, ...at, model: 'large', cost_nano_usd: '1' }))
  record(ledger, exampleRow({ ...row, ...at, team_id: 'team-2', outcome: 'error', cost_nano_usd: '0' }))
  record(ledger, exampleRow({ ...row, ...at, team_id: null, key_alias: null }))
  record(ledger, exampleRow({ ...row, started_at_ms: noonMs + 15 * dayMs }))
  await ledger.close()
  const database = await openDatabase(place.databaseUrl)
  const store = createTenancyStore({ database, clock: systemClock })
  const team = { ...blankRecord(teamFields), id: 'team-1', alias: 'Platform' }
  const user = { ...blankRecord(userFields), id: 'user-1', email: 'ada@example.com', role: 'internal_user' as const }
  await store.change({ id: 'x', keyHash: 'x' }, async tx => {
    await tx.insert('team', team)
    await tx.insert('user', user)
  })
  await database.close()
  return (...words: string[]) =>
    runCommand(['ledger', ...words, '--data-dir', place.directory], { DATABASE_URL: place.databaseUrl })
}

test('export --human has moments, dollars and names of today; what has no name keeps its id', async () => {
  const run = await ledgerOfTeams()
  const lines = (await run('export', '--human', '--format', 'jsonl')).out.trimEnd().split('\n')
  const rows = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  expect(rows).toHaveLength(5)
  expect(rows.find(row => row.cost_usd === '0.000000001')).toMatchObject({
    started_at: '2026-11-20T12:00:00.000Z',
    model: 'large',
    key: 'team a',
    user: 'ada@example.com',
    team: 'Platform',
  })
  expect(rows.filter(row => row.team === 'Platform')).toHaveLength(3)
  expect(rows.filter(row => row.team === 'team-2')).toHaveLength(1)
  expect(rows.find(row => row.team === null)).toMatchObject({ key: 'key-1', cost_usd: '1.5', status: 200 })
  const csv = (await run('export', '--human', '--to', '2026-11-30')).out.trimEnd().split('\n')
  expect(csv[0]).toStartWith('started_at,request_id,outcome,status,')
  expect(csv.slice(1).every(line => line.startsWith('2026-11-20T12:00:00.000Z,'))).toBe(true)
  expect(csv).toHaveLength(5)
})

test('summary adds up months by team and other things, with what belongs to none, and every call once', async () => {
  const run = await ledgerOfTeams()
  expect((await run('summary')).out.split('\n').map(line => line.trim().split(/ {2,}/))).toEqual([
    ['PERIOD', 'TEAM', 'CALLS', 'FAILED', 'INPUT TOKENS', 'OUTPUT TOKENS', 'COST USD', 'UNPRICED'],
    ['2026-11', 'Platform', '2', '0', '20', '10', '1.500000001', '0'],
    ['2026-11', 'team-2', '1', '1', '10', '5', '0', '0'],
    ['2026-11', '-', '1', '0', '10', '5', '1.5', '0'],
    ['2026-12', 'Platform', '1', '0', '10', '5', '1.5', '0'],
    [''],
  ])
  const lines = async (...words: string[]) => {
    const { out } = await run('summary', '--format', 'jsonl', ...words)
    return out
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as object)
  }
  expect(await lines('--by', 'team,model', '--to', '2026-11-30')).toMatchObject([
    { team: 'Platform', model: 'small-model', calls: 1, cost_usd: '1.5' },
    { team: 'Platform', model: 'large', calls: 1, cost_usd: '0.000000001' },
    { team: 'team-2', model: 'small-model', calls: 1, failed: 1 },
    { team: null, model: null, calls: 1, cost_usd: '1.5' },
  ])
  expect(await lines('--by', 'user', '--per', 'all')).toMatchObject([
    { period: 'all', user: 'ada@example.com', calls: 5 },
  ])
  expect(await lines('--by', 'model', '--per', 'day', '--from', '2026-12-01')).toMatchObject([
    { period: '2026-12-05', model: 'small-model', calls: 1 },
  ])
  expect((await run('summary', '--format', 'csv')).out).toContain('\n2026-11,Platform,2,0,20,10,1.500000001,0\n')
})

test('summary refuses what is not kept together, and names what is', async () => {
  const run = await ledgerOfTeams()
  const refused = (...words: string[]) => run('summary', ...words)
  expect(await refused('--by', 'colour')).toMatchObject({ code: 2, error: expect.stringContaining("got 'colour'") })
  expect(await refused('--by', 'team,tag')).toMatchObject({ code: 2, error: expect.stringContaining('team,model') })
  expect(await refused('--by', 'team,team')).toMatchObject({ code: 2 })
  const error = "--per must be month, day or all; got 'week'\n"
  expect(await refused('--per', 'week')).toMatchObject({ code: 2, error })
})
