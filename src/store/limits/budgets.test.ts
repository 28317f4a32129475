/** Budgets of one process: never exceeded, all of it usable, and what was spent is what the ledger says. */
import { expect, test } from 'bun:test'
import type { LimitReservation } from '../../core/tenancy/limits.ts'
import { BudgetCounters } from './budget-counters.ts'
import type { BudgetScope } from './budget-counters.ts'
import { budgetOf, takenOf, TestClock, TestLedger } from './budget-fixture.ts'
import { MemoryLimiter } from './limiter-memory.ts'
import { until } from '../../../tests/support/until.ts'

const open = (ledger = new TestLedger(), clock = new TestClock(), writer: string = crypto.randomUUID()) => {
  const alerts: string[] = []
  const softReached = ({ id }: BudgetScope) => alerts.push(id)
  const limiter = new MemoryLimiter(clock, new BudgetCounters({ spend: ledger.spendOf(writer), clock, softReached }))
  /** As the policies do it: the ledger has the row before the limiter hears of the end. */
  const settle = (taken: LimitReservation, scopes: readonly BudgetScope[], nanoUsd: number) => {
    ledger.settle({ writer, scopes, nanoUsd })
    taken.release(0, nanoUsd)
  }
  return { limiter, ledger, clock, alerts, settle, take: async (s: BudgetScope[], n: number) => limiter.take(s, 0, n) }
}

test('a call takes all of its budgets and limits or none', async () => {
  const { take, limiter } = open()
  const [wide, narrow] = [budgetOf(1000), budgetOf(100)]
  const parallel = { ...budgetOf(1000), parallelRequests: 1 }
  takenOf(await take([wide], 10))
  expect(await take([wide, narrow, parallel], 200)).toMatchObject({ allowed: false, kind: 'budget', scope: narrow.id })
  expect([limiter.budgetLeft(wide), limiter.budgetLeft(narrow)]).toEqual([990, 100])
  takenOf(await take([parallel], 1))
  expect(await take([wide, parallel], 1)).toMatchObject({ allowed: false, kind: 'parallel_requests' })
  expect(limiter.budgetLeft(wide)).toBe(990)
})

test('a thousand calls at once use at least 95 % of a budget and not a nano-dollar more', async () => {
  const { take, settle, ledger } = open()
  const scopes = [budgetOf(100_000), budgetOf(250_000), budgetOf(1e12)]
  const statuses = await Promise.all(
    Array.from({ length: 1000 }, async (_, at) => {
      const verdict = await take(scopes, 1000)
      if (!verdict.allowed) return verdict.kind
      await Bun.sleep(at % 7)
      settle(verdict, scopes, 150 + (at % 100))
      return 'taken'
    }),
  )
  expect(ledger.sum(scopes[0]!)).toBeWithin(95_000, 100_001)
  expect(new Set(statuses)).toEqual(new Set(['taken', 'budget']))
})

test('where only reservations are in the way a call waits for them; where all is spent it is refused at once', async () => {
  const { take, settle } = open()
  const scopes = [budgetOf(1000)]
  const first = takenOf(await take(scopes, 1000))
  const second = take(scopes, 600)
  settle(first, scopes, 300)
  settle(takenOf(await second), scopes, 600)
  const refused = await take(scopes, 200)
  expect(refused).toEqual({
    allowed: false,
    scope: scopes[0]!.id,
    kind: 'budget',
    state: { limit: 1000, remaining: 100, resetMs: Infinity },
    retryAfterMs: Infinity,
  })
})

test('a reservation that fails in any way is not kept: the whole budget is free again', async () => {
  const { take, limiter, clock } = open()
  const scope = budgetOf(1000)
  for (let round = 0; round < 50; round++) takenOf(await take([scope], 900)).release(0, 0)
  const late = takenOf(await take([scope], 1000))
  late.release(0, 0)
  late.release(0, 0)
  clock.nowMs += 3_600_000
  expect(limiter.budgetLeft(scope)).toBe(1000)
})

