import { expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import type { Settlement } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { metricTable } from './metric-table.ts'
import { LoopDelay } from './process-metrics.ts'
import { createMetrics } from './prometheus.ts'

const gauges = {
  upstreamConnections: () => ({ busy: 2, idle: 3 }),
  ledger: {
    healthy: true,
    backlog: () => ({ bytes: 4096, records: 20, sinceMs: 1_000_000 }),
    lostRecords: () => 12,
    missingSegments: () => 3,
  },
  epochMs: () => 1_002_500,
  droppedLogLines: () => 7,
  clientConnections: () => ({ busy: 5, idle: 6, max: 384, evicted: 8, turnedAway: 9 }),
  databaseReachable: () => false,
  priceLists: () => [
    { name: 'operator' as const, datedMs: undefined },
    { name: 'built-in' as const, datedMs: 2500 },
  ],
  cooldowns: () => new Map([['d-9', 1]]),
}

function settlement(changes: Record<string, unknown> = {}, ending: Partial<Settlement> = {}): Settlement {
  const call = {
    route: '/v1/chat/completions',
    stream: false,
    progress: { firstByteMs: 20, upstreamMs: 29, waitedMs: 0 },
    attempt: { deployment: { id: 'd-1', modelName: 'fast' } },
    candidates: [],
    model: 'fast',
    ...changes,
  }
  return {
    call,
    outcome: 'success',
    status: 200,
    error: undefined,
    usage: { inputTokens: 10, outputTokens: 5 },
    costNanoUsd: 2_000_000_000n,
    durationMs: 30,
    ...ending,
  } as unknown as Settlement
}

const value = (text: string, start: string): number | undefined => {
  const line = text.split('\n').find(one => one.startsWith(start))
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
}

test('the age of each price list whose day is known', () => {
  const text = createMetrics(gauges).text()
  expect(value(text, 'modelgate_price_list_age_seconds{list="built-in"}')).toBe(1000)
  expect(text).not.toContain('modelgate_price_list_age_seconds{list="operator"}')
})

test('counts, histograms and money add up', () => {
  const metrics = createMetrics(gauges)
  metrics.configured([{ id: 'd-9', modelName: 'wild/*' } as Deployment, { id: 'd-1', modelName: 'fast' } as Deployment])
  for (let at = 0; at < 3; at++) metrics.call(settlement())
  metrics.call(settlement({}, { usage: { inputTokens: 1, outputTokens: 1 }, costNanoUsd: null }))
  metrics.call(
    settlement(
      { progress: { firstByteMs: -1, upstreamMs: 29, waitedMs: 0 } },
      { usage: undefined, outcome: 'error', status: 502, costNanoUsd: null },
    ),
  )
  const text = metrics.text()
  const labels = '{route="/v1/chat/completions",model="fast",deployment="d-1"'
  expect(value(text, `modelgate_calls_total${labels},status="200",outcome="success",error=""}`)).toBe(4)
  expect(value(text, `modelgate_calls_total${labels},status="502",outcome="error",error=""}`)).toBe(1)
  expect(value(text, 'modelgate_tokens_total{model="fast",deployment="d-1",direction="input"}')).toBe(31)
  expect(value(text, 'modelgate_spend_usd_total{')).toBe(6)
  expect(value(text, 'modelgate_unpriced_calls_total{')).toBe(1)
  expect(value(text, 'modelgate_call_duration_seconds_bucket{model="fast",deployment="d-1",le="0.025"}')).toBe(0)
  expect(value(text, 'modelgate_call_duration_seconds_bucket{model="fast",deployment="d-1",le="0.05"}')).toBe(5)
  expect(value(text, 'modelgate_call_duration_seconds_bucket{model="fast",deployment="d-1",le="+Inf"}')).toBe(5)
  expect(value(text, 'modelgate_first_byte_seconds_count{model="fast",deployment="d-1",answer="whole"}')).toBe(4)
  expect(value(text, 'modelgate_first_byte_seconds_count{model="fast",deployment="d-1",answer="stream"}')).toBe(0)
  expect(value(text, 'modelgate_overhead_seconds_count{')).toBe(5)
  expect(value(text, 'modelgate_upstream_connections{state="busy"}')).toBe(2)
  expect(value(text, 'modelgate_client_connections{state="busy"}')).toBe(5)
  expect(value(text, 'modelgate_client_connections{state="idle"}')).toBe(6)
  expect(value(text, 'modelgate_client_connections_max')).toBe(384)
  expect(value(text, 'modelgate_client_connections_evicted_total')).toBe(8)
  expect(value(text, 'modelgate_client_connections_turned_away_total')).toBe(9)
  expect(value(text, 'modelgate_log_lines_dropped_total')).toBe(7)
  expect(value(text, 'modelgate_ledger_waiting_bytes')).toBe(4096)
  expect(value(text, 'modelgate_ledger_waiting_records')).toBe(20)
  expect(value(text, 'modelgate_ledger_waiting_seconds')).toBe(2.5)
  expect(value(text, 'modelgate_ledger_lost_records_total')).toBe(12)
  expect(value(text, 'modelgate_ledger_missing_segments_total')).toBe(3)
  expect(value(text, 'modelgate_database_reachable')).toBe(0)
  expect(text.match(/^modelgate_deployment_cooldown\{.*$/gm)).toEqual([
    'modelgate_deployment_cooldown{model="wild/*",deployment="d-9"} 1',
    'modelgate_deployment_cooldown{model="fast",deployment="d-1"} 0',
  ])
})

test('what is not counted in tokens has a series for each unit that was used', () => {
  const metrics = createMetrics(gauges)
  metrics.call(settlement())
  expect(metrics.text()).not.toContain('modelgate_units_total{')
  metrics.call(settlement({}, { usage: { inputTokens: 0, outputTokens: 0, audioSeconds: 1.5 } }))
  metrics.call(
    settlement({}, { usage: { inputTokens: 0, outputTokens: 0, audioSeconds: 2, images: 0, characters: 7 } }),
  )
  metrics.call(
    settlement(
      { attempt: { deployment: { id: 'd-2', modelName: 'brush' } } },
      { usage: { inputTokens: 0, outputTokens: 0, images: 3 } },
    ),
  )
  expect(metrics.text().match(/^modelgate_units_total\{.*$/gm)).toEqual([
    'modelgate_units_total{model="fast",deployment="d-1",unit="audio_seconds"} 3.5',
    'modelgate_units_total{model="fast",deployment="d-1",unit="characters"} 7',
    'modelgate_units_total{model="brush",deployment="d-2",unit="images"} 3',
  ])
})

test('models that do not exist share one series, however many are asked for', () => {
  const metrics = createMetrics(gauges)
  metrics.call(
    settlement(
      { attempt: undefined, candidates: [{ id: 'd-1', modelName: 'fast' }] },
      { usage: undefined, status: 429, outcome: 'error' },
    ),
  )
  expect(metrics.text()).toContain(
    '{route="/v1/chat/completions",model="fast",deployment="",status="429",outcome="error",error=""} 1',
  )
  for (let at = 0; at < 1000; at++)
    metrics.call(
      settlement(
        { deployment: undefined, model: `no-such-${at}`, usage: undefined },
        { status: 404, outcome: 'error' },
      ),
    )
  const series = metrics
    .text()
    .split('\n')
    .filter(line => line.startsWith('modelgate_calls_total{'))
  expect(series.length).toBe(2)
  expect(series[1]).toEndWith(' 1000')
})

test('a quote, a backslash or a line end in a name cannot break the exposition', () => {
  const metrics = createMetrics(gauges)
  metrics.call(settlement({ attempt: { deployment: { id: 'd', modelName: 'a"b\\c\nd' } } }))
  const lines = metrics.text().split('\n')
  expect(lines.some(line => line.includes('model="a\\"b\\\\c\\nd"'))).toBe(true)
  for (const line of lines)
    expect(line === '' || line.startsWith('#') || /^[a-z_]+(\{.*\})? [-+0-9.eEInfNa]+$/.test(line)).toBe(true)
})

test('the gauges of Redis are there only where Redis is configured', () => {
  const lines = (redis?: { reachable: boolean; replicas: number | undefined; roundTrips: number }) =>
    createMetrics({ ...gauges, redis })
      .text()
      .split('\n')
      .filter(one => /^modelgate_(redis|limit)_/.test(one))
  expect(lines()).toEqual([])
  expect(lines({ reachable: true, replicas: 3, roundTrips: 7 })).toEqual([
    'modelgate_redis_reachable 1',
    'modelgate_limit_replicas 3',
    'modelgate_redis_round_trips_total 7',
  ])
  expect(lines({ reachable: false, replicas: undefined, roundTrips: 1 })).toEqual([
    'modelgate_redis_reachable 0',
    'modelgate_redis_round_trips_total 1',
  ])
})

test('deployments that come and go with the configuration leave a bounded number of series', () => {
  const metrics = createMetrics(gauges)
  const stays = { id: 'd-1', modelName: 'fast' }
  metrics.call(settlement())
  metrics.call(
    settlement({ attempt: undefined, candidates: [stays] }, { usage: undefined, status: 429, outcome: 'error' }),
  )
  metrics.call(
    settlement({ attempt: undefined, model: 'no-such' }, { usage: undefined, status: 404, outcome: 'error' }),
  )
  for (let at = 0; at < 300; at++) {
    const edited = { id: `edited-${at}`, modelName: `name-${at}` }
    metrics.configured([stays, edited] as Deployment[])
    metrics.call(settlement({ attempt: { deployment: edited }, candidates: [edited] }))
    metrics.call(
      settlement({ attempt: undefined, candidates: [edited] }, { usage: undefined, status: 429, outcome: 'error' }),
    )
  }
  const text = metrics.text()
  const calls = text.match(/^modelgate_calls_total\{.*$/gm)!
  // Three that stay, two of the present deployment, and 50 of those that are gone: the last ones.
  expect(calls.length).toBe(55)
  expect(calls.slice(0, 3).map(line => /status="\d+"/.exec(line)![0])).toEqual([
    'status="200"',
    'status="429"',
    'status="404"',
  ])
  expect(text).toContain('deployment="edited-299"')
  expect(text).toContain('deployment="edited-280"')
  expect(text).not.toContain('deployment="edited-100"')
})

test('the pairs of models that calls fall back from and to are bounded', () => {
  const metrics = createMetrics(gauges)
  for (let at = 0; at < 1100; at++) metrics.fallback('fast', `model-${at}`)
  metrics.fallback('fast', 'model-0')
  const series = metrics.text().match(/^modelgate_fallbacks_total\{.*$/gm)!
  expect(series.length).toBe(1001)
  expect([series[0], series.at(-1)]).toEqual([
    'modelgate_fallbacks_total{from="fast",to="model-0"} 2',
    'modelgate_fallbacks_total{from="",to=""} 100',
  ])
})

test('the exposition is bounded in series, also for thousands of deployments and for an upstream of many statuses', () => {
  const metrics = createMetrics(gauges)
  const call = (at: number, status: number) =>
    metrics.call(settlement({ attempt: { deployment: { id: `d-${at}`, modelName: `m-${at}` } } }, { status }))
  for (let at = 0; at < 3000; at++) call(at, 200)
  for (let status = 400; status < 600; status++) call(0, status)
  const lines = metrics.text().split('\n')
  const calls = lines.filter(line => line.startsWith('modelgate_calls_total{'))
  expect(new Set(calls.map(line => /model="([^"]*)"/.exec(line)![1])).size).toBe(1001)
  expect(value(calls.join('\n'), 'modelgate_calls_total{route="/v1/chat/completions",model="_other"')).toBe(2000)
  const first = calls.filter(line => line.includes('model="m-0"'))
  expect(first.length).toBeLessThanOrEqual(51)
  const total = first.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  expect(total).toBe(201)
})

test('nothing that a client chooses becomes a label: keys, users and models that do not exist', () => {
  const metrics = createMetrics(gauges)
  for (let at = 0; at < 100; at++) {
    const caller = { role: 'key', key: { id: `key-${at}`, alias: `alias-${at}`, userId: `user-${at}` } }
    const unknown = { caller, model: `asked-${at}`, endUser: `end-${at}`, deployment: undefined, candidates: [] }
    metrics.call(settlement(unknown, { status: 404 }))
  }
  const text = metrics.text()
  expect(text).not.toMatch(/key-\d|alias-\d|user-\d|asked-\d|end-\d/)
  expect(text.match(/^modelgate_calls_total\{/gm)).toHaveLength(1)
})

test('the first token of a stream is counted apart from whole answers', () => {
  const metrics = createMetrics(gauges)
  metrics.call(settlement({ stream: true }))
  const of = (answer: string) =>
    value(metrics.text(), `modelgate_first_byte_seconds_count{model="fast",deployment="d-1",answer="${answer}"}`)
  expect([of('stream'), of('whole')]).toEqual([1, 0])
})

test('cooldowns are 0, 1 and half-open, of every deployment that is configured', () => {
  const metrics = createMetrics({
    ...gauges,
    cooldowns: () =>
      new Map([
        ['d-2', 1],
        ['d-3', 0.5],
      ]),
  })
  metrics.configured(['d-1', 'd-2', 'd-3'].map(id => ({ id, modelName: 'm' }) as Deployment))
  expect(metrics.text().match(/^modelgate_deployment_cooldown\{.*$/gm)).toEqual([
    'modelgate_deployment_cooldown{model="m",deployment="d-1"} 0',
    'modelgate_deployment_cooldown{model="m",deployment="d-2"} 1',
    'modelgate_deployment_cooldown{model="m",deployment="d-3"} 0.5',
  ])
})

test('limits that refuse are counted by what they limit and whose they are', () => {
  const metrics = createMetrics(gauges)
  const error = Object.defineProperty(new Error('full'), 'limited', { value: { kind: 'tokens', scope: 'team' } })
  metrics.call(settlement({}, { error: error as never, outcome: 'error' }))
  metrics.limited({ kind: 'requests', scope: 'key' })
  metrics.limited({ kind: 'requests', scope: 'key' })
  expect(metrics.text().match(/^modelgate_limit_refusals_total.*$/gm)).toEqual([
    'modelgate_limit_refusals_total{kind="tokens",scope="team"} 1',
    'modelgate_limit_refusals_total{kind="requests",scope="key"} 2',
  ])
})

test('teams and keys have series only where it is asked for, and further ones share one', () => {
  const of = (key: string) =>
    settlement({ caller: { key: { id: key, alias: null }, team: { id: 't', alias: 'Team' } } })
  const silent = createMetrics(gauges)
  silent.call(of('k-1'))
  expect(silent.text()).not.toContain('modelgate_tenant_')
  const metrics = createMetrics({ ...gauges, tenantMetrics: () => ({ kinds: ['key', 'team'], max: 2 }) })
  for (const key of ['k-1', 'k-2', 'k-3', 'k-4', 'k-1']) metrics.call(of(key))
  expect(metrics.text().match(/^modelgate_tenant_spend_usd_total.*$/gm)).toEqual([
    'modelgate_tenant_spend_usd_total{kind="key",tenant="k-1",name=""} 4',
    'modelgate_tenant_spend_usd_total{kind="team",tenant="t",name="Team"} 10',
    'modelgate_tenant_spend_usd_total{kind="key",tenant="k-2",name=""} 2',
    'modelgate_tenant_spend_usd_total{kind="key",tenant="_other",name="_other"} 4',
  ])
  expect(metrics.text()).toContain(
    'modelgate_tenant_tokens_total{kind="team",tenant="t",name="Team",direction="output"} 25',
  )
})

test('the process, budgets and readings of the configuration', () => {
  const loopDelay = new LoopDelay({ monotonicMs: () => 0 })
  loopDelay.stop()
  const text = createMetrics({
    ...gauges,
    loopDelay,
    process: { version: '1.2.3', dataDirectory: tmpdir(), descriptorsMax: 512 },
    reloads: () => ({ applied: 2, refused: 1, appliedAtMs: 5000 }),
    nearestBudgets: () => [{ kind: 'team', id: 't', name: 'Team', model: null, leftRatio: 0.25 }],
  }).text()
  for (const line of [
    `modelgate_build_info{version="1.2.3",bun="${Bun.version}"} 1`,
    'modelgate_budget_left_ratio{kind="team",tenant="t",name="Team",model=""} 0.25',
    'modelgate_config_reloads_total{result="refused"} 1',
    'modelgate_config_applied_timestamp_seconds 5',
    'modelgate_event_loop_delay_seconds_count 0',
    'process_max_fds 512',
  ])
    expect(text.split('\n')).toContain(line)
  expect(value(text, 'process_open_fds')).toBeGreaterThan(2)
  expect(value(text, 'modelgate_data_disk_free_bytes')).toBeGreaterThan(0)
})

test('series have the labels that the table says', () => {
  const metrics = createMetrics({
    ...gauges,
    redis: { reachable: true, replicas: 2, roundTrips: 3 },
    tenantMetrics: () => ({ kinds: ['key'], max: 2 }),
    nearestBudgets: () => [{ kind: 'team', id: 't', name: 'Team', model: null, leftRatio: 0.25 }],
    exportedUsage: () => [{ destination: 'webhook', waiting: 1, skipped: 2, givenUp: 3 }],
    otlpCounts: () => ({
      exported: { traces: 1, metrics: 1, logs: 1 },
      lost: {
        traces: { queue_full: 0, failed: 0 },
        metrics: { queue_full: 0, failed: 0 },
        logs: { queue_full: 0, failed: 0 },
      },
    }),
    reloads: () => ({ applied: 2, refused: 1, appliedAtMs: 5000 }),
    process: { version: '1.2.3', dataDirectory: tmpdir(), descriptorsMax: 512 },
  })
  metrics.configured([{ id: 'd-1', modelName: 'fast' } as Deployment])
  metrics.call(settlement({ caller: { key: { id: 'k', alias: null } } }))
  metrics.fallback('a', 'b')
  metrics.authFailure('unknown')
  metrics.limited({ kind: 'requests', scope: 'key' })
  metrics.attempt({ id: 'd-1', modelName: 'fast' } as Deployment, undefined)
  const seen = new Set<string>()
  for (const [, series, , labels = ''] of metrics.text().matchAll(/^([a-z_]+)(\{(.*)\})? /gm)) {
    const name =
      series!.replace(/_(bucket|sum|count)$/, '') in metricTable ? series!.replace(/_(bucket|sum|count)$/, '') : series!
    seen.add(name)
    const names = [...labels.matchAll(/([a-z_]+)="/g)].map(([, label]) => label!).filter(label => label !== 'le')
    expect([name, names.sort()]).toEqual([name, [...metricTable[name as keyof typeof metricTable].labels].sort()])
  }
  expect(seen.size).toBeGreaterThan(35)
})
