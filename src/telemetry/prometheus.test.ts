import { expect, test } from 'bun:test'
import type { Settlement } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { createMetrics } from './prometheus.ts'

const resting = (model: string) => ({ id: 'd-9', modelName: 'wild/*', target: { model } }) as Deployment
const gauges = {
  upstreamConnections: () => ({ busy: 2, idle: 3 }), ledger: { healthy: true, waitingBytes: () => 4096 }, droppedLogLines: () => 7,
  databaseReachable: () => false, restingDeployments: () => [resting('a'), resting('b')],
}

function settlement(changes: Record<string, unknown> = {}, ending: Partial<Settlement> = {}): Settlement {
  const call = {
    route: '/v1/chat/completions', stream: false, firstByteMs: 20, upstreamMs: 29, usage: { inputTokens: 10, outputTokens: 5 },
    deployment: { id: 'd-1', modelName: 'fast' }, model: 'fast', ...changes,
  }
  return { call, outcome: 'success', status: 200, error: undefined, costNanoUsd: 2_000_000_000n, durationMs: 30, ...ending } as unknown as Settlement
}

const value = (text: string, start: string): number | undefined => {
  const line = text.split('\n').find(one => one.startsWith(start))
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
}

test('counts, histograms and money add up', () => {
  const metrics = createMetrics(gauges)
  for (let at = 0; at < 3; at++) metrics.call(settlement())
  metrics.call(settlement({ usage: { inputTokens: 1, outputTokens: 1 } }, { costNanoUsd: null }))
  metrics.call(settlement({ usage: undefined, firstByteMs: -1 }, { outcome: 'error', status: 502, costNanoUsd: null }))
  const text = metrics.text()
  const labels = '{route="/v1/chat/completions",model="fast",deployment="d-1"'
  expect(value(text, `modelgate_calls_total${labels},status="200",outcome="success"}`)).toBe(4)
  expect(value(text, `modelgate_calls_total${labels},status="502",outcome="error"}`)).toBe(1)
  expect(value(text, 'modelgate_tokens_total{model="fast",deployment="d-1",direction="input"}')).toBe(31)
  expect(value(text, 'modelgate_spend_usd_total{')).toBe(6)
  expect(value(text, 'modelgate_unpriced_calls_total{')).toBe(1)
  expect(value(text, 'modelgate_call_duration_seconds_bucket{model="fast",deployment="d-1",le="0.025"}')).toBe(0)
  expect(value(text, 'modelgate_call_duration_seconds_bucket{model="fast",deployment="d-1",le="0.05"}')).toBe(5)
  expect(value(text, 'modelgate_call_duration_seconds_bucket{model="fast",deployment="d-1",le="+Inf"}')).toBe(5)
  expect(value(text, 'modelgate_first_byte_seconds_count{')).toBe(4)
  expect(value(text, 'modelgate_overhead_seconds_count{')).toBe(5)
  expect(value(text, 'modelgate_upstream_connections{state="busy"}')).toBe(2)
  expect(value(text, 'modelgate_log_lines_dropped_total')).toBe(7)
  expect(value(text, 'modelgate_ledger_waiting_bytes')).toBe(4096)
  expect(value(text, 'modelgate_database_reachable')).toBe(0)
  expect(text.match(/^modelgate_deployment_resting\{.*$/gm)).toEqual(['modelgate_deployment_resting{model="wild/*",deployment="d-9"} 1'])
})

test('models that do not exist share one series, however many are asked for', () => {
  const metrics = createMetrics(gauges)
  for (let at = 0; at < 1000; at++) metrics.call(settlement({ deployment: undefined, model: `no-such-${at}`, usage: undefined }, { status: 404, outcome: 'error' }))
  const series = metrics.text().split('\n').filter(line => line.startsWith('modelgate_calls_total{'))
  expect(series.length).toBe(1)
  expect(series[0]).toEndWith(' 1000')
})

test('a quote, a backslash or a line end in a name cannot break the exposition', () => {
  const metrics = createMetrics(gauges)
  metrics.call(settlement({ deployment: { id: 'd', modelName: 'a"b\\c\nd' } }))
  const lines = metrics.text().split('\n')
  expect(lines.some(line => line.includes('model="a\\"b\\\\c\\nd"'))).toBe(true)
  for (const line of lines) expect(line === '' || line.startsWith('#') || /^[a-z_]+(\{.*\})? [-+0-9.eEInfNa]+$/.test(line)).toBe(true)
})
