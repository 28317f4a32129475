import { describe, expect, test } from 'bun:test'
import { readChunkUsage, readOpenaiUsage } from './openai-usage.ts'

const tokens = { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140 }
const read = (more: object) => readOpenaiUsage({ ...tokens, ...more })
const whole = { inputTokens: 100, outputTokens: 40 }

describe('one bad count does not take the others with it', () => {
  const bad: unknown[] = [-1, 1.5, '12', null, {}, [], Number.NaN, 2e9]
  for (const value of bad)
    test(String(JSON.stringify(value)), () => {
      const usage = read({
        prompt_tokens_details: { cached_tokens: value, audio_tokens: 7 },
        completion_tokens_details: { reasoning_tokens: value },
        cost: value,
      })
      expect(usage).toEqual({
        ...whole,
        inputAudioTokens: 7,
        // A decimal is a cost, and no count.
        ...(value === 1.5 && { reportedCostNanoUsd: 1_500_000_000n }),
      })
    })

  test('details that are none', () => {
    expect(read({ prompt_tokens_details: 'x', completion_tokens_details: [1] })).toEqual(whole)
  })

  test('without the counts of the whole there is no report', () => {
    expect(readOpenaiUsage({ ...tokens, prompt_tokens: -1 })).toBeUndefined()
    expect(readOpenaiUsage(null)).toBeUndefined()
  })
})

describe('reported costs', () => {
  const costOf = (more: object) => read(more)?.reportedCostNanoUsd
  test('dollars, ticks, and objects with a total', () => {
    expect(costOf({ cost: 0.0033789 })).toBe(3_378_900n)
    expect(costOf({ cost: { total_cost: 0.00605, currency: 'USD' } })).toBe(6_050_000n)
    expect(costOf({ cost_in_usd_ticks: 37_756_004 })).toBe(3_775_600n)
    expect(costOf({ cost: 0 })).toBe(0n)
  })

  test('another currency, or an own key whose cost is not reported, is no cost', () => {
    expect(costOf({ cost: { total_cost: 1, currency: 'EUR' } })).toBeUndefined()
    expect(costOf({ cost: 0.1, is_byok: true })).toBeUndefined()
    expect(costOf({ cost: -1 })).toBeUndefined()
  })
})

test('the tier of a chunk is beside its usage; words that are too long are none', () => {
  expect(readChunkUsage({ usage: tokens, service_tier: 'Flex' })?.served).toEqual({ serviceTier: 'flex' })
  expect(readChunkUsage({ x_groq: { usage: tokens }, service_tier: 'on_demand' })?.served).toEqual({
    serviceTier: 'on_demand',
  })
  expect(readChunkUsage({ usage: tokens, service_tier: 'x'.repeat(41) })?.served).toBeUndefined()
})
