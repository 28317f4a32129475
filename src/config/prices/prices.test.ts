import { describe, expect, test } from 'bun:test'
import { resolvePrices } from './prices.ts'
import type { GivenPrices } from './prices.ts'
import { nanoUsdPerMillion } from './read-price-keys.ts'

const listed = {
  input: 3_000_000_000n,
  output: 15_000_000_000n,
  cacheRead: 300_000_000n,
  tiers: [
    { fromInputTokens: 200_001, prices: { input: 6_000_000_000n, output: 22_500_000_000n, cacheRead: 600_000_000n } },
  ],
  variants: { batch: { input: 1_500_000_000n, output: 7_500_000_000n } },
  later: [{ fromMs: 1000, prices: { input: 1n, output: 2n, cacheRead: 3n } }],
}
const resolve = (given: GivenPrices, mode = 'chat') => resolvePrices(given, listed, { mode })

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
    expect(resolvePrices({}, null, {})).toEqual({ prices: null, priceSource: 'unknown' })
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
      tiers: [{ fromInputTokens: 200_001, prices: { input: 6_000_000_000n, output: 22_500_000_000n, ...over } }],
      variants: { batch: { input: 1_500_000_000n, output: 7_500_000_000n, ...over } },
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
      { fromInputTokens: 128_001, prices: { input: 3_000_000_000n, output: 2_000_000_000n } },
      { fromInputTokens: 200_001, prices: { input: 3_000_000_000n, output: 4_000_000_000n } },
    ])
  })

  test('variants and their tiers, also beside the list', () => {
    expect(resolve({ input_cost_per_token_batches: 1e-6 }).prices!.variants?.batch).toMatchObject({
      input: 1_000_000_000n,
      output: 7_500_000_000n,
    })
    const own = {
      input_cost_per_token: 1e-6,
      output_cost_per_token: 2e-6,
      input_cost_per_token_priority: 3e-6,
      input_cost_per_token_above_272k_tokens_priority: 6e-6,
      cache_read_input_token_cost_flex: 1e-7,
    }
    expect(resolve(own).prices!.variants).toEqual({
      priority: {
        input: 3_000_000_000n,
        output: 2_000_000_000n,
        tiers: [{ fromInputTokens: 272_001, prices: { input: 6_000_000_000n, output: 2_000_000_000n } }],
      },
      flex: { input: 1_000_000_000n, output: 2_000_000_000n, cacheRead: 100_000_000n },
    })
  })

  test('seconds of audio have two keys; the mode decides which one counts', () => {
    const given = { input_cost_per_second: 0.0001, output_cost_per_second: 0.0002 }
    const second = (mode: string, keys: GivenPrices = given) => resolve(keys, mode).prices!.audioSecond
    expect([second('audio_transcription'), second('audio_speech')]).toEqual([100_000_000_000n, 200_000_000_000n])
    expect(second('audio_transcription', { output_cost_per_second: 0.0002 })).toBe(200_000_000_000n)
    expect(second('chat')).toBeUndefined()
  })
})
