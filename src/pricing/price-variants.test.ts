import { describe, expect, test } from 'bun:test'
import type { Prices } from '../core/usage/prices.ts'
import type { Served, Usage } from '../core/usage/usage.ts'
import { costNanoUsd } from './cost.ts'
import { appliedPrices, pricesAt, regionPercent, regionPercentMax, variantsFor } from './price-variants.ts'

const thousand: Usage = { inputTokens: 1000, outputTokens: 0 }
const plain: Prices = { input: 1_000_000_000n, output: 0n }
const withVariants: Prices = {
  ...plain,
  variants: {
    flex: { input: 500_000_000n, output: 0n },
    priority: {
      input: 2_000_000_000n,
      output: 0n,
      tiers: [{ fromInputTokens: 1000, prices: { input: 3_000_000_000n, output: 0n } }],
    },
    batch: { input: 400_000_000n, output: 0n },
  },
}

describe('what served the call is what is priced', () => {
  const cases: [string, Prices, Served | undefined, bigint | null][] = [
    ['nothing said', withVariants, undefined, 1_000_000n],
    ['the normal service', withVariants, { serviceTier: 'default' }, 1_000_000n],
    ['flex', withVariants, { serviceTier: 'flex' }, 500_000n],
    ['priority, with its own tiers', withVariants, { serviceTier: 'priority' }, 3_000_000n],
    ['the other word for priority', withVariants, { serviceTier: 'fast' }, 3_000_000n],
    ['a line of a batch', withVariants, { serviceTier: 'batch' }, 400_000n],
    ['a variant without a price', withVariants, { serviceTier: 'scale' }, null],
    ['a variant of a model without any', plain, { serviceTier: 'flex' }, null],
    ['a batch without a price', plain, { serviceTier: 'batch' }, null],
    ['a choice that the vendor keeps to itself', withVariants, { serviceTier: 'auto' }, null],
    ['no choice but batches', { ...plain, variants: { batch: plain } }, { serviceTier: 'auto' }, 1_000_000n],
    ['a speed', { ...plain, variants: { fast: { input: 6_000_000_000n } } }, { speed: 'fast' }, 6_000_000n],
    ['a speed without a price', withVariants, { speed: 'fast' }, null],
    ['a speed in another tier', withVariants, { speed: 'fast', serviceTier: 'priority' }, null],
    ['the normal speed', withVariants, { speed: 'standard', serviceTier: 'standard' }, 1_000_000n],
  ]
  for (const [name, prices, served, expected] of cases)
    test(name, () =>
      expect(costNanoUsd({ ...thousand, ...(served && { served }) }, prices, { atMs: 0 })).toBe(expected),
    )
})

test('a region has a factor for tokens, not for tools; one without a factor has no price', () => {
  const placed: Prices = { ...plain, webSearch: 10_000_000_000_000n, regionPercent: { us: 110 } }
  const cost = (region: string) => costNanoUsd({ ...thousand, webSearches: 2, served: { region } }, placed, { atMs: 0 })
  expect(['global', 'not_available', 'us', 'eu'].map(cost)).toEqual([21_000_000n, 21_000_000n, 21_100_000n, null])
})

