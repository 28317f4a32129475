import { describe, expect, test } from 'bun:test'
import type { Prices } from '../core/usage/prices.ts'
import type { Usage } from '../core/usage/usage.ts'
import { costNanoUsd, isFree, nanoUsdToText } from './cost.ts'
import { pricesAt } from './price-variants.ts'

const cost = (usage: Usage, prices: Prices | null, inBatch = false) =>
  costNanoUsd({ ...usage, ...(inBatch && { served: { serviceTier: 'batch' } }) }, prices, { atMs: 0 })

const prices = { input: 3_000_000_000n, output: 15_000_000_000n, cacheRead: 300_000_000n, cacheWrite: 3_750_000_000n }

test('tokens times price, in integers', () => {
  expect(cost({ inputTokens: 1000, outputTokens: 200 }, prices)).toBe(6_000_000n)
  expect(cost({ inputTokens: 0, outputTokens: 0 }, prices)).toBe(0n)
})

test('cached tokens are part of the input and have prices of their own', () => {
  const usage = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 600, cacheWriteTokens: 100 }
  expect(cost(usage, prices)).toBe(300n * 3000n + 600n * 300n + 100n * 3750n)
})

test('a component without its own price is charged as plain input, never as nothing', () => {
  const plain = { input: 3_000_000_000n, output: 15_000_000_000n }
  expect(cost({ inputTokens: 1000, outputTokens: 0, cachedInputTokens: 900 }, plain)).toBe(3_000_000n)
})

test('an unknown price is unknown, not free', () => {
  expect(cost({ inputTokens: 1, outputTokens: 1 }, null)).toBeNull()
})

test('fractions of a nano-dollar are rounded half up, once', () => {
  const small = { input: 37_500_000n, output: 0n }
  expect(cost({ inputTokens: 1, outputTokens: 0 }, small)).toBe(38n)
  expect(cost({ inputTokens: 2, outputTokens: 0 }, small)).toBe(75n)
  expect(cost({ inputTokens: 3, outputTokens: 0 }, small)).toBe(113n)
})

test('amounts beyond 2^53 stay exact', () => {
  expect(cost({ inputTokens: 999_999_999, outputTokens: 1 }, { input: 75_000_000_001n, output: 1n })).toBe(
    74_999_999_926_000n,
  )
})

test('dollars as text lose nothing', () => {
  expect(nanoUsdToText(1_500_000n)).toBe('0.0015')
  expect(nanoUsdToText(0n)).toBe('0')
  expect(nanoUsdToText(12_000_000_001n)).toBe('12.000000001')
  expect(nanoUsdToText(3_000_000_000n)).toBe('3')
  expect(nanoUsdToText(9_007_199_254_740_993n)).toBe('9007199.254740993')
  expect(nanoUsdToText(20_000_000_000_000_000_010n)).toBe('20000000000.00000001')
  expect(nanoUsdToText(20_000_000_000_000_000_000n)).toBe('20000000000')
})

test('the short way and the long way are the same to the nano-dollar', () => {
  const price = () => BigInt(Math.floor(Math.random() * 2e11))
  for (let at = 0; at < 20_000; at++) {
    const prices = { input: price(), output: price(), cacheRead: 0n }
    const inputTokens = Math.floor(Math.random() * 10 ** (1 + (at % 7)))
    const outputTokens = Math.floor(Math.random() * 10 ** (1 + (at % 5)))
    const exact = (BigInt(inputTokens) * prices.input + BigInt(outputTokens) * prices.output + 500_000n) / 1_000_000n
    expect(cost({ inputTokens, outputTokens }, prices)).toBe(exact)
  }
})

test('a long input has other prices for everything, from the first token above the line', () => {
  const long = { input: 6_000_000_000n, output: 22_500_000_000n, cacheRead: 600_000_000n }
  const tiered = {
    ...prices,
    tiers: [
      { fromInputTokens: 200_001, prices: long },
      { fromInputTokens: 500_001, prices: { ...long, input: 9_000_000_000n } },
    ],
  }
  expect(cost({ inputTokens: 200_000, outputTokens: 10 }, tiered)).toBe(200_000n * 3000n + 10n * 15_000n)
  expect(cost({ inputTokens: 200_001, outputTokens: 10 }, tiered)).toBe(200_001n * 6000n + 10n * 22_500n)
  expect(cost({ inputTokens: 200_001, outputTokens: 0, cachedInputTokens: 200_000 }, tiered)).toBe(
    6000n + 200_000n * 600n,
  )
  expect(cost({ inputTokens: 500_001, outputTokens: 0 }, tiered)).toBe(500_001n * 9000n)
})

