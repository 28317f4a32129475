import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { systemClock } from '../../lib/clock.ts'
import { makePlace } from './ledger-fixture.ts'
import type { LedgerPlace } from './ledger-fixture.ts'
import { openLedger } from './ledger.ts'
import type { JournalledLedger } from './ledger.ts'

const cleanups: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function openOne(): Promise<{ ledger: JournalledLedger; rows: () => number }> {
  const at: LedgerPlace = await makePlace()
  cleanups.push(() => at.remove())
  const ledger = await openLedger({ databaseUrl: at.databaseUrl, journalDirectory: at.journal, clock: systemClock })
  cleanups.push(() => ledger.close())
  const database = new Database(at.databaseUrl.slice('sqlite:'.length), { readonly: true })
  cleanups.push(() => database.close())
  const count = database.query<{ rows: number }, []>('select count(*) as rows from ledger')
  return { ledger, rows: () => count.get()!.rows }
}

test('an idle worker answers at once', async () => {
  const { ledger } = await openOne()
  await Bun.sleep(1500)
  const fromMs = performance.now()
  expect((await ledger.query({ limit: 1 })).rows).toEqual([])
  expect(performance.now() - fromMs).toBeLessThan(500)
  await Bun.sleep(1500)
  const closing = performance.now()
  await ledger.close()
  expect(performance.now() - closing).toBeLessThan(1000)
}, 15_000)
