/** The worker of a ledger without traffic is idle until it is woken, and what is appended then is stored by itself. */
import { afterEach, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { until } from '../../../tests/support/until.ts'
import { exampleRow, intentOf, openCountedLedger } from './ledger-fixture.ts'
import type { JournalledLedger } from './ledger.ts'

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const openOne = () => openCountedLedger(cleanups)

function record(ledger: JournalledLedger): void {
  const row = exampleRow()
  ledger.begin(intentOf(row))
  ledger.settle(row)
}

const stored = (rows: () => number, wanted: number): Promise<true> =>
  until(() => rows() >= wanted, `${wanted} rows are stored`)

/** Times that any thread of this process began to wait. */
function waits(): number {
  const of = (task: string) =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/self/task/${task}/status`, 'utf8'))![1])
  return readdirSync('/proc/self/task').reduce((sum, task) => sum + of(task), 0)
}

test('the row of a call that ends while the worker becomes idle is stored by itself', async () => {
  await Promise.all(
    Array.from({ length: 16 }, async (_, at) => {
      const { ledger, rows } = await openOne()
      for (let round = 1; round <= 4; round++) {
        record(ledger)
        await stored(rows, round)
        await Bun.sleep(850 + at * 25 + round)
      }
      // The worker reports it behind the row.
      await until(() => ledger.backlog().bytes === 0, 'nothing is left')
    }),
  )
})

test.skipIf(process.platform !== 'linux')(
  'an idle ledger uses no processor',
  async () => {
    const { ledger, rows } = await openOne()
    record(ledger)
    await stored(rows, 1)
    await Bun.sleep(2500)
    const before = waits()
    await Bun.sleep(2000)
    // Looking twenty times a second made 150 of them.
    expect(waits() - before).toBeLessThan(75)
    record(ledger)
    await stored(rows, 2)
  },
  15_000,
)