test('after a reset the budget is whole, and what runs across it is counted where it began', async () => {
  const { take, settle, limiter, ledger } = open()
  const before = budgetOf(1000, { id: 'key:a', startMs: 5_000_000 })
  const after = budgetOf(1000, { id: 'key:a', startMs: 91_400_000 })
  const running = takenOf(await take([before], 1000))
  expect((await take([after], 1000)).allowed).toBe(true)
  settle(running, [before], 700)
  expect([limiter.budgetLeft(after), ledger.sum(before), ledger.sum(after)]).toEqual([0, 700, 0])
})

test('a clock that goes back over a reset and forth again takes nothing away from the new period', async () => {
  const { take, settle, limiter, ledger } = open()
  const before = budgetOf(1000, { id: 'key:a', startMs: 5_000_000 })
  const after = budgetOf(1000, { id: 'key:a', startMs: 91_400_000 })
  settle(takenOf(await take([after], 100)), [after], 100)
  const running = takenOf(await take([after], 600))
  settle(takenOf(await take([before], 50)), [before], 50)
  limiter.charge([{ scope: 'key:a', startMs: 91_400_000, nanoUsd: 10 }])
  await limiter.prepare([after])
  expect(limiter.use(after)).toMatchObject({ spentNanoUsd: 110, reservedNanoUsd: 600 })
  settle(takenOf(await take([before], 50)), [before], 50)
  settle(running, [after], 500)
  await limiter.prepare([after])
  expect(limiter.use(after)).toMatchObject({ spentNanoUsd: 610, reservedNanoUsd: 0 })
  expect([limiter.budgetLeft(after), ledger.sum(after), ledger.sum(before)]).toEqual([390, 600, 100])
})

test('a lower maximum holds at once, a raise lets through at once, and the end of a raise refuses', async () => {
  const { take, settle } = open()
  const of = (max: number) => [budgetOf(max, { id: 'key:a' })]
  settle(takenOf(await take(of(1000), 600)), of(1000), 600)
  expect((await take(of(500), 1)).allowed).toBe(false)
  takenOf(await take(of(2000), 1400)).release(0, 0)
  expect((await take(of(600), 1)).allowed).toBe(false)
})

test('the soft limit is told once a period, also when it is passed at one go', async () => {
  const { take, settle, alerts } = open()
  const of = (startMs: number) => [budgetOf(1000, { id: 'team:x', startMs, softNanoUsd: 500 })]
  for (const cost of [400, 99, 1, 200]) settle(takenOf(await take(of(5_000_000), 250)), of(5_000_000), cost)
  expect(alerts).toEqual(['team:x'])
  settle(takenOf(await take(of(91_400_000), 900)), of(91_400_000), 900)
  expect(alerts).toEqual(['team:x', 'team:x'])
})

test('who looks at a budget is shown what other processes have spent, also where it is idle', async () => {
  const ledger = new TestLedger()
  const clock = new TestClock()
  const [here, there] = [open(ledger, clock, 'here'), open(ledger, clock, 'there')]
  const scope = budgetOf(1000)
  here.settle(takenOf(await here.take([scope], 100)), [scope], 100)
  there.settle(takenOf(await there.take([scope], 600)), [scope], 600)
  ledger.store()
  clock.nowMs += 60_000
  await here.limiter.refresh([scope])
  expect(here.limiter.use(scope).spentNanoUsd).toBe(700)
  there.settle(takenOf(await there.take([scope], 50)), [scope], 50)
  ledger.store()
  clock.nowMs += 1000
  await here.limiter.refresh([scope])
  expect(here.limiter.use(scope).spentNanoUsd).toBe(700)
  clock.nowMs += 1001
  await here.limiter.refresh([scope])
  expect(here.limiter.use(scope).spentNanoUsd).toBe(750)
})

