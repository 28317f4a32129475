/**
 * Replicas, Redis and Postgres are killed, stopped, emptied and cut off under load: calls of known keys go on, and
 * afterwards ledger, sums and budgets are what the upstream says. The same at full size: `npm run faults`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startFleet } from './fleet.ts'
import type { Fleet } from './fleet.ts'
import { booksOf, Load } from './load.ts'
import { scenarios } from './scenarios.ts'
import { callUsd, missingPrograms } from './servers.ts'

const missing = missingPrograms()
if (missing) console.log(`skipped: faults of replicas, Redis and Postgres (needs ${missing})`)
const clients = 8
const scale = { calls: 60, awayMs: 500 }

describe.skipIf(missing !== undefined)('under load', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  }, 120_000)
  afterAll(() => fleet?.close())

  for (const { name, run } of scenarios)
    test(`${name}: no call of a known key fails, every call is counted once`, async () => {
      const { key, id } = await fleet.key({ max_budget: 1000 })
      const load = new Load(fleet, key, { clients, pauseMs: 5 })
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
})
