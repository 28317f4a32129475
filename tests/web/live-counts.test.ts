/** Bars of a live list: each call is counted once, in which order ever the answers and the call arrive. */
import { expect, test } from 'bun:test'
import type { SpendHistogram, SpendLog } from '../../web/api/schema.d.ts'
import { withLive } from '../../web/pages/logs/live-counts.ts'

const startMs = Date.parse('2026-01-01T00:00:00Z')
const at = (seconds: number) => new Date(startMs + seconds * 1000).toISOString()
const callOf = (id: string, seconds: number, outcome = 'success', durationMs = 100) =>
  ({ request_id: id, started_at_ms: startMs + seconds * 1000, duration_ms: durationMs, outcome }) as SpendLog

/** Two bars of ten seconds; what began from the fifth second on is named. */
const counted: SpendHistogram = {
  start_date: at(0),
  end_date: at(20),
  counted_from: at(0),
  unit: 'part',
  calls: 7,
  failed_calls: 1,
  counted_at: at(20),
  newest_from: at(5),
  newest_ids: ['a', 'b'],
  bars: [
    { start_date: at(0), end_date: at(10), calls: 5, failed_calls: 1 },
    { start_date: at(10), end_date: at(20), calls: 2, failed_calls: 0 },
  ],
}
const bars = (live: readonly SpendLog[]) => withLive(counted, live).bars.map(bar => [bar.calls, bar.failed_calls])

test('a live call that the gateway has counted is not counted again', () => {
  expect(bars([callOf('a', 12), callOf('b', 6)])).toEqual([
    [5, 1],
    [2, 0],
  ])
})

test('a live call that was stored behind the count is added, once', () => {
  const late = callOf('c', 13, 'error')
  expect(withLive(counted, [late, late])).toMatchObject({ calls: 8, failed_calls: 2 })
  expect(bars([late, late])).toEqual([
    [5, 1],
    [3, 1],
  ])
})

test('a long call that began before those that are named counts if it ended after the count', () => {
  expect(bars([callOf('long', 1, 'success', 60_000), callOf('known', 2)])[0]).toEqual([6, 1])
})

test('what begins behind the last bar makes new ones', () => {
  expect(bars([callOf('new', 41)])).toEqual([
    [5, 1],
    [2, 0],
    [0, 0],
    [0, 0],
    [1, 0],
  ])
})
