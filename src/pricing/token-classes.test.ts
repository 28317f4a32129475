/** No token is charged twice, and none is forgotten. */
import { describe, expect, test } from 'bun:test'
import { forSeeds, seedsOf } from '../../tests/property/random.ts'
import type { Random } from '../../tests/property/random.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { UsageCounts } from '../core/usage/usage.ts'
import { inputClasses, outputClasses } from './token-classes.ts'
import type { TokenClass } from './token-classes.ts'

const inputNames = [
  'cachedInputTokens',
  'cacheWriteTokens',
  'cacheWriteOneHourTokens',
  'inputAudioTokens',
  'inputImageTokens',
  'inputVideoTokens',
  'cachedAudioTokens',
  'cachedImageTokens',
  'explicitCachedTokens',
] as const
const outputNames = ['reasoningTokens', 'outputAudioTokens', 'outputImageTokens', 'outputVideoTokens'] as const
const priceNames = [
  'cacheRead',
  'cacheReadAudio',
  'cacheReadImage',
  'cacheReadExplicit',
  'cacheWrite',
  'cacheWriteOneHour',
  'inputAudio',
  'inputImage',
  'inputVideo',
  'outputAudio',
  'outputImage',
  'outputVideo',
  'reasoning',
] as const

/** Any counts, also such as exceed the whole, and each other. */
function countsOf(random: Random): UsageCounts {
  const usage: UsageCounts = { inputTokens: random.int(1000), outputTokens: random.int(1000) }
  for (const name of [...inputNames, ...outputNames]) if (random.chance(0.4)) usage[name] = random.int(1200)
  return usage
}

const pricesOf = (random: Random): Prices => ({
  input: BigInt(1 + random.int(3)),
  output: BigInt(1 + random.int(3)),
  ...Object.fromEntries(priceNames.filter(() => random.chance(0.5)).map(name => [name, BigInt(1 + random.int(3))])),
})

const sumOf = (classes: readonly TokenClass[]): number => classes.reduce((sum, [tokens]) => sum + tokens, 0)
const amountOf = (classes: readonly TokenClass[]): bigint =>
  classes.reduce((sum, [tokens, price = 0n]) => sum + BigInt(tokens) * price, 0n)

test('the parts sum up to the whole, and none is negative', () => {
  let unknown = 0
  forSeeds(seedsOf(5000), random => {
    const [usage, prices] = [countsOf(random), pricesOf(random)]
    const outputs = outputClasses(usage, prices)
    expect(sumOf(outputs)).toBe(usage.outputTokens)
    const inputs = inputClasses(usage, prices)
    if (!inputs) return void unknown++
    expect(sumOf(inputs)).toBe(usage.inputTokens)
    for (const [tokens] of [...inputs, ...outputs]) expect(tokens).toBeGreaterThanOrEqual(0)
  })
  expect(unknown).toBeGreaterThan(0)
})

test('a cache of which it is not reported how much is audio is unknown only where it matters', () => {
  forSeeds(seedsOf(2000), random => {
    const prices = pricesOf(random)
    const inputTokens = 1 + random.int(1000)
    const cachedInputTokens = random.int(inputTokens)
    const inputAudioTokens = random.int(inputTokens)
    const usage: UsageCounts = { inputTokens, outputTokens: 0, cachedInputTokens, inputAudioTokens }
    const least = Math.max(cachedInputTokens + inputAudioTokens - inputTokens, 0)
    const most = Math.min(cachedInputTokens, inputAudioTokens)
    const reported = [least, most].map(cachedAudioTokens => inputClasses({ ...usage, cachedAudioTokens }, prices)!)
    const classes = inputClasses(usage, prices)
    const isPriced = reported.every(one => one.every(([tokens, price]) => tokens === 0 || price !== undefined))
    const [first, last] = reported.map(amountOf)
    if (classes) expect(amountOf(classes)).toBe(first!)
    else expect(least !== most && (!isPriced || first !== last)).toBe(true)
  })
})

describe('a price for one kind is none for another', () => {
  test('an hour in the cache costs no five minutes', () => {
    const usage = { inputTokens: 10, outputTokens: 0, cacheWriteTokens: 10, cacheWriteOneHourTokens: 4 }
    expect(inputClasses(usage, { input: 1n, cacheWrite: 2n })).toContainEqual([4, undefined])
    expect(inputClasses(usage, { input: 1n })).toContainEqual([4, 1n])
  })

  test('cached audio costs no cached text where audio has a price of its own', () => {
    const usage = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 5, inputAudioTokens: 4, cachedAudioTokens: 3 }
    expect(inputClasses(usage, { input: 1n, cacheRead: 2n, inputAudio: 3n })).toContainEqual([3, undefined])
    expect(inputClasses(usage, { input: 1n, cacheRead: 2n })).toContainEqual([3, 2n])
  })

  test('a single token of a kind has the price of the kind', () => {
    const usage = { inputTokens: 5, outputTokens: 5, inputAudioTokens: 1, outputAudioTokens: 1 }
    const prices = { input: 1n, output: 2n, inputAudio: 30n, outputAudio: 40n }
    expect(amountOf(inputClasses(usage, prices)!)).toBe(4n + 30n)
    expect(amountOf(outputClasses(usage, prices))).toBe(8n + 40n)
  })

  test('what a client put into a cache has its own price, and none where only the own cache has one', () => {
    const usage = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 6, explicitCachedTokens: 2 }
    expect(amountOf(inputClasses(usage, { input: 100n, cacheRead: 10n, cacheReadExplicit: 1n })!)).toBe(400n + 40n + 2n)
    expect(inputClasses(usage, { input: 100n, cacheRead: 10n })).toContainEqual([2, undefined])
    expect(amountOf(inputClasses(usage, { input: 100n })!)).toBe(1000n)
  })

  test('cached audio and pictures have the prices of their kind in the cache', () => {
    const usage = {
      inputTokens: 100,
      outputTokens: 0,
      cachedInputTokens: 50,
      inputAudioTokens: 20,
      cachedAudioTokens: 15,
      inputImageTokens: 10,
      cachedImageTokens: 4,
    }
    const prices = { input: 1n, cacheRead: 2n, inputAudio: 30n, cacheReadAudio: 400n, inputImage: 5000n }
    const classes = inputClasses(usage, { ...prices, cacheReadImage: 60_000n })!
    expect(amountOf(classes)).toBe(39n * 1n + 31n * 2n + 5n * 30n + 15n * 400n + 6n * 5000n + 4n * 60_000n)
  })
})
