/** What budgets add to a call on one machine. */
import { expect, test } from 'bun:test'
import { BudgetPlan } from '../../access/limits/budget-plan.ts'
import { systemClock } from '../../lib/clock.ts'
import { BudgetCounters } from './budget-counters.ts'
import { takenOf } from './budget-fixture.ts'
import { MemoryLimiter } from './limiter-memory.ts'

const definition = (id: string) => ({
  id,
  maxNanoUsd: 9e15,
  softNanoUsd: 1e15,
  duration: { count: 1, unit: 'd' } as const,
  resetAtMs: null,
  spendResetAtMs: null,
  raise: null,
})

test('three budgets cost at most 6 us a call', () => {
  const limiter = new MemoryLimiter(systemClock, new BudgetCounters({ clock: systemClock }))
  const plan = new BudgetPlan(['key:a', 'team:b', 'user:c'].map(definition), { timeZone: 'UTC', writer: 'here' })
  const call = () => {
    const { scopes } = plan.at(systemClock.epochMs())
    let left = Infinity
    for (const scope of scopes) left = Math.min(left, limiter.budgetLeft(scope))
    const taken = limiter.take(scopes, 0, Math.min(left, 1_000_000))
    if (taken instanceof Promise) throw new Error('a budget was not known')
    takenOf(taken).release(0, 400_000)
  }
  for (let at = 0; at < 50_000; at++) call()
  let best = Infinity
  for (let round = 0; round < 10; round++) {
    const from = performance.now()
    for (let at = 0; at < 10_000; at++) call()
    best = Math.min(best, (performance.now() - from) / 10)
  }
  console.log(`three budgets: ${best.toFixed(2)} us a call`)
  expect(best).toBeLessThan(6)
})
