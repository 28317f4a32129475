/**
 * A budget is spent while a replica, Redis or Postgres is killed: it is exceeded by no more than what was under way.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startFleet } from './fleet.ts'
import type { Fleet } from './fleet.ts'
import { booksOf, Load } from './load.ts'
import { scenarios } from './scenarios.ts'
import { callUsd, missingPrograms } from './servers.ts'
import { until } from '../support/until.ts'

const missing = missingPrograms()
if (missing) console.log(`skipped: budgets under faults (needs ${missing})`)
const clients = 8
const budgetCalls = 150
const killed = scenarios.filter(({ name }) => /kill|emptied/.test(name))

describe.skipIf(missing !== undefined)('under load', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  }, 120_000)
  afterAll(() => fleet?.close())

  for (const { name, run } of killed)
    test(`${name}: a budget is not exceeded by more than what was under way`, async () => {
      const { key, id } = await fleet.key({ max_budget: budgetCalls * callUsd })
      const load = new Load(fleet, key, { clients, pauseMs: 5 })
      await load.more(30)
      await run(fleet, load, { calls: 0, awayMs: 300 })
      await until(() => load.refused.size >= 20, 'the budget is spent', 90_000)
      await load.stop()
      expect(load.wrong).toEqual([])
      const { asked } = await booksOf(fleet, id, load)
      // Without Redis each replica has its part of what was left when it was last told: not of what is granted since.
      const untold = name.includes('Redis') ? budgetCalls / 3 : 0
      expect(asked).toBeWithin(load.complete.size, budgetCalls + clients + untold + 1)
    }, 120_000)
})
