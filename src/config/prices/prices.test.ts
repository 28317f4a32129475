import { describe, expect, test } from 'bun:test'
import { tokenPriceKeys, unitPriceKeys, nanoUsdPerMillion, resolvePrices } from './prices.ts'
import type { GivenPrices } from './prices.ts'

const listed = {
  input: 3_000_000_000n,
  output: 15_000_000_000n,
  cacheRead: 300_000_000n,
  tiers: [
    { aboveInputTokens: 200_000, prices: { input: 6_000_000_000n, output: 22_500_000_000n, cacheRead: 600_000_000n } },
  ],
  batch: { input: 1_500_000_000n, output: 7_500_000_000n },
  later: [{ fromMs: 1000, prices: { input: 1n, output: 2n, cacheRead: 3n } }],
}
const resolve = (given: GivenPrices, speaks = false) => resolvePrices(given, listed, speaks)

test('decimals are exact, however they are written', () => {
  expect([3e-6, 0.000003, 1e-15, 0.1, 1.25e-7, 4.9e-16, 0].map(nanoUsdPerMillion)).toEqual([
    3_000_000_000n,
    3_000_000_000n,
    1n,
    100_000_000_000_000n,
    125_000_000n,
    0n,
    0n,
  ])
})

describe('given prices over list prices', () => {
  test('nothing: the list price, or unknown', () => {
    expect(resolve({})).toEqual({ prices: listed, priceSource: 'catalogue' })
    expect(resolvePrices({}, null, false)).toEqual({ prices: null, priceSource: 'unknown' })
  })

  test('a price for input or output replaces caches, tiers, batches and dates of the list', () => {
    expect(resolve({ input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 })).toEqual({
      prices: { input: 1_000_000_000n, output: 2_000_000_000n },
      priceSource: 'config',
    })
    expect(resolve({ input_cost_per_token: 1e-6 }).prices).toEqual({ input: 1_000_000_000n, output: 15_000_000_000n })
  })

  test('other prices apply everywhere: in tiers, in batches, after a change', () => {
    const { prices } = resolve({ cache_read_input_token_cost: 5e-8, output_cost_per_image: 0.04 })
    const over = { cacheRead: 50_000_000n, image: 40_000_000_000_000n }
    expect(prices).toEqual({
      input: 3_000_000_000n,
      output: 15_000_000_000n,
      ...over,
      tiers: [{ aboveInputTokens: 200_000, prices: { input: 6_000_000_000n, output: 22_500_000_000n, ...over } }],
      batch: { input: 1_500_000_000n, output: 7_500_000_000n, ...over },
      later: [{ fromMs: 1000, prices: { input: 1n, output: 2n, ...over } }],
    })
  })

  test('given tiers inherit what they do not name', () => {
    const given = {
      input_cost_per_token: 1e-6,
      output_cost_per_token: 2e-6,
      input_cost_per_token_above_128k_tokens: 3e-6,
      output_cost_per_token_above_200k_tokens: 4e-6,
    }
    expect(resolve(given).prices!.tiers).toEqual([
      { aboveInputTokens: 128_000, prices: { input: 3_000_000_000n, output: 2_000_000_000n } },
      { aboveInputTokens: 200_000, prices: { input: 3_000_000_000n, output: 4_000_000_000n } },
    ])
  })

  test('batches', () => {
    expect(resolve({ input_cost_per_token_batches: 1e-6 }).prices!.batch).toMatchObject({
      input: 1_000_000_000n,
      output: 7_500_000_000n,
    })
  })

  test('seconds of audio have two keys; the mode decides which one counts', () => {
    const given = { input_cost_per_second: 0.0001, output_cost_per_second: 0.0002 }
    expect([resolve(given).prices!.audioSecond, resolve(given, true).prices!.audioSecond]).toEqual([
      100_000_000_000n,
      200_000_000_000n,
    ])
    expect(resolve({ output_cost_per_second: 0.0002 }).prices!.audioSecond).toBe(200_000_000_000n)
  })

  test('every key of the configuration changes a price', () => {
    for (const key of [...tokenPriceKeys, ...unitPriceKeys])
      expect([key, resolvePrices({ [key]: 0.5 }, null, false).prices]).not.toEqual([key, {}])
    expect(tokenPriceKeys.length).toBe(28)
  })
})
