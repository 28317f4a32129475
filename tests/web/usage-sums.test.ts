/** Sums of usage are exact: the bill that a table for spreadsheets shows is the bill. */
import { expect, test } from 'bun:test'
import { csvText } from '../../web/lib/csv.ts'
import { nanoOf, nanoText } from '../../web/lib/dollars.ts'

// The pages ask the browser for its languages when they are loaded.
Object.defineProperty(navigator, 'languages', { value: ['en-US'], configurable: true })
const { byDay, partsOf, total } = await import('../../web/lib/usage-sums.ts')

const metrics = (spend: number) => ({
  spend,
  prompt_tokens: 1,
  completion_tokens: 1,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  total_tokens: 2,
  successful_requests: 1,
  failed_requests: 0,
  api_requests: 1,
  unpriced_requests: 0,
})
const report = (spends: readonly number[]) =>
  spends.map((spend, at) => ({
    date: `2026-11-${String(at + 1).padStart(2, '0')}`,
    metrics: metrics(spend),
    breakdown: { models: { m: { metrics: metrics(spend), metadata: {} } } },
  })) as unknown as Parameters<typeof partsOf>[0]
const daysOf = (count: number) => Array.from({ length: count }, (_, at) => `2026-11-${String(at + 1).padStart(2, '0')}`)

test('dollars are added up as decimals', () => {
  for (const [spends, sum] of [
    [[0.1, 0.2], '0.3'],
    [[0.1, 0.7], '0.8'],
    [Array(10).fill(0.1), '1'],
    [[0.000_000_001, 0.000_000_002], '0.000000003'],
    [[123_456.789, 0.000_000_001], '123456.789000001'],
    [[1_000_000.1, 2_000_000.2, 0.000_000_003], '3000000.300000003'],
    [[0, 0], '0'],
  ] as const) {
    const results = report(spends)
    const now = daysOf(spends.length)
    const [part] = partsOf(results, 'models', { now, before: [] })
    expect(nanoText(part!.now.nanoUsd)).toBe(sum)
    expect(nanoText(total(byDay(results, now)).nanoUsd)).toBe(sum)
    expect(part!.now.spend).toBe(Number(sum))
    expect(csvText([['m', { number: nanoText(part!.now.nanoUsd) }]])).toBe(`m,${sum}\r\n`)
  }
})

test('an amount is written with all of its digits, and none more', () => {
  for (const [usd, text] of [
    [1e-9, '0.000000001'],
    [12.5, '12.5'],
    [-0.25, '-0.25'],
    [100, '100'],
  ] as const)
    expect(nanoText(nanoOf(usd))).toBe(text)
})
