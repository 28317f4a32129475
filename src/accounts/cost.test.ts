import { expect, test } from 'bun:test'
import { costNanoUsd, nanoUsdToText } from './cost.ts'

const prices = { input: 3_000_000_000n, output: 15_000_000_000n, cacheRead: 300_000_000n, cacheWrite: 3_750_000_000n }

test('tokens times price, in integers', () => {
  expect(costNanoUsd({ inputTokens: 1000, outputTokens: 200 }, prices)).toBe(6_000_000n)
  expect(costNanoUsd({ inputTokens: 0, outputTokens: 0 }, prices)).toBe(0n)
})

test('cached tokens are part of the input and have prices of their own', () => {
  const usage = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 600, cacheWriteTokens: 100 }
  expect(costNanoUsd(usage, prices)).toBe(300n * 3000n + 600n * 300n + 100n * 3750n)
})

test('a component without its own price is charged as plain input, never as nothing', () => {
  const plain = { input: 3_000_000_000n, output: 15_000_000_000n }
  expect(costNanoUsd({ inputTokens: 1000, outputTokens: 0, cachedInputTokens: 900 }, plain)).toBe(3_000_000n)
})

test('an unknown price is unknown, not free', () => {
  expect(costNanoUsd({ inputTokens: 1, outputTokens: 1 }, null)).toBeNull()
})

test('fractions of a nano-dollar are rounded half up, once', () => {
  const small = { input: 37_500_000n, output: 0n }
  expect(costNanoUsd({ inputTokens: 1, outputTokens: 0 }, small)).toBe(38n)
  expect(costNanoUsd({ inputTokens: 2, outputTokens: 0 }, small)).toBe(75n)
  expect(costNanoUsd({ inputTokens: 3, outputTokens: 0 }, small)).toBe(113n)
})

test('amounts beyond 2^53 stay exact', () => {
  expect(costNanoUsd({ inputTokens: 999_999_999, outputTokens: 1 }, { input: 75_000_000_001n, output: 1n })).toBe(
    74_999_999_926_000n,
  )
})

test('dollars as text lose nothing', () => {
  expect(nanoUsdToText(1_500_000n)).toBe('0.0015')
  expect(nanoUsdToText(0n)).toBe('0')
  expect(nanoUsdToText(12_000_000_001n)).toBe('12.000000001')
})

test('the short way and the long way are the same to the nano-dollar', () => {
  const price = () => BigInt(Math.floor(Math.random() * 2e11))
  for (let at = 0; at < 20_000; at++) {
    const prices = { input: price(), output: price(), cacheRead: 0n }
    const inputTokens = Math.floor(Math.random() * 10 ** (1 + (at % 7)))
    const outputTokens = Math.floor(Math.random() * 10 ** (1 + (at % 5)))
    const exact = (BigInt(inputTokens) * prices.input + BigInt(outputTokens) * prices.output + 500_000n) / 1_000_000n
    expect(costNanoUsd({ inputTokens, outputTokens }, prices)).toBe(exact)
  }
})
