/** The metrics of several workers as those of one gateway. */
import { expect, test } from 'bun:test'
import { Exposition, HistogramValues } from './exposition.ts'
import type { MetricName } from './metric-table.ts'
import { mergeExpositions } from './merged-exposition.ts'

function textOf(calls: number, { oldest, reachable }: { oldest: number; reachable: number }): string {
  const out = new Exposition()
  const durations = new HistogramValues([0.1, 1])
  for (let call = 0; call < calls; call++) durations.observe(call % 2 === 0 ? 0.05 : 0.5)
  out.histogram('modelgate_call_duration_seconds', { model: 'a "b", c' }, durations)
  const value = (name: MetricName, amount: number) => out.value(name, {}, amount)
  value('modelgate_calls_total', calls)
  value('modelgate_client_connections_max', calls === 3 ? Infinity : 10)
  value('modelgate_ledger_waiting_seconds', oldest)
  value('modelgate_database_reachable', reachable)
  value('modelgate_usage_export_skipped_rows_total', 7)
  if (calls === 4) value('modelgate_cache_answers', 1)
  return out.text()
}

test('counts are added up, ages are the oldest, what is away at one is away, and each metric is described once', () => {
  const merged = mergeExpositions([
    textOf(3, { oldest: 2, reachable: 1 }),
    textOf(4, { oldest: 9, reachable: 0 }),
    textOf(5, { oldest: 1, reachable: 1 }),
  ])
  const values = Object.fromEntries(
    merged
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
      .map(line => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]),
  )
  const labels = 'model="a \\"b\\", c"'
  expect(values).toEqual({
    [`modelgate_call_duration_seconds_bucket{${labels},le="0.1"}`]: '7',
    [`modelgate_call_duration_seconds_bucket{${labels},le="1"}`]: '12',
    [`modelgate_call_duration_seconds_bucket{${labels},le="+Inf"}`]: '12',
    [`modelgate_call_duration_seconds_sum{${labels}}`]: expect.stringMatching(/^2\.85/),
    [`modelgate_call_duration_seconds_count{${labels}}`]: '12',
    modelgate_calls_total: '12',
    modelgate_client_connections_max: 'NaN',
    modelgate_ledger_waiting_seconds: '9',
    modelgate_database_reachable: '0',
    modelgate_usage_export_skipped_rows_total: '7',
    modelgate_cache_answers: '1',
  })
  expect(merged.match(/# HELP modelgate_calls_total/g)).toHaveLength(1)
  expect(mergeExpositions(['as it is\n'])).toBe('as it is\n')
})
