import { expect, test } from 'bun:test'
import { isReadPriceKey, readPriceKeys } from './read-price-keys.ts'
import type { PricedModel } from './read-price-keys.ts'

const terms = (entry: Record<string, unknown>, model: PricedModel = {}) => readPriceKeys(entry, model).terms
const withoutEffect = (entry: Record<string, unknown>, model: PricedModel = {}) =>
  readPriceKeys(entry, model).withoutEffect

test('a key is a unit, a tier and a variant, in every combination', () => {
  expect(
    terms({
      input_cost_per_token: 1e-6,
      output_cost_per_token_above_512k_tokens: '2e-06',
      cache_read_input_token_cost_batches: 0.0000005,
      cache_creation_input_token_cost_above_1hr_above_100k_tokens_flex: 4e-6,
      input_cost_per_token_ultrafast: '0.00001',
    }),
  ).toEqual([
    { unit: 'input', price: 1_000_000_000n },
    { unit: 'output', price: 2_000_000_000n, fromInputTokens: 512_001 },
    { unit: 'cacheRead', price: 500_000_000n, variant: 'batch' },
    { unit: 'cacheWriteOneHour', price: 4_000_000_000n, fromInputTokens: 100_001, variant: 'flex' },
    { unit: 'input', price: 10_000_000_000n, variant: 'ultrafast' },
  ])
})

test('tiered prices, searches, places and hours are read', () => {
  const read = readPriceKeys(
    {
      tiered_pricing: [
        { range: [0, 256_000], input_cost_per_token: 5e-8, output_cost_per_token: 4e-7 },
        { range: [256_000, 1_000_000], input_cost_per_token: 2.5e-7 },
      ],
      search_context_cost_per_query: { search_context_size_low: 0.01, search_context_size_high: 0.01 },
      regional_processing_uplift_multiplier_eu: 1.1,
      off_peak_pricing: {
        input_cost_per_token: 1e-8,
        windows: [{ hours_utc: ['16:30-00:30', '10:00-00:00'], weekdays: [1, 7] }],
      },
    },
    {},
  )
  expect(read.terms).toEqual([
    { unit: 'webSearch', price: 10_000_000_000_000n },
    { unit: 'input', price: 50_000_000n },
    { unit: 'output', price: 400_000_000n },
    { unit: 'input', price: 250_000_000n, fromInputTokens: 256_001 },
  ])
  expect(read.regionPercent).toEqual({ eu: 110 })
  expect(read.hours).toEqual([
    {
      windows: [
        { fromMinute: 990, toMinute: 30 },
        { fromMinute: 600, toMinute: 1440 },
      ],
      days: [1, 0],
      terms: [{ unit: 'input', price: 10_000_000n }],
    },
  ])
  expect(read.withoutEffect).toEqual([])
})

test("Gemini's searches are billed by the prompt, or by the query where the entry says so", () => {
  const search = { search_context_cost_per_query: { search_context_size_medium: 0.014 } }
  expect(terms(search, { groundsPrompts: true })[0]!.unit).toBe('groundedPrompt')
  expect(terms({ ...search, web_search_billing_unit: 'per_query' }, { groundsPrompts: true })[0]!.unit).toBe(
    'groundingQuery',
  )
})

test('what a model is not billed by has no effect, and is named', () => {
  expect(withoutEffect({ input_cost_per_second: 0.0001, output_cost_per_character: 0.001 })).toEqual([
    'input_cost_per_second',
    'output_cost_per_character',
  ])
  expect(withoutEffect({ input_cost_per_image: 0.04 }, { mode: 'image_generation' })).toEqual([])
  expect(withoutEffect({ input_cost_per_image: 0.04 })).toEqual(['input_cost_per_image'])
  // The report of a call does not have the size of the context.
  const sizes = { search_context_size_low: 0.005, search_context_size_high: 0.012 }
  expect(withoutEffect({ search_context_cost_per_query: sizes })).toEqual(['search_context_cost_per_query'])
  expect(withoutEffect({ tiered_pricing: 'cheap', input_cost_per_token: null })).toEqual(['tiered_pricing'])
})

test('keys that are no prices of this gateway are not taken for them', () => {
  expect(['input_cost_per_token_balanced', 'ocr_cost_per_page', 'tiered_pricing'].filter(isReadPriceKey)).toHaveLength(
    3,
  )
  expect(['input_cost_per_pixel', 'output_cost_per_imge', 'max_tokens', 'cost'].filter(isReadPriceKey)).toEqual([])
})
