/** Compares the extract with the library: same models, same prices, up to date. */
import { describe, expect, test } from 'bun:test'
import type { Provider } from '@pydantic/genai-prices'
import { readFileSync, statSync } from 'node:fs'
import { costNanoUsd } from '../../accounts/cost.ts'
import type { Usage } from '../../core/usage.ts'
import { catalogueEntry } from './catalogue.ts'
import type { Extract } from './catalogue.ts'
import { catalogPrices } from './prices.ts'

const path = `${import.meta.dir}/prices.json`
const extract = JSON.parse(readFileSync(path, 'utf8')) as Extract
const library = await import('@pydantic/genai-prices').catch(() => undefined)
if (!library)
  process.stdout.write('skipped: the price extract is not compared, because @pydantic/genai-prices is not installed\n')

const now = Date.parse('2026-11-21T12:00:00Z')

test('the extract is small and names its source', () => {
  expect(statSync(path).size).toBeLessThan(150_000)
  expect(extract.notice).toContain('@pydantic/genai-prices')
  expect(readFileSync(`${import.meta.dir}/../../../NOTICE`, 'utf8')).toMatch(
    /Copyright \(c\) Pydantic Services Inc\.[\s\S]*WITHOUT WARRANTY/,
  )
})

test('names are matched by the rules of the library', () => {
  const input = (provider: string, model: string) => catalogPrices(provider, model)?.input
  expect(input('anthropic', ' Claude-Sonnet-4-5-20250929 ')).toBe(3_000_000_000n)
  expect(input('openai', 'gpt-4o-20240806')).toBe(2_500_000_000n)
  expect(input('openai', 'gpt-4o-20240931')).toBeUndefined()
  expect(input('azure', 'claude-haiku-4-5')).toBe(1_000_000_000n)
  expect(input('bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0')).toBeDefined()
  expect(input('openai', 'nobody-knows-this')).toBeUndefined()
  expect(input('constructor', 'gpt-4o')).toBeUndefined()
  expect(catalogPrices('custom_openai', 'gpt-4o')).toBeNull()
  expect(catalogPrices('local', 'anything')).toEqual({ input: 0n, output: 0n })
})

test('a rule without a price hides later rules; a free model costs nothing', () => {
  expect(catalogueEntry('gemini', 'gemma-3-27b-it')).toEqual({ prices: null, contextWindow: undefined })
  expect(catalogPrices('openrouter', 'deepseek/deepseek-r1:free')).toEqual({ input: 0n, output: 0n })
  expect(catalogPrices('openai', 'omni-moderation-latest')).toMatchObject({ input: 0n, output: 0n })
})

test('tiers, dates, hours, and units other than tokens', () => {
  const cost = (provider: string, model: string, usage: Usage, atMs = now) =>
    costNanoUsd(usage, catalogPrices(provider, model), atMs)
  const tokens = (inputTokens: number) => ({ inputTokens, outputTokens: 0 })
  expect(cost('gemini', 'gemini-2.5-pro', tokens(200_000))).toBe(250_000_000n)
  expect(cost('gemini', 'gemini-2.5-pro', tokens(200_001))).toBe(500_002_500n)
  expect(cost('openai', 'o3', tokens(1000), Date.parse('2025-06-09T23:59:59Z'))).toBe(10_000_000n)
  expect(cost('openai', 'o3', tokens(1000), Date.parse('2025-06-10T00:00:00Z'))).toBe(2_000_000n)
  // Off-peak it is half of that: the highest price of the day is used.
  expect(cost('deepseek', 'deepseek-chat', tokens(1_000_000))).toBe(270_000_000n)
  expect(cost('deepseek', 'deepseek-v4-pro', tokens(1_000_000))).toBe(1_320_000_000n)
  expect(cost('openai', 'whisper-1', { ...tokens(0), audioSeconds: 30 })).toBe(3_000_000n)
  expect(cost('groq', 'whisper-large-v3', { ...tokens(0), audioSeconds: 1 })).toBe(308_333n)
  expect(cost('perplexity', 'sonar', tokens(1000))).toBe(13_000_000n)
  expect(catalogPrices('openai', 'gpt-4o')!.batch).toMatchObject({ input: 1_250_000_000n, output: 5_000_000_000n })
  expect(catalogPrices('deepseek', 'deepseek-chat')!.batch).toBeUndefined()
})

