/** Sums of usage are exact: the bill that a table for spreadsheets shows is the bill. */
import { expect, test } from 'bun:test'
import { csvText } from '../../web/lib/csv.ts'
import { nanoOf, nanoText } from '../../web/lib/dollars.ts'

// The pages ask the browser for its languages when they are loaded.
Object.defineProperty(navigator, 'languages', { value: ['en-US'], configurable: true })
const { byDay, partsOf, spansOf, total } = await import('../../web/lib/usage-sums.ts')

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

test('a period is the last days, a month or days of one’s own, and is compared with as many before', () => {
  const nowMs = Date.parse('2026-11-05T10:00:00Z')
  const edges = (period: string) => {
    const spans = spansOf(period, nowMs)
    const ends = (days: readonly string[]) => [days[0], days.at(-1), days.length]
    return spans && [ends(spans.now), ends(spans.before)]
  }
  expect(edges('7')).toEqual([
    ['2026-10-30', '2026-11-05', 7],
    ['2026-10-23', '2026-10-29', 7],
  ])
  // The present month as far as it is over.
  expect(edges('2026-11')).toEqual([
    ['2026-11-01', '2026-11-05', 5],
    ['2026-10-01', '2026-10-05', 5],
  ])
  expect(edges('2026-03')).toEqual([
    ['2026-03-01', '2026-03-31', 31],
    ['2026-02-01', '2026-02-28', 28],
  ])
  expect(edges('2026-01')?.[1]).toEqual(['2025-12-01', '2025-12-31', 31])
  expect(edges('2026-10-30..2026-11-02')).toEqual([
    ['2026-10-30', '2026-11-02', 4],
    ['2026-10-26', '2026-10-29', 4],
  ])
  // A year has no room in one report for the year before.
  expect(edges('2025-11-06..2026-11-05')?.map(one => one[2])).toEqual([365, 0])
  for (const none of ['', 'x', '0', '400', '2026-13', '2026-02-30..2026-03-01', '2026-11-02..2026-11-01'])
    expect(edges(none)).toBeUndefined()
})