test('prices change at a moment, and only then', () => {
  const later = [
    { fromMs: 1000, prices: { input: 1_000_000_000n, output: 0n } },
    { fromMs: 2000, prices: { input: 2_000_000_000n, output: 0n } },
  ]
  const changing = { input: 5_000_000_000n, output: 0n, later }
  const at = (atMs: number) => costNanoUsd({ inputTokens: 1, outputTokens: 0 }, changing, { atMs })
  expect([0, 999, 1000, 1999, 2000, 9999].map(at)).toEqual([5000n, 5000n, 1000n, 1000n, 2000n, 2000n])
  expect(pricesAt(changing, 0)).toBe(changing)
  expect(costNanoUsd({ inputTokens: 1, outputTokens: 0 }, { later }, { atMs: 0 })).toBeNull()
})

test('a batch has its own prices; without them its cost is not known', () => {
  const half = { input: 1_500_000_000n, output: 7_500_000_000n }
  expect(cost({ inputTokens: 2, outputTokens: 2 }, { ...prices, variants: { batch: half } }, true)).toBe(18_000n)
  expect(cost({ inputTokens: 2, outputTokens: 2 }, { ...prices, variants: { batch: half } })).toBe(36_000n)
  expect(cost({ inputTokens: 2, outputTokens: 2 }, prices, true)).toBeNull()
})

const none = { inputTokens: 0, outputTokens: 0 }
const one = 1_000_000_000_000_000n
const units: [string, Usage, Prices, bigint | null][] = [
  ['pictures', { ...none, images: 3 }, { image: one / 25n }, 120_000_000n],
  ['characters', { ...none, characters: 1234 }, { character: 15_000_000_000n }, 18_510_000n],
  ['fractions of seconds', { ...none, audioSeconds: 8.47 }, { audioSecond: 100_000_000_000n }, 847_000n],
  ['a third of a price', { ...none, audioSeconds: 3 }, { audioSecond: 30_833_333_333n }, 92_500n],
  [
    'audio shorter than the least that is billed',
    { ...none, audioSeconds: 0.5 },
    { audioSecond: 100_000_000_000n, audioSecondsMin: 10 },
    1_000_000n,
  ],
  ['search units', { ...none, searchUnits: 2 }, { searchUnit: one / 500n }, 4_000_000n],
  [
    'a fee for the call',
    { inputTokens: 1, outputTokens: 1 },
    { input: 1_000_000_000n, output: 1_000_000_000n, request: one / 200n },
    5_002_000n,
  ],
  ['a unit without a price', { ...none, images: 1 }, { input: 5n, output: 5n }, null],
  [
    'one unit priced and the other not',
    { ...none, characters: 10, audioSeconds: 4 },
    { character: one },
    10_000_000_000n,
  ],
  [
    'tokens that are the bill, beside a count of pictures',
    { inputTokens: 1000, outputTokens: 0, images: 1 },
    { input: 5_000_000_000n, output: 0n },
    5_000_000n,
  ],
  [
    'tokens without a price, beside seconds with one',
    { inputTokens: 30, outputTokens: 5, audioSeconds: 10 },
    { audioSecond: 100_000_000_000n },
    1_000_000n,
  ],
  ['tokens without a price', { inputTokens: 30, outputTokens: 5 }, { audioSecond: 100_000_000_000n }, null],
  ['output without a price', { inputTokens: 30, outputTokens: 5 }, { input: 1n }, null],
  ['an embedding has no output', { inputTokens: 1000, outputTokens: 0 }, { input: 20_000_000n }, 20_000n],
  ['nothing used', none, { audioSecond: 1n }, 0n],
  ['all for free', { ...none, images: 1, characters: 5 }, { input: 0n, output: 0n }, 0n],
  ['free tokens, dear pictures', { ...none, images: 1 }, { input: 0n, output: 0n, image: one }, 1_000_000_000n],
]
for (const [name, usage, given, expected] of units)
  test(`other units: ${name}`, () => expect(cost(usage, given)).toBe(expected))

