import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { readdirSync } from 'node:fs'
import { exampleRow, intentOf, ledgerRig, until } from './ledger-fixture.ts'

const rig = ledgerRig()

const { place, open } = rig

afterEach(() => rig.end())

test('a hundred thousand calls drain, and cost the main thread little', async () => {
  const at = await place()
  const ledger = await open(at)
  const count = 100_000
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
