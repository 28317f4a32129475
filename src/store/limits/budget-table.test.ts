/** Spending as the ledger's worker stores it: the sum of the rows, also of rows stored twice, late, or by others. */
import { afterEach, describe, expect, test } from 'bun:test'
import { budgetScopesOf } from '../../core/tenancy/budget-charge.ts'
import { systemClock } from '../../lib/clock.ts'
import { openDatabase } from '../database/open.ts'
import { exampleRow, makePlace } from '../ledger/ledger-fixture.ts'
import { openLedger } from '../ledger/ledger.ts'
import { budgetOf } from './budget-fixture.ts'
import { claimBudgetAlert, openBudgetSpend } from './budget-table.ts'

const urls: [name: string, url: string | undefined][] = [['SQLite', undefined]]
if (process.env.TEST_DATABASE_URL) urls.push(['Postgres', process.env.TEST_DATABASE_URL])
else console.log('skipped: spending on Postgres (set TEST_DATABASE_URL)')

for (const [name, url] of urls)
  describe(`on ${name}`, () => {
    const cleanups: (() => Promise<unknown>)[] = []
    afterEach(async () => {
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    })

    const rig = async () => {
      const place = await makePlace(url)
      cleanups.push(() => place.remove())
      const database = await openDatabase(place.databaseUrl)
      cleanups.push(() => database.close())
      const start = async (writer: string) => {
        const { databaseUrl, journal } = place
        const ledger = await openLedger({ databaseUrl, journalDirectory: journal, clock: systemClock })
        cleanups.push(() => ledger.close())
        return { ledger, spend: openBudgetSpend({ database, ledger, writer }) }
      }
      return { database, start }
    }
    const team = budgetOf(1e9, { id: 'team:x y@z', startMs: 1_764_547_200_000 })
    const key = budgetOf(1e9, { id: 'key:a' })
    const rowOf = (writer: string, nanoUsd: number, scopes = [team, key]) =>
      exampleRow({ budget_nano_usd: String(nanoUsd), budget_scopes: budgetScopesOf(writer, scopes).list })
    const amounts = (map: ReadonlyMap<string, number>) => Object.fromEntries(map)

    test('each row is added once to each of its budgets, by process and period', async () => {
      const { start } = await rig()
      const { ledger, spend } = await start('one')
      const twice = rowOf('one', 100)
      for (const row of [twice, rowOf('one', 25), twice, rowOf('two', 7, [key]), exampleRow()]) ledger.settle(row)
      expect(amounts(await spend.read(team.id, team.budget.startMs, true))).toEqual({ one: 125 })
      expect(amounts(await spend.read(key.id, 0, true))).toEqual({ one: 125, two: 7 })
      expect(amounts(await spend.read(team.id, 0, true))).toEqual({})
    })

    test('what a process left in its journal is there before the next one reads a budget for the first time', async () => {
      const { start } = await rig()
      const first = await start('one')
      for (let at = 0; at < 500; at++) first.ledger.settle(rowOf('one', 1))
      await first.ledger.close()
      const { spend } = await start('two')
      expect(amounts(await spend.read(key.id, 0, true))).toEqual({ one: 500 })
    })

    test('of several replicas one tells the operator of a soft budget, in each period', async () => {
      const { database } = await rig()
      const claims = await Promise.all(Array.from({ length: 5 }, () => claimBudgetAlert(database.sql, team)))
      expect(claims.filter(Boolean)).toHaveLength(1)
      const next = { ...team, budget: { ...team.budget, startMs: team.budget.startMs + 1 } }
      expect(await claimBudgetAlert(database.sql, next)).toBe(true)
    })
  })