test('tokens of pictures and of reasoning', () => {
  const painter = {
    input: 300_000_000n,
    output: 2_500_000_000n,
    outputImage: 30_000_000_000n,
    inputImage: 600_000_000n,
  }
  expect(cost({ inputTokens: 100, outputTokens: 1300, outputImageTokens: 1290, inputImageTokens: 90 }, painter)).toBe(
    10n * 300n + 90n * 600n + 10n * 2500n + 1290n * 30_000n,
  )
  // Not said which: the dear price, never the cheap one.
  expect(cost({ inputTokens: 0, outputTokens: 1300, images: 1 }, painter)).toBe(1300n * 30_000n)
  expect(cost({ inputTokens: 0, outputTokens: 1300 }, painter)).toBe(1300n * 2500n)
  const thinker = { input: 2_000_000_000n, output: 8_000_000_000n, reasoning: 3_000_000_000n }
  expect(cost({ inputTokens: 0, outputTokens: 100, reasoningTokens: 60 }, thinker)).toBe(40n * 8000n + 60n * 3000n)
})

describe('units beside tokens', () => {
  const tokens = { inputTokens: 1000, outputTokens: 0 }
  const tools: [keyof Usage, keyof Prices][] = [
    ['webSearches', 'webSearch'],
    ['fileSearches', 'fileSearch'],
    ['codeSessions', 'codeSession'],
    ['cacheStorageTokenHours', 'cacheStorageTokenHour'],
    ['groundedPrompts', 'groundedPrompt'],
    ['groundingQueries', 'groundingQuery'],
  ]

  test('each tool of the vendor is billed by itself, beside the tokens and beside a free model', () => {
    for (const [unit, price] of tools) {
      expect(cost({ ...tokens, [unit]: 2 }, { ...prices, [price]: one / 100n })).toBe(3_000_000n + 20_000_000n)
      expect(cost({ ...tokens, [unit]: 1 }, { input: 0n, output: 0n, [price]: one / 100n })).toBe(10_000_000n)
    }
  })

  test('a tool without a price makes the cost unknown, and so does one that no count tells of', () => {
    for (const [unit] of tools.filter(([name]) => name !== 'groundingQueries'))
      expect(cost({ ...tokens, [unit]: 2 }, prices)).toBeNull()
    expect(cost({ ...tokens, otherToolUses: 1 }, prices)).toBeNull()
  })

  test('a grounded answer is billed by its queries where these have a price, else as one', () => {
    const usage = { ...tokens, groundedPrompts: 1, groundingQueries: 3 }
    expect(cost(usage, { ...prices, groundedPrompt: one / 100n })).toBe(3_000_000n + 10_000_000n)
    expect(cost(usage, { ...prices, groundedPrompt: one / 100n, groundingQuery: one / 500n })).toBe(
      3_000_000n + 6_000_000n,
    )
  })

  test('each unit of media is billed by itself, beside tokens that have a price', () => {
    const media: [keyof Usage, keyof Prices][] = [
      ['images', 'image'],
      ['characters', 'character'],
      ['audioSeconds', 'audioSecond'],
      ['videoSeconds', 'videoSecond'],
      ['pages', 'page'],
      ['searchUnits', 'searchUnit'],
    ]
    for (const [unit, price] of media)
      expect(cost({ ...tokens, [unit]: 3 }, { ...prices, [price]: one / 100n })).toBe(3_000_000n + 30_000_000n)
  })

  test('a single token makes tokens the bill of what has no price of its own', () => {
    expect(cost({ inputTokens: 1, outputTokens: 0, images: 1 }, prices)).toBe(3000n)
    expect(cost({ inputTokens: 0, outputTokens: 1, images: 1 }, prices)).toBe(15_000n)
  })

  test('each kind of token is billed at its own price, beside plain ones', () => {
    const kinds: [keyof Usage, keyof Prices][] = [
      ['cachedInputTokens', 'cacheRead'],
      ['cacheWriteTokens', 'cacheWrite'],
      ['inputAudioTokens', 'inputAudio'],
      ['inputImageTokens', 'inputImage'],
      ['inputVideoTokens', 'inputVideo'],
      ['outputAudioTokens', 'outputAudio'],
      ['outputImageTokens', 'outputImage'],
      ['outputVideoTokens', 'outputVideo'],
      ['reasoningTokens', 'reasoning'],
    ]
    const plain = { input: 1_000_000n, output: 1_000_000n }
    for (const [unit, price] of kinds)
      expect(cost({ inputTokens: 4, outputTokens: 4, [unit]: 1 }, { ...plain, [price]: 50_000_000n })).toBe(57n)
  })

  test('a model is free only where nothing else has a price', () => {
    expect(isFree({ input: 0n, output: 0n })).toBe(true)
    for (const more of [{ input: 1n }, { output: 1n }]) expect(isFree({ input: 0n, output: 0n, ...more })).toBe(false)
    for (const name of ['image', 'character', 'audioSecond', 'videoSecond', 'page', 'searchUnit', 'request'])
      expect(isFree({ input: 0n, output: 0n, [name]: 1n })).toBe(false)
  })

  test('a cache of which part is audio at a price of its own has no known cost where the part is not reported', () => {
    const usage = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 5, inputAudioTokens: 5 }
    expect(cost(usage, { ...prices, inputAudio: 1n })).toBeNull()
  })
})