describe('hours of the week', () => {
  const peak: Prices = { input: 2_000_000_000n, output: 0n }
  const prices: Prices = {
    ...plain,
    hours: [
      {
        windows: [
          { fromMinute: 60, toMinute: 240 },
          { fromMinute: 1380, toMinute: 30 },
        ],
        days: [1, 2, 3, 4, 5],
        exceptDays: ['2026-10-01'],
        prices: peak,
      },
    ],
  }
  const isPeak = (text: string) => pricesAt(prices, Date.parse(text)) === peak

  test('begin and end to the minute, pass midnight, and leave days out', () => {
    const moments = ['2026-11-23T00:59:59Z', '2026-11-23T01:00:00Z', '2026-11-23T03:59:59Z', '2026-11-23T04:00:00Z']
    expect(moments.map(isPeak)).toEqual([false, true, true, false])
    expect(['2026-11-23T23:00:00Z', '2026-11-24T00:29:00Z', '2026-11-24T00:30:00Z'].map(isPeak)).toEqual([
      true,
      true,
      false,
    ])
    expect(['2026-11-22T02:00:00Z', '2026-10-01T02:00:00Z', '2026-10-02T02:00:00Z'].map(isPeak)).toEqual([
      false,
      false,
      true,
    ])
  })

  test('a call that ends at other prices than it began at has no known cost', () => {
    const cost = (from: string, to: string) =>
      costNanoUsd(thousand, prices, { atMs: Date.parse(from), endedAtMs: Date.parse(to) })
    expect(cost('2026-11-23T03:59:00Z', '2026-11-23T03:59:59Z')).toBe(2_000_000n)
    expect(cost('2026-11-23T03:59:00Z', '2026-11-23T04:00:01Z')).toBeNull()
    expect(cost('2026-11-23T04:00:00Z', '2026-11-23T05:00:00Z')).toBe(1_000_000n)
  })
})

describe('what a call may be charged at, before it is served', () => {
  test('holds the tiers that the vendor may choose unasked, and of those asked for this one alone', () => {
    const { flex, priority, batch } = withVariants.variants!
    expect(variantsFor(withVariants, {})).toEqual([withVariants, priority!])
    expect(variantsFor(withVariants, { serviceTier: 'flex' })).toEqual([withVariants, flex!])
    expect(variantsFor(withVariants, { serviceTier: 'batch' })).toEqual([withVariants, batch!])
    expect(variantsFor(withVariants, { serviceTier: 'scale' })).toBeNull()
    expect(variantsFor({ ...plain, variants: { scale: plain } }, {})).toEqual([expect.anything(), plain])
  })

  test('holds the speed that is asked for, beside the normal one; without a price for it nothing is known', () => {
    const fast = { input: 9n, output: 9n }
    expect(variantsFor({ ...plain, variants: { fast } }, { speed: 'fast' })).toEqual([expect.anything(), fast])
    expect(variantsFor({ ...plain, variants: { fast } }, { speed: 'standard' })).toHaveLength(1)
    expect(variantsFor(plain, { speed: 'fast' })).toBeNull()
  })

  test('is the dearest region where none is asked for, never less than the list', () => {
    const placed = { ...plain, regionPercent: { us: 110, eu: 125, mars: 50 } }
    expect(regionPercentMax(placed, undefined, 0)).toBe(125)
    expect(regionPercentMax({ ...plain, regionPercent: { mars: 50 } }, undefined, 0)).toBe(100)
    expect(regionPercentMax(plain, undefined, 0)).toBe(100)
    expect(['us', 'global', 'venus'].map(region => regionPercentMax(placed, region, 0))).toEqual([110, 100, null])
  })

  test('the percent of a region is that of the prices in force at the moment', () => {
    const prices = { ...plain, later: [{ fromMs: 1000, prices: { ...plain, regionPercent: { us: 110 } } }] }
    expect([999, 1000].map(atMs => regionPercent(prices, { region: 'us' }, atMs))).toEqual([null, 110])
  })
})

test('hours of prices that hold later make a call that crosses them unknown as well', () => {
  const dear = { input: 9n, output: 9n }
  const hours = [{ windows: [{ fromMinute: 60, toMinute: 120 }], prices: dear }]
  const prices = { ...plain, later: [{ fromMs: 0, prices: { ...plain, hours } }] }
  const minute = 60_000
  const at = (from: number, to: number) =>
    appliedPrices(prices, undefined, 1, { atMs: from * minute, endedAtMs: to * minute })
  expect([at(59, 59)?.input, at(59, 60), at(60, 119)?.input]).toEqual([plain.input, null, 9n])
  const changed = { ...plain, later: [{ fromMs: 5, prices: dear }] }
  expect(appliedPrices(changed, undefined, 1, { atMs: 4, endedAtMs: 5 })).toBe(changed)
})
