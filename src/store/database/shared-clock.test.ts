import { expect, test } from 'bun:test'
import { SharedClock } from './shared-clock.ts'

const rig = () => {
  let ownMs = 1_000_000
  const shared = new SharedClock({ epochMs: () => ownMs, monotonicMs: () => 7 })
  const pass = (ms: number) => void (ownMs += ms)
  const read = (tookMs: number, databaseMs: number) => {
    const ended = shared.reads()
    pass(tookMs)
    ended(databaseMs)
  }
  return { shared, pass, read }
}

test('it is the clock of the database, however far the own one is from it', () => {
  const { shared, pass, read } = rig()
  read(100, 1_000_050 - 3_600_000)
  expect([shared.epochMs(), shared.aheadMs]).toEqual([1_000_100 - 3_600_000, -3_600_000])
  pass(500)
  expect(shared.epochMs()).toBe(1_000_600 - 3_600_000)
})

test('readings that vary, took long, or during which the own clock jumped, change nothing', () => {
  const { shared, read } = rig()
  read(0, 1_000_900)
  read(5000, 9_000_000)
  read(-10_000, 9_000_000)
  expect([shared.epochMs(), shared.monotonicMs()]).toEqual([995_000, 7])
})
