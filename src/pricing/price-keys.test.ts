/** Prices as LiteLLM names them, in dollars for one. */
import { expect, test } from 'bun:test'
import { priceFields, variantOf } from './price-keys.ts'

const unknown = {
  input_cost_per_token: null,
  output_cost_per_token: null,
  cache_read_input_token_cost: null,
  cache_creation_input_token_cost: null,
}
const perMillion = 1_000_000_000n

test('four prices are always shown, null where they are not known', () => {
  expect(priceFields(null, false)).toEqual(unknown)
  expect(priceFields({}, false)).toEqual(unknown)
  expect(priceFields({ input: 3n * perMillion, output: 0n }, false)).toEqual({
    ...unknown,
    input_cost_per_token: 3e-6,
    output_cost_per_token: 0,
  })
})

test('a second has the name of what the model makes or takes', () => {
  const seconds = { audioSecond: 6n * 10n ** 11n }
  expect(priceFields(seconds, true)).toEqual({ ...unknown, output_cost_per_second: 0.0006 })
  expect(priceFields(seconds, false)).toEqual({ ...unknown, input_cost_per_second: 0.0006 })
})

test('tiers and variants stand in the suffix of the key, batches in the plural', () => {
  const prices = {
    input: perMillion,
    tiers: [{ fromInputTokens: 200_001, prices: { input: 2n * perMillion } }],
    variants: {
      batch: { output: 5n * perMillion, request: 1n },
      priority: { input: 3n * perMillion, tiers: [{ fromInputTokens: 272_001, prices: { input: 4n * perMillion } }] },
    },
  }
  expect(priceFields(prices, false)).toEqual({
    ...unknown,
    input_cost_per_token: 1e-6,
    input_cost_per_token_above_200k_tokens: 2e-6,
    output_cost_per_token_batches: 5e-6,
    input_cost_per_token_priority: 3e-6,
    input_cost_per_token_above_272k_tokens_priority: 4e-6,
  })
  expect([variantOf('batches'), variantOf('priority'), variantOf('flex')]).toEqual(['batch', 'priority', 'flex'])
})