test('what is kept of a taking counts until the database says that it came back, in every process', async () => {
  const ledger = new TestLedger()
  const clock = new TestClock()
  const [one, two] = [open(ledger, clock, 'one'), open(ledger, clock, 'two')]
  const scope = budgetOf(1000, { softNanoUsd: 500 })
  ledger.settle({ writer: 'one', scopes: [scope], nanoUsd: 700 })
  takenOf(await one.take([scope], 1)).release(0, 0)
  expect(one.limiter.budgetLeft(scope)).toBe(300)
  ledger.settle({ writer: 'one', scopes: [scope], nanoUsd: 200 })
  const batch = takenOf(await one.take([scope], 200))
  batch.keep()
  batch.release(0, 0)
  expect([one.limiter.budgetLeft(scope), one.alerts.length]).toEqual([100, 1])
  ledger.store()
  takenOf(await two.take([scope], 50)).release(0, 50)
  const back = { scope: scope.id, startMs: 0, writer: '-two', nanoUsd: -200 }
  ledger.settle({ writer: '-two', scopes: [scope], nanoUsd: -200 })
  ledger.store()
  for (const { limiter } of [one, two]) limiter.charge([{ ...back, nanoUsd: 30 }])
  for (const { limiter } of [one, two]) for (let twice = 0; twice < 2; twice++) limiter.stored([back])
  expect([one.limiter.budgetLeft(scope), two.limiter.budgetLeft(scope)]).toEqual([270, 220])
  // Of an earlier period nothing is counted here.
  one.limiter.stored([{ ...back, startMs: 5 }])
  one.limiter.charge([{ ...back, startMs: 5, nanoUsd: 9 }])
  expect(one.limiter.budgetLeft(scope)).toBe(270)
})

test('where it is not known whether an amount was stored, it counts until it is read again', async () => {
  const { take, limiter, ledger, clock } = open(new TestLedger(), new TestClock(), 'me')
  const scope = budgetOf(1000)
  takenOf(await take([scope], 400)).keep()
  limiter.recount([scope])
  expect(limiter.budgetLeft(scope)).toBe(600)
  await take([scope], 0)
  await until(() => limiter.budgetLeft(scope) === 1000, 'it is read')
  takenOf(await take([scope], 400)).keep()
  ledger.settle({ writer: 'me', scopes: [scope], nanoUsd: 400 })
  limiter.recount([scope])
  await take([scope], 0)
  clock.nowMs += 20_000
  await take([scope], 0)
  expect(limiter.budgetLeft(scope)).toBe(600)
})

test('a batch that is stored while its budget is read again is not counted twice for long', async () => {
  const { take, limiter, ledger } = open(new TestLedger(), new TestClock(), 'me')
  const scope = budgetOf(1000)
  const batch = takenOf(await take([scope], 200))
  ledger.settle({ writer: 'me', scopes: [scope], nanoUsd: 200 })
  // The doubt of another batch has the table read, which has this one already.
  limiter.recount([scope])
  await take([scope], 0)
  await until(() => limiter.budgetLeft(scope) === 600, 'it is read')
  batch.keep()
  await take([scope], 0)
  await until(() => limiter.budgetLeft(scope) === 800, 'it is read again')
})

test('a database that cannot be read refuses budgets that are not known yet, and no others', async () => {
  const clock = new TestClock()
  let away = true
  const read = () => (away ? Promise.reject(new Error('away')) : Promise.resolve(new Map([['other', 400]])))
  const limiter = new MemoryLimiter(clock, new BudgetCounters({ spend: { writer: 'me', read }, clock }))
  const scope = budgetOf(1000)
  await expect((async () => limiter.take([scope], 0, 1))()).rejects.toMatchObject({ kind: 'overloaded' })
  away = false
  takenOf(await limiter.take([scope], 0, 600))
  away = true
  clock.nowMs += 60_000
  expect(limiter.take([scope], 0, 1)).toBeInstanceOf(Promise)
  expect(limiter.budgetLeft(scope)).toBe(0)
})
