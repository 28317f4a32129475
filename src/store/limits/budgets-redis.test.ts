/** Budgets across replicas: never exceeded in all together, usable to the end, and rebuilt where Redis lost them. */
import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { RedisClient } from 'bun'
import {
  emptied,
  installation,
  openReplica,
  openReplicas,
  redisDatabase,
} from '../../../tests/support/redis-replicas.ts'
import type { Replica } from '../../../tests/support/redis-replicas.ts'
import type { LimitVerdict } from '../../core/tenancy/limits.ts'
import type { WithoutRedis } from '../../core/settings.ts'
import type { BudgetScope } from './budget-counters.ts'
import { budgetOf, takenOf, TestLedger } from './budget-fixture.ts'
import { limitKeys } from './grant-script.ts'
import { until } from '../../../tests/support/until.ts'

const inRedis = limitKeys(installation)

const url = redisDatabase('budgets')
if (url === undefined) console.log('skipped: budgets across replicas (set TEST_REDIS_URL)')

describe.if(url !== undefined)('on Redis', () => {
  const opened: { close(): unknown }[] = []
  const openOne = openReplica(opened, url!)
  const openAll = openReplicas(openOne)
  const writers = ['one', 'two', 'three']
  let admin: RedisClient
  beforeAll(async () => {
    admin = new RedisClient(url!)
    await emptied(admin)
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(one => one.close()))
    await emptied(admin)
  })

  const start = async (distances?: readonly number[], withoutRedis: WithoutRedis = 'refuse') => {
    const ledger = new TestLedger()
    const replicas = await openAll(
      distances,
      withoutRedis,
      writers.map(writer => ledger.spendOf(writer)),
    )
    const settle = (at: number, verdict: LimitVerdict, scopes: readonly BudgetScope[], nanoUsd: number) => {
      ledger.settle({ writer: writers[at]!, scopes, nanoUsd })
      takenOf(verdict).release(0, nanoUsd)
    }
    return { ledger, replicas, settle }
  }
  /** Calls at once over all replicas, each of which reserves `bound` and costs what `costOf` says. */
  const burst = async (
    { replicas, settle }: Awaited<ReturnType<typeof start>>,
    scopes: readonly BudgetScope[],
    { calls = 1000, bound, costOf }: { calls?: number; bound: number; costOf: (at: number) => number },
  ) => {
    const verdicts = await Promise.all(
      Array.from({ length: calls }, async (_, at) => {
        const verdict = await replicas[at % 3]!.take(scopes, 0, bound)
        if (verdict.allowed) {
          await Bun.sleep(at % 11)
          settle(at % 3, verdict, scopes, costOf(at))
        }
        return verdict
      }),
    )
    return verdicts.filter(one => one.allowed).length
  }
  const takeAt = async (replica: Replica, scope: BudgetScope, nanoUsd: number) => replica.take([scope], 0, nanoUsd)

  test('a thousand calls at once on three replicas use at least 95 % of a budget and not a nano-dollar more', async () => {
    const all = await start()
    for (let round = 0; round < 2; round++) {
      const scopes = [budgetOf(200_000_000_000), budgetOf(9e12), budgetOf(9e15)]
      await burst(all, scopes, { bound: 1_000_000_000, costOf: at => 300_000_000 + (at % 100) })
      expect(all.ledger.sum(scopes[0]!)).toBeWithin(190_000_000_000, 200_000_000_001)
    }
    const even = budgetOf(100)
    expect(await burst(all, [even], { bound: 1, costOf: () => 1 })).toBe(100)
  })

  test('a call that cost more than it reserved and the budget had is told in what was spent', async () => {
    const all = await start()
    const scope = budgetOf(1000)
    all.settle(0, await takeAt(all.replicas[0]!, scope, 900), [scope], 1500)
    expect(await takeAt(all.replicas[0]!, scope, 10)).toMatchObject({
      allowed: false,
      state: { limit: 1000, remaining: -500 },
    })
  })

  test('what the database says counts from the first call on, and a call that needs it waits', async () => {
    const all = await start([0, 5, 10])
    const scope = budgetOf(1000)
    all.ledger.settle({ writer: 'an earlier process', scopes: [scope], nanoUsd: 900 })
    all.ledger.store()
    expect(await burst(all, [scope], { calls: 60, bound: 10, costOf: () => 10 })).toBe(10)
    expect(all.ledger.sum(scope)).toBe(1000)
  })

  test('a batch that ends at another replica leaves the same room at every moment', async () => {
    const all = await start()
    const [began, ended, beside] = all.replicas as [Replica, Replica, Replica]
    const scope = budgetOf(1000)
    const amount = { scope: scope.id, startMs: 0, nanoUsd: 900 }
    const batch = takenOf(await takeAt(began, scope, 900))
    all.ledger.settle({ writer: 'one', scopes: [scope], nanoUsd: 900 })
    all.ledger.store()
    batch.keep()
    await ended.limiter.prepare([scope])
    const looks = async () => {
      // Both would leave no room for 100, neither would leave it for 101.
      expect(await takeAt(beside, scope, 101)).toMatchObject({ allowed: false })
      takenOf(await takeAt(beside, scope, 100)).release(0, 0)
    }
    await looks()
    ended.limiter.charge([amount], [amount])
    for (let times = 0; times < 30; times++) await looks()
    all.ledger.settle({ writer: 'two', scopes: [scope], nanoUsd: 900 })
    all.ledger.settle({ writer: '-two', scopes: [scope], nanoUsd: -900 })
    all.ledger.store()
    for (let times = 0; times < 30; times++) await looks()
  })

  test('of a database that is restored from a backup every replica, and Redis, count what it has, and what comes', async () => {
    const all = await start()
    const scope = budgetOf(1000)
    const [one, two, three] = all.replicas as [Replica, Replica, Replica]
    for (const { budgets } of all.replicas) budgets.nameDatabase('first')
    all.settle(0, await takeAt(one, scope, 300), [scope], 300)
    all.ledger.store()
    const restore = all.ledger.backUp()
    for (const at of [0, 1, 2]) all.settle(at, await takeAt(all.replicas[at]!, scope, 200), [scope], 200)
    all.ledger.store()
    await until(async () => !(await takeAt(one, scope, 101)).allowed, 'Redis knows the 900 that are spent')
    // One that is not stored yet comes into the restored database.
    all.settle(1, await takeAt(two, scope, 50), [scope], 50)
    restore()
    all.ledger.store()
    for (const { budgets } of all.replicas) budgets.nameDatabase('restored')
    expect(all.ledger.sum(scope)).toBe(350)
    for (const { limiter } of [one, two, three]) {
      await until(async () => {
        await limiter.refresh([scope])
        return limiter.use(scope).spentNanoUsd === 350
      }, 'what is spent is that of the restored ledger')
    }
    expect(await burst(all, [scope], { calls: 300, bound: 10, costOf: () => 10 })).toBe(65)
    expect(all.ledger.sum(scope)).toBe(1000)
  })

  test('a Redis that lost everything is told what was spent, by the replicas and by the database', async () => {
    const all = await start([0, 5, 10])
    const scope = budgetOf(1000)
    all.ledger.settle({ writer: 'an earlier process', scopes: [scope], nanoUsd: 300 })
    all.ledger.store()
    for (const [at, replica] of all.replicas.entries()) all.settle(at, await takeAt(replica, scope, 100), [scope], 100)
    await admin.send('FLUSHDB', [])
    await until(async () => Number(await admin.send('HLEN', [inRedis.replicas])) > 2, 'Redis knows the replicas again')
    expect(await burst(all, [scope], { calls: 90, bound: 10, costOf: () => 10 })).toBe(40)
    expect(all.ledger.sum(scope)).toBe(1000)
  })

  test('what an idle replica has spent counts on another one after Redis was emptied, also what is not stored yet', async () => {
    const all = await start([0, 5, 10])
    const scope = budgetOf(1000)
    // Each has read the budget while nothing was spent.
    for (const [at, replica] of all.replicas.entries()) all.settle(at, await takeAt(replica, scope, 1), [scope], 1)
    for (const at of [0, 1]) all.settle(at, await takeAt(all.replicas[at]!, scope, 450), [scope], 450)
    all.ledger.store('one')
    const isAtRest = () => all.replicas.every(({ limiter }) => limiter.size === 0)
    await until(isAtRest, 'nothing is held')
    await admin.send('FLUSHDB', [])
    expect((await takeAt(all.replicas[2]!, scope, 98)).allowed).toBe(false)
    expect((await takeAt(all.replicas[2]!, scope, 97)).allowed).toBe(true)
  })

  test('a reservation counts on every replica until it is settled, and its rest is free on all of them then', async () => {
    const all = await start([0, 5, 10])
    const [near, far] = all.replicas as [Replica, Replica, Replica]
    const scope = budgetOf(1000)
    const running = await takeAt(near, scope, 900)
    let isDecided = false
    const waiting = takeAt(far, scope, 500).finally(() => (isDecided = true))
    await Bun.sleep(200)
    expect(isDecided).toBe(false)
    all.settle(0, running, [scope], 100)
    all.settle(1, await waiting, [scope], 500)
    const refused = await takeAt(near, scope, 450)
    expect(refused).toMatchObject({ allowed: false, kind: 'budget', state: { limit: 1000, resetMs: Infinity } })
    expect((await takeAt(near, scope, 400)).allowed).toBe(true)
  })

  test('while Redis is away, replicas together spend what was left when it answered last, and no more', async () => {
    const all = await start([0, 5, 10], 'share')
    const scope = budgetOf(1200)
    for (const [at, replica] of all.replicas.entries()) all.settle(at, await takeAt(replica, scope, 300), [scope], 300)
    for (const { limiter } of all.replicas) limiter.charge([{ scope: scope.id, startMs: 0, nanoUsd: 0 }])
    const knowsAll = ({ limiter }: Replica) => limiter.budgetLeft(scope) <= 300
    await until(() => all.replicas.every(knowsAll), 'each knows what the others spent')
    for (const { wire } of all.replicas) wire.cut()
    await until(() => all.replicas.every(({ limiter }) => !limiter.reachable), 'Redis is away')
    for (let call = 0; call < 60; call++) {
      const verdict = await takeAt(all.replicas[call % 3]!, scope, 10)
      if (verdict.allowed) all.settle(call % 3, verdict, [scope], 10)
    }
    expect(all.ledger.sum(scope)).toBeWithin(1000, 1201)
  })

  test('while Redis is away, a replica that did not use a budget lately knows what others have spent since', async () => {
    const all = await start([0, 5, 10], 'share')
    const scope = budgetOf(1200)
    all.settle(0, await takeAt(all.replicas[0]!, scope, 10), [scope], 10)
    for (let call = 0; call < 10; call++) all.settle(1, await takeAt(all.replicas[1]!, scope, 100), [scope], 100)
    all.ledger.store()
    for (const { wire } of all.replicas) wire.cut()
    await until(() => all.replicas.every(({ limiter }) => !limiter.reachable), 'Redis is away')
    for (let call = 0; call < 90; call++) {
      const verdict = await takeAt(all.replicas[call % 3]!, scope, 10)
      if (verdict.allowed) all.settle(call % 3, verdict, [scope], 10)
    }
    expect(all.ledger.sum(scope)).toBeWithin(1110, 1201)
  })

  test('while Redis is away, what a replica spent before it went is no part of its share', async () => {
    const all = await start([0, 5, 10], 'share')
    const scope = budgetOf(1200)
    all.settle(0, await takeAt(all.replicas[0]!, scope, 900), [scope], 900)
    await until(() => all.replicas[0]!.limiter.size === 0, 'the budget is at rest')
    for (const { wire } of all.replicas) wire.cut()
    await until(() => all.replicas.every(({ limiter }) => !limiter.reachable), 'Redis is away')
    for (let call = 0; call < 20; call++) {
      const verdict = await takeAt(all.replicas[0]!, scope, 10)
      if (verdict.allowed) all.settle(0, verdict, [scope], 10)
    }
    expect(all.ledger.sum(scope)).toBe(1000)
  })

  test('periods are counted apart: a reset takes effect on every replica at its moment', async () => {
    const all = await start([0, 5, 10])
    const of = (startMs: number) => budgetOf(100, { id: 'key:reset', startMs })
    expect(await burst(all, [of(5_000_000)], { calls: 30, bound: 10, costOf: () => 10 })).toBe(10)
    expect(await burst(all, [of(91_400_000)], { calls: 30, bound: 10, costOf: () => 10 })).toBe(10)
  })

  test('what a batch cost at its end counts on every replica', async () => {
    const all = await start([0, 5, 10])
    const scope = budgetOf(1000)
    all.settle(0, await takeAt(all.replicas[0]!, scope, 1), [scope], 1)
    all.ledger.settle({ writer: 'one', scopes: [scope], nanoUsd: 990 })
    all.replicas[0]!.limiter.charge([{ scope: scope.id, startMs: 0, nanoUsd: 990 }])
    await until(async () => !(await takeAt(all.replicas[2]!, scope, 100)).allowed, 'others know')
  })
})
