/** A database that is replaced by an older one while the process runs: budgets follow it, without a restart. */
import { afterEach, describe, expect, test } from 'bun:test'
import { renameSync } from 'node:fs'
import { budgetScopesOf } from '../../core/tenancy/budget-charge.ts'
import { systemClock } from '../../lib/clock.ts'
import { openDatabase, serverState } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { SharedClock } from '../database/shared-clock.ts'
import { exampleRow, ledgerRig, record } from '../ledger/ledger-fixture.ts'
import { BudgetCounters } from './budget-counters.ts'
import { budgetOf, takenOf } from './budget-fixture.ts'
import { openBudgetSpend } from './budget-table.ts'
import { MemoryLimiter } from './limiter-memory.ts'
import { until } from '../../../tests/support/until.ts'

const rig = ledgerRig()
afterEach(() => rig.end())

const servers = [
  { name: 'SQLite', url: undefined },
  ...(process.env.TEST_DATABASE_URL ? [{ name: 'Postgres', url: process.env.TEST_DATABASE_URL }] : []),
]

/** Keeps a copy of what is there; the result puts it in the place of the database. */
async function backUp(database: Database, databaseUrl: string): Promise<() => Promise<void>> {
  const path = databaseUrl.slice('sqlite:'.length)
  if (database.kind === 'sqlite') {
    await database.sql`vacuum into ${path + '.backup'}`
    return async () => renameSync(path + '.backup', path)
  }
  const tables = ['ledger', 'budget_spend']
  for (const table of tables) await database.sql.unsafe(`create table kept_${table} as select * from ${table}`)
  // As a dump is restored: the table, its rows, its key.
  return async () => {
    await database.sql.unsafe('drop table budget_spend')
    await database.sql.unsafe('create table budget_spend (like kept_budget_spend)')
    await database.sql.unsafe('insert into budget_spend select * from kept_budget_spend')
    await database.sql.unsafe('delete from ledger where request_id not in (select request_id from kept_ledger)')
    await database.sql.unsafe('alter table budget_spend add primary key (scope, window_start_ms, writer)')
  }
}

for (const { name, url } of servers)
  describe(name, () => {
    const open = async () => {
      const place = await rig.place(url)
      const [database, ledger] = [await openDatabase(place.databaseUrl), await rig.open(place)]
      rig.cleanups.push(() => database.close())
      const counters = new BudgetCounters({
        clock: systemClock,
        spend: openBudgetSpend({ database, ledger, writer: 'writer' }),
      })
      const limiter = new MemoryLimiter(systemClock, counters)
      const scope = budgetOf(1000, { id: 'key:key-1' })
      const { list } = budgetScopesOf('writer', [scope])
      const shared = new SharedClock(systemClock)
      return {
        database,
        ledger,
        limiter,
        counters,
        scope,
        place,
        identity: async () => (await serverState(database, shared)).identity,
        async spend(nanoUsd: number) {
          const verdict = await limiter.take([scope], 0, nanoUsd)
          record(ledger, exampleRow({ budget_nano_usd: String(nanoUsd), budget_scopes: [...list] }))
          takenOf(verdict).release(0, nanoUsd)
        },
        async shown() {
          await limiter.refresh([scope])
          return limiter.use(scope).spentNanoUsd
        },
      }
    }

    test('what was spent after the backup counts no more, what is spent after the restore does', async () => {
      const { database, ledger, limiter, counters, scope, place, identity, spend, shown } = await open()
      await spend(300)
      await ledger.flush()
      const restore = await backUp(database, place.databaseUrl)
      await spend(600)
      await ledger.flush()
      const before = (await identity())!
      counters.nameDatabase(before)
      expect([await shown(), await identity()]).toEqual([900, before])
      expect(await limiter.take([scope], 0, 101)).toMatchObject({ allowed: false })
      await restore()
      // The gateway's poll of each second sees it.
      await until(async () => {
        const now = await identity().catch(() => null)
        return now !== null && now !== before
      })
      counters.nameDatabase((await identity())!)
      expect(await shown()).toBe(300)
      await spend(500)
      expect(await shown()).toBe(800)
      await ledger.flush()
      expect(await shown()).toBe(800)
      expect(await limiter.take([scope], 0, 201)).toMatchObject({ allowed: false })
      const left = takenOf(await limiter.take([scope], 0, 200))
      left.release(0, 0)
    })

    test('under calls without a pause what was spent before is gone at once, and the rest is exact in the end', async () => {
      const { database, ledger, limiter, counters, scope, place, identity, spend, shown } = await open()
      await spend(100)
      await ledger.flush()
      const restore = await backUp(database, place.databaseUrl)
      // With what is spent until the reading it stays below the budget.
      for (let times = 0; times < 8; times++) await spend(50)
      await ledger.flush()
      const before = (await identity())!
      counters.nameDatabase(before)
      await restore()
      await until(async () => {
        const now = await identity().catch(() => null)
        return now !== null && now !== before
      })
      counters.nameDatabase((await identity())!)
      let after = 0
      const reading = shown()
      for (; after < 200; after++) {
        await spend(1)
        await Bun.sleep(1)
      }
      await reading
      expect(await shown()).toBeWithin(300, 501)
      await until(async () => {
        await Bun.sleep(100)
        await limiter.prepare([scope])
        return (await shown()) === 100 + after
      })
    })
  })
