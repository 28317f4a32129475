/** The commands on the ledger, on a database with rows. */
import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { exampleRow, ledgerRig, record } from '../store/ledger/ledger-fixture.ts'
import { runCommand } from './cli-fixture.ts'
import { dayMs } from '../lib/clock.ts'

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
