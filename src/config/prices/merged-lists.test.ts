/** What an operator's list does not say stays as the built-in list has it. */
import { afterEach, expect, test } from 'bun:test'
import { catalogueEntry, useOperatorList } from './catalogue.ts'
import { OperatorList } from './operator-list.ts'
import { costNanoUsd } from '../../pricing/cost.ts'
import { priceRows } from './price-rows.ts'

afterEach(() => useOperatorList(undefined))

const use = (entries: object) => useOperatorList(OperatorList.read(Buffer.from(JSON.stringify(entries)), 'prices.json'))
const plain = { litellm_provider: 'openai', input_cost_per_token: 2.5e-6, output_cost_per_token: 1.5e-5 }
const priced = (model: string) => catalogueEntry('openai', model)!

test('searches, cache reads, tiers and variants of the built-in list stay beside the same input and output', () => {
  const before = priced('gpt-5.4').prices!
  use({ 'gpt-5.4': plain })
  const { prices, ofOperator, lists } = priced('gpt-5.4')
  expect(prices).toEqual(before)
  expect([...ofOperator]).toEqual(['input', 'output'])
  expect(lists[0]).toBe('prices.json')
  // 1,000 and 1,000 tokens and three searches.
  const usage = { inputTokens: 1000, outputTokens: 1000, webSearches: 3 }
  expect(costNanoUsd(usage, prices, { atMs: Date.UTC(2026, 10, 29) })).toBe(47_500_000n)
})

test('one price replaces one price', () => {
  const before = priced('gpt-5.4').prices!
  use({ 'gpt-5.4': { ...plain, cache_read_input_token_cost: 1e-7 } })
  const { prices, ofOperator } = priced('gpt-5.4')
  expect(prices!.cacheRead).toBe(100_000_000n)
  expect(prices!.webSearch).toBe(before.webSearch!)
  expect(prices!.tiers).toEqual(before.tiers!)
  expect(ofOperator.has('cacheRead')).toBe(true)
  use({ 'gpt-5.4': { ...plain, input_cost_per_token_flex: 1e-6 } })
  const { flex } = priced('gpt-5.4').prices!.variants!
  expect([flex!.input, flex!.output]).toEqual([1_000_000_000n, before.variants!.flex!.output!])
})

test('with another input the tiers and variants of the built-in list do not hold, tools and cache reads do', () => {
  const before = priced('gpt-5.4').prices!
  use({ 'gpt-5.4': { ...plain, input_cost_per_token: 2e-6 } })
  const { prices } = priced('gpt-5.4')
  expect([prices!.input, prices!.tiers, prices!.variants]).toEqual([2_000_000_000n, undefined, undefined])
  expect([prices!.cacheRead, prices!.webSearch]).toEqual([before.cacheRead, before.webSearch])
})

test('an entry without a price leaves all prices, and every price has a source', () => {
  const before = priced('gpt-5.4').prices!
  use({ 'gpt-5.4': { litellm_provider: 'openai', max_input_tokens: 5 }, other: plain })
  expect(priced('gpt-5.4').prices).toEqual(before)
  expect(priced('gpt-5.4').capabilities.max_input_tokens).toBe(5)
  use({ 'gpt-5.4': plain })
  const { prices, ofOperator } = priced('gpt-5.4')
  const rows = priceRows(prices!).filter(({ path }) => ofOperator.has(path))
  expect(rows.map(({ unit, when }) => [unit, when])).toEqual([
    ['input', ''],
    ['output', ''],
  ])
})
