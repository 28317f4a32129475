import { afterEach, expect, test } from 'bun:test'
import { openCountedLedger } from './ledger-fixture.ts'

const cleanups: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const openOne = () => openCountedLedger(cleanups)

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
