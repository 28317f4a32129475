/** The built-in list by name: figures from the vendors' price pages as they were read in November 2026. */
import { expect, test } from 'bun:test'
import { readFileSync, statSync } from 'node:fs'
import { costNanoUsd } from '../../pricing/cost.ts'
import type { Usage } from '../../core/usage/usage.ts'
import { catalogueEntry, priceListVersion } from './catalogue.ts'
import { builtInList } from './price-list.ts'
import { catalogPrices } from './prices.ts'

const now = Date.parse('2026-11-23T12:00:00Z')
const tokens = (inputTokens: number, outputTokens = 0): Usage => ({ inputTokens, outputTokens })
const cost = (provider: string, model: string, usage: Usage, atMs = now) =>
  costNanoUsd(usage, catalogPrices(provider, model), { atMs })
/** Dollars for a million tokens. */
const perMillion = (provider: string, model: string) => {
  const prices = catalogPrices(provider, model)
  return prices && { input: Number(prices.input) / 1e9, output: Number(prices.output) / 1e9 }
}

test('the list is small, says what it is made of, and its licences are in NOTICE', () => {
  expect(statSync(`${import.meta.dir}/prices.json`).size).toBeLessThan(520_000)
  expect(priceListVersion()).toMatch(/^20\d\d-\d\d-\d\d$/)
  const notice = readFileSync(`${import.meta.dir}/../../../NOTICE`, 'utf8')
  for (const { name, version, sha256, licence } of builtInList().sources) {
    expect([version, sha256, licence]).toEqual([
      expect.stringMatching(/^\d+\.\d+\.\d+$/),
      expect.stringMatching(/^[0-9a-f]{64}$/),
      'MIT',
    ])
    expect(notice).toContain(name)
  }
})

test('a name stands for no other model that begins like it', () => {
  expect(perMillion('gemini', 'gemini-3.8-flash')).toEqual({ input: 0.75, output: 3.75 })
  expect(perMillion('gemini', 'gemini-3.8-flash-tts')).toEqual({ input: 0.5, output: 9 })
  for (const [provider, model] of [
    ['gemini', 'gemini-3.8-flash-lite'],
    ['anthropic', 'claude-sonnet-5-6'],
    ['anthropic', 'claude-opus-5-5-mini'],
    ['openai', 'gpt-5.4-ultra'],
    ['mistral', 'mistral-large-9'],
    ['openai', 'gpt-4o-20240931'],
    ['openai', 'nobody-knows-this'],
    ['constructor', 'gpt-4o'],
    ['custom_openai', 'gpt-4o'],
  ] as const)
    expect([model, catalogPrices(provider, model)]).toEqual([model, null])
})

test('one model under its names: paths, profiles, versions, routes', () => {
  for (const [provider, names] of [
    ['anthropic', ['claude-sonnet-5-5', ' Claude-Sonnet-5-5 ', 'claude-sonnet-5-5-20260901']],
    ['openai', ['gpt-4o', 'gpt-4o-20240806', 'gpt-4o-2024-08-06']],
    ['gemini', ['gemini-2.5-pro', 'models/gemini-2.5-pro']],
    [
      'vertex_ai',
      [
        'claude-sonnet-5-5',
        'claude-sonnet-5-5@default',
        'publishers/anthropic/models/claude-sonnet-5-5',
        'projects/p/locations/global/publishers/anthropic/models/claude-sonnet-5-5',
      ],
    ],
    ['openrouter', ['openai/gpt-4o', 'openai/gpt-4o:nitro', 'openai/gpt-4o:floor']],
    ['fireworks_ai', ['accounts/fireworks/models/deepseek-v4-pro', 'deepseek-v4-pro']],
    [
      'bedrock',
      [
        'us.anthropic.claude-sonnet-5-5',
        'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5-5',
        'converse/us.anthropic.claude-sonnet-5-5',
      ],
    ],
    ['openai', ['ft:gpt-4o-2024-08-06:acme::x1', 'ft:gpt-4o-2024-08-06']],
  ] as const) {
    const [first, ...others] = names.map(name => catalogPrices(provider, name))
    expect([names[0], first]).not.toEqual([names[0], null])
    for (const other of others) expect(other).toEqual(first!)
  }
})

