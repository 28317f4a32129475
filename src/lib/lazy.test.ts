import { expect, test } from 'bun:test'
import { lazy } from './lazy.ts'

test('a value is made at its first use, and stays the same while it is used', () => {
  let made = 0
  const value = lazy(() => ({ number: ++made }))
  expect(made).toBe(0)
  const first = value()
  expect(value()).toBe(first)
  expect(made).toBe(1)
})

test('what the collector took is made again', async () => {
  let made = 0
  const value = lazy(() => ({ number: ++made }))
  // In a function of its own, so that no variable of the test keeps it.
  const use = () => value().number
  expect(use()).toBe(1)
  for (let tries = 0; made === 1 && tries < 100; tries++) {
    await Bun.sleep(1)
    Bun.gc(true)
    use()
  }
  expect(made).toBeGreaterThan(1)
})
