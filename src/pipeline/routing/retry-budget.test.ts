import { expect, test } from 'bun:test'
import type { Clock } from '../../lib/clock.ts'
import { RetryBudgets } from './retry-budget.ts'

test('a group may repeat 20 % of its calls and 10 a second, beside 20 at the start; groups do not share', () => {
  let nowMs = 0
  const budgets = new RetryBudgets({ monotonicMs: () => nowMs, epochMs: () => nowMs } as Clock)
  const taken = (group: string, most: number): number => {
    let count = 0
    while (count < most && budgets.take(group)) count++
    return count
  }
  expect(taken('a', 100)).toBe(20)
  expect(taken('b', 15)).toBe(15)
  nowMs += 500
  expect(taken('a', 100)).toBe(5)
  for (let call = 0; call < 50; call++) budgets.called('a')
  expect(taken('a', 100)).toBe(10)
  expect(taken('b', 100)).toBe(10)
  nowMs += 60_000
  expect(taken('a', 100)).toBe(20)
})
