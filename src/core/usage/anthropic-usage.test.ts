import { expect, test } from 'bun:test'
import type { Json } from '../../lib/json/json-values.ts'
import { mergeAnthropicUsage, readAnthropicUsage } from './anthropic-usage.ts'

const merged = (...reports: readonly Json[]) => readAnthropicUsage(reports.reduce<Json>(mergeAnthropicUsage, {}))
const begun = {
  input_tokens: 10,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 30,
  cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
  output_tokens: 1,
}

test('the last report of a stream that has zeros for the input takes nothing from the first', () => {
  const zeros = {
    input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  }
  const expected = { ...readAnthropicUsage(begun)!, outputTokens: 7 }
  expect(merged(begun, { ...zeros, output_tokens: 7 })).toEqual(expected)
  expect(merged(begun, { input_tokens: null, output_tokens: 7 })).toEqual(expected)
})

test('a report with more replaces one of zeros, and another count the one before', () => {
  const zeros = { input_tokens: 0, output_tokens: 0 }
  expect(merged(zeros, { ...begun, output_tokens: 7 })).toMatchObject({ inputTokens: 140, outputTokens: 7 })
  expect(merged(begun, { input_tokens: 500, output_tokens: 7 })).toMatchObject({ inputTokens: 630, outputTokens: 7 })
})