test('what was wrong in earlier lists has the price of its vendor', () => {
  // platform.claude.com/docs/en/about-claude/pricing: a cache read of Sonnet 5.5 is a twentieth of $2.
  expect(catalogPrices('anthropic', 'claude-sonnet-5-5')!.cacheRead).toBe(100_000_000n)
  // developers.openai.com/api/docs/models/gpt-4o-audio-preview.
  expect(catalogPrices('openai', 'gpt-4o-audio-preview')).toMatchObject({
    input: 2_500_000_000n,
    inputAudio: 40_000_000_000n,
    outputAudio: 80_000_000_000n,
  })
  expect(perMillion('mistral', 'mistral-large-latest')).toEqual({ input: 0.5, output: 1.5 })
  expect(perMillion('mistral', 'mistral-small-latest')).toEqual({ input: 0.15, output: 0.6 })
  // aws.amazon.com/bedrock/pricing: Titan Text Embeddings V2, $0.00002 per 1,000 tokens.
  expect(cost('bedrock', 'amazon.titan-embed-text-v2:0', tokens(1_000_000))).toBe(20_000_000n)
  // Writes for an hour cost twice the input, on clouds too; a regional profile of Bedrock a tenth more.
  expect(catalogPrices('bedrock', 'us.anthropic.claude-sonnet-5-5')!.cacheWriteOneHour).toBe(4_400_000_000n)
  expect(catalogPrices('vertex_ai', 'claude-sonnet-5-5')!.cacheWriteOneHour).toBe(4_000_000_000n)
  // Rerankers, by search unit or by token.
  expect(cost('cohere', 'rerank-v3.5', { ...tokens(0), searchUnits: 1 })).toBe(2_000_000n)
  expect(cost('voyage', 'rerank-2.5', tokens(1_000_000))).toBe(50_000_000n)
})

test('a price that no list has is unknown', () => {
  // The names were retired, and every list has another of their former prices.
  expect(catalogueEntry('deepseek', 'deepseek-chat')!.prices).toBeNull()
})

test('free models cost nothing', () => {
  expect(catalogPrices('openrouter', 'deepseek/deepseek-r1:free')).toEqual({ input: 0n, output: 0n })
  expect(catalogPrices('openai', 'omni-moderation-latest')).toEqual({ input: 0n, output: 0n })
  expect(catalogPrices('local', 'anything')).toEqual({ input: 0n, output: 0n })
})

test('tiers at their exact edge, peak hours, units other than tokens, later prices', () => {
  expect(cost('gemini', 'gemini-2.5-pro', tokens(200_000))).toBe(250_000_000n)
  expect(cost('gemini', 'gemini-2.5-pro', tokens(200_001))).toBe(500_002_500n)
  // OpenAI: more than 272,000; xAI: 200,000 and more (docs.x.ai/docs/models).
  expect(cost('openai', 'gpt-5.4', tokens(272_000))).toBe(680_000_000n)
  expect(cost('openai', 'gpt-5.4', tokens(272_001))).toBe(1_360_005_000n)
  expect(cost('xai', 'grok-4.6', tokens(199_999))).toBe(399_998_000n)
  expect(cost('xai', 'grok-4.6', tokens(200_000))).toBe(800_000_000n)
  // api-docs.deepseek.com/quick_start/pricing: 01:00 to 04:00 and 06:00 to 10:00 UTC on working days.
  const flash = (at: string) => cost('deepseek', 'deepseek-flash', tokens(1_000_000), Date.parse(at))
  expect(['2026-11-23T00:59:59Z', '2026-11-23T01:00:00Z', '2026-11-22T01:00:00Z'].map(flash)).toEqual([
    150_000_000n,
    300_000_000n,
    150_000_000n,
  ])
  expect(cost('openai', 'whisper-1', { ...tokens(0), audioSeconds: 30 })).toBe(3_000_000n)
  expect(cost('groq', 'whisper-large-v3', { ...tokens(0), audioSeconds: 1 })).toBe(308_333n)
  const later = (at: string) => cost('gemini', 'gemini-3.8-flash', tokens(1_000_000), Date.parse(at))
  expect([later('2026-12-31T23:59:59Z'), later('2027-01-01T00:00:00Z')]).toEqual([750_000_000n, 1_500_000_000n])
})

test('variants are those that the vendor lists', () => {
  const { variants } = catalogPrices('openai', 'gpt-5.5')!
  expect(variants!.priority).toMatchObject({ input: 12_500_000_000n, output: 75_000_000_000n })
  expect(variants!.flex).toMatchObject({ input: 2_500_000_000n, output: 15_000_000_000n, cacheRead: 250_000_000n })
  expect(catalogPrices('anthropic', 'claude-opus-5-5')!.variants!.fast).toMatchObject({
    input: 8_000_000_000n,
    cacheRead: 400_000_000n,
    cacheWriteOneHour: 16_000_000_000n,
  })
  expect(catalogPrices('deepseek', 'deepseek-flash')!.variants).toBeUndefined()
})

test('tokens of pictures have a price of their own', () => {
  const usage = { inputTokens: 10, outputTokens: 0, inputImageTokens: 4 }
  // LiteLLM's list 1.110.2: embed-v4.0, $0.12 for text, $0.47 for images.
  expect(costNanoUsd(usage, catalogPrices('cohere', 'embed-v4.0'), { atMs: 0 })).toBe(6n * 120n + 4n * 470n)
})
