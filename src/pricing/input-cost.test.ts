/** What the input of a call that was begun costs at least. */
import { expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { PriceAdjustmentSettings } from '../core/usage/price-terms.ts'
import { inputCost } from './input-cost.ts'

const callAt = (given: readonly (Prices | null)[], priceTerms: PriceAdjustmentSettings | null = null): Call =>
  ({
    caller: { role: 'key', key: { id: 'k', teamId: null, organizationId: null } },
    models: { settings: { priceTerms } },
    startedAtMs: 0,
    candidates: given.map((prices, at) => ({ prices, target: { provider: { name: `host${at}` } } })),
  }) as unknown as Call

test('is that of the cheapest deployment that may serve the call, whatever their order', () => {
  const [cheap, dear] = [{ input: 1_000_000n }, { input: 3_000_000n, output: 9_000_000n }]
  for (const prices of [[cheap, dear], [dear, cheap], [cheap]])
    expect(inputCost(callAt(prices), 1000)).toEqual({ inputTokens: 1000, costNanoUsd: 1000n })
})

test('is not known where one of them has no price, or where there is none', () => {
  expect(inputCost(callAt([{ input: 1n }, null]), 7)).toEqual({ inputTokens: 7, costNanoUsd: null })
  expect(inputCost(callAt([]), 7)).toEqual({ inputTokens: 7, costNanoUsd: null })
})

test('is what the caller pays, by the terms of each provider', () => {
  const half = { discountPpm: 500_000, marginPpm: 0, fixedNanoUsd: 0n }
  const terms = { providers: { host1: half }, organizations: {}, teams: {}, keys: {}, global: undefined }
  const prices = { input: 2_000_000n }
  expect(inputCost(callAt([prices, prices], terms), 100).costNanoUsd).toBe(100n)
  expect(inputCost(callAt([prices], terms), 100).costNanoUsd).toBe(200n)
})
