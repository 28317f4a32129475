/** Prometheus metrics of calls. Label values are bounded: a model that does not exist has no series. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Settlement } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'

const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const overheadBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1]

/** What the metrics read at the moment they are asked for. */
export interface Gauges {
  upstreamConnections(): { busy: number; idle: number }
  ledgerHealthy(): boolean
  droppedLogLines(): number
}

export interface Metrics {
  call(settlement: Settlement): void
  /** Text exposition format. */
  text(): Promise<string>
}

export function createMetrics(gauges: Gauges): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const metrics = {
    calls: new Counter({
      name: 'modelgate_calls_total',
      help: 'Settled calls by route, model, deployment, status and outcome.',
      labelNames: ['route', 'model', 'deployment', 'status', 'outcome'],
      registers,
    }),
    duration: new Histogram({
      name: 'modelgate_call_duration_seconds',
      help: 'From the arrival of a call to its last byte.',
      labelNames: ['model'],
      buckets: secondsBuckets,
      registers,
    }),
    firstByte: new Histogram({
      name: 'modelgate_first_byte_seconds',
      help: 'From the arrival of a call to the first byte of its answer.',
      labelNames: ['model'],
      buckets: secondsBuckets,
      registers,
    }),
    overhead: new Histogram({
      name: 'modelgate_overhead_seconds',
      help: "The gateway's own part of a whole answer's duration.",
      labelNames: [],
      buckets: overheadBuckets,
      registers,
    }),
    tokens: new Counter({
      name: 'modelgate_tokens_total',
      help: 'Tokens by model and direction.',
      labelNames: ['model', 'direction'],
      registers,
    }),
    spend: new Counter({
      name: 'modelgate_spend_usd_total',
      help: 'Cost of settled calls with a known price, in dollars.',
      labelNames: ['model'],
      registers,
    }),
    unpriced: new Counter({
      name: 'modelgate_unpriced_calls_total',
      help: 'Calls that used tokens and have no known price.',
      labelNames: ['model'],
      registers,
    }),
  }
  addGauges(registry, gauges)
  return { call: settlement => count(metrics, settlement), text: () => registry.metrics() }
}

type CallMetrics = {
  calls: Counter
  duration: Histogram
  firstByte: Histogram
  overhead: Histogram
  tokens: Counter
  spend: Counter
  unpriced: Counter
}

function count(metrics: CallMetrics, { call, outcome, status, costNanoUsd, durationMs }: Settlement): void {
  const { deployment, usage } = call
  const model = deployment ? modelLabel(deployment) : ''
  metrics.calls.inc({ route: call.route, model, deployment: deployment?.id ?? '', status, outcome })
  metrics.duration.observe({ model }, durationMs / 1000)
  if (call.firstByteMs >= 0) metrics.firstByte.observe({ model }, call.firstByteMs / 1000)
  if (!call.stream && call.upstreamMs > 0)
    metrics.overhead.observe(Math.max(durationMs - call.upstreamMs, 0) / 1000)
  if (!usage) return
  metrics.tokens.inc({ model, direction: 'input' }, usage.inputTokens)
  metrics.tokens.inc({ model, direction: 'output' }, usage.outputTokens)
  if (costNanoUsd === null) metrics.unpriced.inc({ model })
  else metrics.spend.inc({ model }, Number(costNanoUsd) / 1e9)
}

/** The configured name, not the client's text, so that a wildcard is one series. */
function modelLabel(deployment: Deployment): string {
  return deployment.modelName
}

function addGauges(registry: Registry, gauges: Gauges): void {
  const registers = [registry]
  new Gauge({
    name: 'modelgate_upstream_connections',
    help: 'Open sockets to upstreams.',
    labelNames: ['state'],
    registers,
    collect() {
      const { busy, idle } = gauges.upstreamConnections()
      this.set({ state: 'busy' }, busy)
      this.set({ state: 'idle' }, idle)
    },
  })
  new Gauge({
    name: 'modelgate_ledger_healthy',
    help: '1 while the journal can be written.',
    registers,
    collect() {
      this.set(gauges.ledgerHealthy() ? 1 : 0)
    },
  })
  new Gauge({
    name: 'modelgate_log_lines_dropped',
    help: 'Log lines lost because nobody read the output in time.',
    registers,
    collect() {
      this.set(gauges.droppedLogLines())
    },
  })
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  new Gauge({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time of the process.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage()
      this.set((user + system) / 1e6)
    },
  })
}