describe('tokens of other models', () => {
  const usage = {
    inputTokens: 30,
    outputTokens: 7,
    otherModels: [{ model: 'helper', usage: { inputTokens: 10, outputTokens: 5 } }],
  }
  const own = { input: 1_000_000n, output: 10_000_000n, regionPercent: { us: 200 }, variants: { flex: { input: 1n } } }
  const costWith = (helper: Prices | null, served = {}, given: Usage = usage) =>
    costNanoUsd({ ...given, served }, own, { atMs: 0, pricesOfModel: () => helper })

  test('are charged at the prices of these, the rest at its own', () => {
    expect(costWith({ input: 100_000_000n, output: 1_000_000_000n })).toBe(20n + 20n + 1000n + 5000n)
    const more = { ...usage, otherModels: [{ model: 'helper', usage: { inputTokens: 40, outputTokens: 5 } }] }
    expect(costWith({ input: 100_000_000n, output: 1_000_000_000n }, {}, more)).toBe(0n + 20n + 4000n + 5000n)
  })

  test('of which one has no price, or none for the tier or the region, make the cost unknown', () => {
    const helper = { input: 1_000_000n, output: 1_000_000n }
    expect(costWith(null)).toBeNull()
    expect(costWith({ input: 1n })).toBeNull()
    expect(costWith(helper, { serviceTier: 'flex' })).toBeNull()
    expect(costWith(helper, { region: 'us' })).toBeNull()
    expect(costWith({ ...helper, regionPercent: { us: 300 } }, { region: 'us' })).toBe(40n + 40n + 30n + 15n)
    expect(costNanoUsd(usage, own, { atMs: 0 })).toBeNull()
  })
})

test('a price that is not known takes only the calls that use it', () => {
  const partly: Prices = { input: 4_000_000_000n, output: 16_000_000_000n, unknown: ['cacheRead', 'reasoning'] }
  expect(cost({ inputTokens: 1000, outputTokens: 100 }, partly)).toBe(5_600_000n)
  expect(cost({ inputTokens: 1000, outputTokens: 100, cachedInputTokens: 1 }, partly)).toBeNull()
  expect(cost({ inputTokens: 1000, outputTokens: 100, reasoningTokens: 1 }, partly)).toBeNull()
})

test("a router's fee comes on top of the model that it chose, and is no cost by itself", () => {
  const fee: Prices = { input: 140_000_000n, output: 0n, isFee: true }
  const usage = { inputTokens: 1000, outputTokens: 100 }
  const routed = (routedModel?: string) =>
    costNanoUsd({ ...usage, ...(routedModel !== undefined && { routedModel }) }, fee, {
      atMs: 0,
      pricesOfModel: model => (model === 'chosen' ? prices : null),
    })
  expect(routed('chosen')).toBe(140_000n + 3_000_000n + 1_500_000n)
  expect(routed('other')).toBeNull()
  expect(routed()).toBeNull()
})
