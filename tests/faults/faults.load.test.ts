/**
 * Replicas, Redis and Postgres are killed, stopped, emptied and cut off under load: calls of known keys go on, and
 * afterwards ledger, sums and budgets are what the upstream says; a budget that is spent meanwhile is exceeded by no more
 * than what was under way. The same at full size, but for spent budgets: `npm run faults`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startFleet } from './fleet.ts'
import type { Fleet } from './fleet.ts'
import { booksOf, Load } from './load.ts'
import { scenarios } from './scenarios.ts'
import { callUsd, missingPrograms } from './servers.ts'
import { until } from '../support/until.ts'

const missing = missingPrograms()
if (missing) console.log(`skipped: faults of replicas, Redis and Postgres (needs ${missing})`)
const clients = 8
const scale = { calls: 60, awayMs: 500 }
/** Steps of a scenario wait for a number of calls: more of them while a server starts show nothing further. */
const pauseMs = 20
const budgetCalls = 150
const killed = scenarios.filter(({ name }) => /kill|emptied/.test(name))

describe.skipIf(missing !== undefined)('under load', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  }, 120_000)
  afterAll(() => fleet?.close())

  for (const { name, run } of scenarios)
    test(`${name}: no call of a known key fails, every call is counted once`, async () => {
      const { key, id } = await fleet.key({ max_budget: 1000 })
      const load = new Load(fleet, key, { clients, pauseMs })
      await load.more(scale.calls)
      await run(fleet, load, scale)
      await load.more(scale.calls)
      await load.stop()
      expect(load.wrong).toEqual([])
      expect(load.refused.size).toBe(0)
      const books = await booksOf(fleet, id, load)
      expect(books).toMatchObject({ lost: 0, doubled: 0, unpriced: 0 })
      // A killed replica's open calls cost what is not known: at most one of each client.
      const open = clients * callUsd * 1e9
      expect(books.costNanoUsd).toBeWithin(books.truthNanoUsd - open, books.truthNanoUsd + 1)
      const { costNanoUsd: cost } = books
      expect(books).toMatchObject({ summedNanoUsd: cost, chargedNanoUsd: cost, spentNanoUsd: cost })
    }, 120_000)

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
