import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { readdirSync } from 'node:fs'
import { exampleRow, intentOf, leaveJournal, ledgerRig } from './ledger-fixture.ts'
import { until } from '../../../tests/support/until.ts'

const rig = ledgerRig()

const { place, open } = rig

afterEach(() => rig.end())

test('fifty thousand calls drain, and cost the main thread little', async () => {
  const at = await place()
  const ledger = await open(at)
  const count = 50_000
  const rows = Array.from({ length: count }, () => exampleRow())
  const intents = rows.map(intentOf)
  const startMs = performance.now()
  for (let index = 0; index < count; index++) {
    ledger.begin(intents[index]!)
    ledger.settle(rows[index]!)
  }
  const costUs = ((performance.now() - startMs) / count) * 1000
  await until(async () => {
    await ledger.flush()
    return (await ledger.query({ limit: 1, requestId: rows.at(-1)!.request_id })).rows.length === 1
  })
  const drainedMs = performance.now() - startMs
  await ledger.close()
  const database = new Database(at.databaseUrl.slice('sqlite:'.length))
  const totals = database.query('select count(*), sum(cost_nano_usd) from ledger').values()
  expect(totals).toEqual([[count, count * 123456789]])
  database.close()
  expect(readdirSync(at.journal)).toEqual([])
  const drained = `${count} rows drained in ${Math.round(drainedMs)} ms`
  process.stdout.write(`begin + settle ${costUs.toFixed(2)} us, ${drained}\n`)
  // Measured 1.8 us, with segments made in between; a busy machine gets room.
  expect(costUs).toBeLessThan(10)
}, 20_000)

test('calls of a thousand keys drain at most four times as slowly as those of one', async () => {
  const count = 30_000
  const drainedMs = async (keys: number) => {
    const at = await place()
    const ledger = await open(at)
    const rows = Array.from({ length: count }, (_, index) => exampleRow({ key_id: `key-${(index * 7919) % keys}` }))
    const startMs = performance.now()
    for (const row of rows) {
      ledger.begin(intentOf(row))
      ledger.settle(row)
    }
    await until(async () => {
      await ledger.flush()
      return (await ledger.query({ limit: 1, requestId: rows.at(-1)!.request_id })).rows.length === 1
    })
    return performance.now() - startMs
  }
  const [one, thousand] = [await drainedMs(1), await drainedMs(1000)]
  const rate = (ms: number) => Math.round((count / ms) * 1000)
  process.stdout.write(`${rate(one)} rows/s of one key, ${rate(thousand)} of a thousand\n`)
  expect(thousand).toBeLessThan(4 * one)
}, 40_000)

test('fifty thousand rows of an earlier process are stored at 30,000 a second or more, new ones within 2 s', async () => {
  const at = await place()
  const count = 50_000
  const rows = Array.from({ length: count }, (_, index) => exampleRow({ key_id: `key-${index % 50}` }))
  leaveJournal(at.journal, rows, { start: '1763710000000-1-dead' })
  const startMs = performance.now()
  const ledger = await open(at)
  const row = exampleRow()
  ledger.begin(intentOf(row))
  ledger.settle(row)
  expect((await ledger.query({ limit: 1, requestId: row.request_id })).rows).toHaveLength(1)
  const visibleMs = performance.now() - startMs
  await until(() => ledger.backlog().bytes === 0)
  const storedMs = performance.now() - startMs
  await ledger.close()
  const rate = Math.round((count / storedMs) * 1000)
  process.stdout.write(`${rate} earlier rows/s, the first new row after ${Math.round(visibleMs)} ms\n`)
  // Measured 55,000 rows/s and 60 ms.
  expect(visibleMs).toBeLessThan(2000)
  expect(storedMs).toBeLessThan((count / 30_000) * 1000)
}, 60_000)

test('a database that takes rows again is noticed within two seconds, however long it took none', async () => {
  const at = await place()
  const ledger = await open(at)
  const blocker = new Database(at.databaseUrl.slice('sqlite:'.length))
  blocker.run('pragma busy_timeout = 5000')
  blocker.run('begin immediate')
  const row = exampleRow()
  ledger.begin(intentOf(row))
  ledger.settle(row)
  await until(() => ledger.failure() !== null)
  await Bun.sleep(5000)
  blocker.run('commit')
  blocker.close()
  const fromMs = performance.now()
  await until(() => ledger.failure() === null)
  expect(performance.now() - fromMs).toBeLessThan(2000)
  await ledger.close()
}, 30_000)