describe.skipIf(!library)('compared with the library', () => {
  test('the extract is up to date', async () => {
    const { asText, extract: renew } = await import('../../../scripts/extract-prices.ts')
    expect(readFileSync(path, 'utf8')).toBe(asText(await renew()))
  })

  const usages: Usage[] = [
    { inputTokens: 1000, outputTokens: 500 },
    {
      inputTokens: 150_000,
      outputTokens: 500,
      cachedInputTokens: 20_000,
      cacheWriteTokens: 3000,
      cacheWriteOneHourTokens: 1000,
    },
    { inputTokens: 290_000, outputTokens: 9000, reasoningTokens: 4000, cachedInputTokens: 7 },
    { inputTokens: 5000, outputTokens: 700, inputAudioTokens: 900, outputAudioTokens: 100 },
    { inputTokens: 5000, outputTokens: 700, inputImageTokens: 900, outputImageTokens: 100 },
    { inputTokens: 0, outputTokens: 0, audioSeconds: 3.5 },
    { inputTokens: 0, outputTokens: 0, audioSeconds: 7200 },
  ]
  const moments = ['2025-01-01T12:00:00Z', '2026-08-18T02:00:00Z', '2026-11-21T20:00:00Z', '2027-02-01T00:00:00Z'].map(
    text => new Date(text),
  )

  test('every model of every provider costs the same', async () => {
    const all = (await library!.waitForUpdate())!
    let compared = 0
    for (const [id, name] of new Map(Object.entries(extract.names).map(([ours, theirs]) => [theirs, ours]))) {
      const provider = all.find(one => one.id === id)!
      for (const model of namesOf(provider)) {
        const prices = catalogPrices(name, model)
        for (const usage of usages)
          for (const at of prices?.later ? moments : moments.slice(2, 3)) {
            const theirs = theirCost(id, model, usage, at)
            const ours = costNanoUsd(usage, prices, at.getTime())
            if (theirs === undefined || ours === null) continue
            compared++
            if (Math.abs(Number(ours) / 1e9 - theirs) > 1e-9 + theirs * 1e-12)
              throw new Error(`${name}/${model} ${JSON.stringify(usage)} ${at.toISOString()}: ${ours} and ${theirs}`)
          }
      }
    }
    expect(compared).toBeGreaterThan(5_000)
  })

  test('every model with a price in the library has one here', async () => {
    const all = (await library!.waitForUpdate())!
    const missing: string[] = []
    for (const [name, id] of Object.entries(extract.names))
      for (const model of namesOf(all.find(one => one.id === id)!)) {
        const theirs = theirCost(id, model, usages[0]!, moments[2]!)
        const ours = costNanoUsd(usages[0]!, catalogPrices(name, model), now)
        // In the library zero often means unknown, and some models have no output price.
        if (
          theirs &&
          ours === null &&
          costNanoUsd({ inputTokens: 1000, outputTokens: 0 }, catalogPrices(name, model), now) === null
        )
          missing.push(`${name}/${model}`)
      }
    expect(missing).toEqual([])
  })

  /** Every name in the rules, also with the other date format, and ids. */
  function namesOf(provider: Provider): string[] {
    const names = new Set<string>()
    const walk = (match: object): void => {
      for (const value of Object.values(match)) {
        if (typeof value !== 'string') (value as object[]).forEach(walk)
        else if (!value.startsWith('^'))
          names
            .add(value.replace(/-(20\d\d)-(\d\d)-(\d\d)$/, '-$1$2$3'))
            .add(value)
            .add(`${value}-x`)
      }
    }
    for (const model of provider.models) {
      names.add(model.id)
      walk(model.match)
    }
    return [...names]
  }

  /** Undefined where both differ by design: no price, prices by time of day, counts that the library refuses. */
  function theirCost(id: string, model: string, usage: Usage, at: Date): number | undefined {
    const given: Record<string, number> = {}
    const set = (key: string, value: number | undefined) => value && (given[key] = value)
    set('input_tokens', usage.inputTokens)
    set('output_tokens', usage.outputTokens)
    set('cache_read_tokens', usage.cachedInputTokens)
    set('cache_write_tokens', usage.cacheWriteTokens)
    set('cache_write_1h_tokens', usage.cacheWriteOneHourTokens)
    set('input_audio_tokens', usage.inputAudioTokens)
    set('output_audio_tokens', usage.outputAudioTokens)
    set('input_image_tokens', usage.inputImageTokens)
    set('output_image_tokens', usage.outputImageTokens)
    set('output_reasoning_tokens', usage.reasoningTokens)
    set('audio_seconds', usage.audioSeconds)
    set('input_audio_seconds', usage.audioSeconds)
    const found = library!.calcPrice({}, model, { providerId: id, timestamp: at })
    if (!found) return undefined
    const byHour =
      Array.isArray(found.model.prices) &&
      found.model.prices.some(({ constraint }) => constraint?.type === 'time_of_date')
    return byHour ? undefined : library!.calcPrice(given, model, { providerId: id, timestamp: at })!.total_price
  }
})
