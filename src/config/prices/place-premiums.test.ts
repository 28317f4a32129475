import { describe, expect, test } from 'bun:test'
import type { Prices } from '../../core/usage/prices.ts'
import { pricesInPlace } from './place-premiums.ts'
import type { PlacedTarget } from './place-premiums.ts'

const listed: Prices = { input: 1_000_000_000n, output: 5_000_000_000n }
const vertex = 'https://aiplatform.googleapis.com'

const at = (provider: string, model: string, baseUrl: string, location?: string): PlacedTarget => ({
  provider: { name: provider },
  model,
  baseUrl,
  options: location === undefined ? {} : { vertex_project: 'p', vertex_location: location },
})

/** Percent of the list's input, by the pages named in the module. */
const cases: [string, PlacedTarget, bigint][] = [
  ['Gemini 3 at the global endpoint', at('vertex_ai', 'gemini-3.5-flash', vertex, 'global'), 100n],
  ['Gemini 3 in a region', at('vertex_ai', 'gemini-3.5-flash', vertex, 'europe-west1'), 110n],
  ['Gemini 3 in a multi-region', at('vertex_ai', 'gemini-3.1-pro-preview', vertex, 'us'), 110n],
  ['Gemini 2.5 in a region', at('vertex_ai', 'gemini-2.5-pro', vertex, 'us'), 100n],
  [
    'Gemini 3 at a regional host',
    at('vertex_ai', 'gemini-3.5-flash', 'https://us-central1-aiplatform.googleapis.com'),
    110n,
  ],
  ['Claude 4.5 in a region', at('vertex_ai', 'claude-sonnet-4-5@20250929', vertex, 'us-east5'), 110n],
  ['Claude 5 at the global endpoint', at('vertex_ai', 'claude-opus-5', vertex, 'global'), 100n],
  ['Claude 4 in a region', at('vertex_ai', 'claude-sonnet-4@20250514', vertex, 'us-east5'), 100n],
  ['gpt-5.4 in Europe', at('openai', 'gpt-5.4-mini', 'https://eu.api.openai.com/v1'), 110n],
  ['gpt-5.4', at('openai', 'gpt-5.4-mini', 'https://api.openai.com/v1'), 100n],
  ['gpt-4o in Europe', at('openai', 'gpt-4o', 'https://eu.api.openai.com/v1'), 100n],
  ['Grok in the United States', at('xai', 'grok-4.6', 'https://us-east-1.api.x.ai/v1'), 110n],
  ['another provider', at('groq', 'gpt-5.4', 'https://eu.api.openai.com/v1'), 100n],
]
for (const [name, place, percent] of cases)
  test(`premium: ${name}`, () =>
    expect(pricesInPlace({ prices: listed, priceSource: 'catalogue' }, place)?.input).toBe(10_000_000n * percent))

describe('what a premium covers', () => {
  const place: PlacedTarget = at('openai', 'gpt-5.6-sol', 'https://us.api.openai.com/v1')

  test('tokens of tiers, variants, hours and dates; not searches, and no units', () => {
    const set = (input: bigint): Prices => ({ input, webSearch: 10n, image: 20n, request: 30n, audioSecondsMin: 10 })
    const made = (factor: bigint): Prices => ({
      ...set(100n * factor),
      tiers: [{ fromInputTokens: 272_000, prices: set(200n * factor) }],
      variants: { flex: { ...set(50n * factor), tiers: [{ fromInputTokens: 9, prices: set(70n * factor) }] } },
      hours: [{ windows: [{ fromMinute: 0, toMinute: 60 }], prices: set(80n * factor) }],
      later: [{ fromMs: 5, prices: set(60n * factor) }],
      regionPercent: { us: 110 },
    })
    expect(pricesInPlace({ prices: made(10n), priceSource: 'catalogue' }, place)).toEqual(made(11n))
  })

  test("no price stays none, and the operator's prices are final", () => {
    expect(pricesInPlace({ prices: null, priceSource: 'unknown' }, place)).toBeNull()
    expect(pricesInPlace({ prices: listed, priceSource: 'config' }, place)).toBe(listed)
  })
})
