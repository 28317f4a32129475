/**
 * Metrics of calls. Label values come from the configuration, never from clients: no key, no user, no model that does
 * not exist has a series of its own. Series are bounded in number all the same.
 */
import type { OutboxState } from '../core/ledger/usage-outbox.ts'
import type { CacheCounts } from '../core/cache/cache-settings.ts'
import type { BodyCounts } from '../core/ledger/stored-bodies.ts'
import type { Settlement } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { FaultKind } from '../core/errors.ts'
import type { GuardrailOutcome, Verdict } from '../core/guardrails.ts'
import type { OtlpCounts } from '../core/open-telemetry.ts'
import type { Outcome } from '../core/hub/operation.ts'
import type { AuthFailureReason } from '../core/sign-in/auth-failure.ts'
import type { Usage } from '../core/usage/usage.ts'
import { exposeBodies } from './body-metrics.ts'
import { exposeOtlp } from './otlp-metrics.ts'
import { exposeCache } from './cache-metrics.ts'
import { Exposition, HistogramValues } from './exposition.ts'
import type { DatedPriceList } from '../core/usage/price-list-age.ts'

const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
/** Units counted beside tokens: the label, and the field of `Usage`. */
const unitNames = [
  ['images', 'images'],
  ['characters', 'characters'],
  ['audio_seconds', 'audioSeconds'],
  ['search_units', 'searchUnits'],
  ['video_seconds', 'videoSeconds'],
  ['pages', 'pages'],
  ['web_searches', 'webSearches'],
  ['grounding_queries', 'groundingQueries'],
  ['file_searches', 'fileSearches'],
  ['code_sessions', 'codeSessions'],
] as const
/** Series kept of deployments that are no longer configured, so that a scrape still sees their last calls. */
const removedSeriesMax = 50
/** Pairs of models with a series of fallbacks; further ones share one without names. */
const fallbackPairsMax = 1000
/** Further deployments share one series. */
const seriesMax = 1000
const otherDeployments = '_other'
/** Combinations of route, outcome, status and error of one series; calls beyond count under the status 0. */
const callKindsMax = 50
const overheadBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1]

/** How limits are shared over Redis. */
interface RedisGauges {
  readonly reachable: boolean
  /** Undefined = Redis has not answered yet. */
  readonly replicas: number | undefined
  /** Counts since the start. */
  readonly roundTrips: number
}

/** Values read at each scrape. */
interface Gauges {
  upstreamConnections(): { busy: number; idle: number }
  /** `max`: Infinity = no limit. `evicted` and `turnedAway` count since the start. */
  clientConnections(): { busy: number; idle: number; max: number; evicted: number; turnedAway: number }
  readonly ledger: {
    readonly healthy: boolean
    /** `sinceMs` in milliseconds since 1970; Infinity = nothing waits. */
    backlog(): { readonly bytes: number; readonly records: number; readonly sinceMs: number }
    /** Both count since the start. */
    lostRecords(): number
    missingSegments(): number
  }
  /** Milliseconds since 1970. */
  epochMs(): number
  databaseReachable(): boolean
  /** Those in force. */
  priceLists(): readonly DatedPriceList[]
  /** Absent = no Redis is configured. */
  readonly redis?: RedisGauges | undefined
  deploymentsInCooldown(): readonly Deployment[]
  droppedLogLines(): number
  /** Absent or empty = usage is not exported. */
  exportedUsage?(): readonly OutboxState[]
  /** Absent = no answers are kept. */
  cacheCounts?(): CacheCounts
  /** Absent = no bodies are stored. */
  bodyCounts?(): BodyCounts
  /** Absent or undefined = no collector is configured. */
  otlpCounts?(): OtlpCounts | undefined
}

/** The counters of calls, and the text for `/metrics`. */
interface Metrics {
  call(settlement: Settlement): void
  /** The end of an attempt at a deployment; `error` is undefined when its answer is complete. */
  attempt(deployment: Deployment, error: FaultKind | undefined): void
  /** A call went on from one model to another; both are configured names. */
  fallback(from: string, to: string): void
  /** A request was refused for its key. */
  authFailure(reason: AuthFailureReason): void
  /** To be called after a reload, with all deployments that are configured now. */
  configured(deployments: readonly Deployment[]): void
  /** In the Prometheus text format. */
  text(): string
}

/** All counters of one deployment: one map look-up per call, then only numbers change. */
class Series {
  readonly model: string
  readonly deployment: string
  /** By route, outcome, status and error; '' = none. */
  readonly calls = new Map<string, Map<Outcome, Map<number, Map<FaultKind | '', number>>>>()
  /** By error; '' = complete answers. */
  readonly attempts = new Map<FaultKind | '', number>()
  readonly duration = new HistogramValues(secondsBounds)
  readonly firstByte = new HistogramValues(secondsBounds)
  readonly overhead = new HistogramValues(overheadBounds)
  inputTokens = 0
  outputTokens = 0
  readonly units = new Map<string, number>()
  spendUsd = 0
  unpriced = 0
  estimated = 0
  estimatedSpendUsd = 0
  #callKinds = 0

  constructor(model: string, deployment: string) {
    this.model = model
    this.deployment = deployment
  }

  count(route: string, { outcome, status, error }: Settlement): void {
    let byOutcome = this.calls.get(route)
    if (!byOutcome) this.calls.set(route, (byOutcome = new Map()))
    let byStatus = byOutcome.get(outcome)
    if (!byStatus) byOutcome.set(outcome, (byStatus = new Map()))
    const counted = byStatus.has(status) || this.#callKinds < callKindsMax ? status : 0
    let byError = byStatus.get(counted)
    if (!byError) {
      byStatus.set(counted, (byError = new Map()))
      this.#callKinds++
    }
    increment(byError, error?.kind ?? '')
  }

  countUnits(usage: Usage): void {
    for (const [unit, name] of unitNames) {
      const used = usage[name]
      if (used) this.units.set(unit, (this.units.get(unit) ?? 0) + used)
    }
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** Counters start at 0 with the process and are kept in memory only; `gauges` are read at each `text()`. */
export function createMetrics(gauges: Gauges): Metrics {
  const all = new Map<string, Series>()
  const fallbacks = new Map<string, FallbackCount>()
  const authFailures = new Map<AuthFailureReason, number>()
  const guardrails = new Map<string, GuardrailCount>()
  /** Of a deployment, or of the calls of a model that reached none. */
  const seriesOf = (deployment: Deployment | undefined, modelName: string): Series => {
    const id = deployment?.id ?? `of ${modelName}`
    return all.get(id) ?? newSeries(all, { id, modelName, deploymentId: deployment?.id ?? '' })
  }
  return {
    call(settlement) {
      const { attempt, candidates } = settlement.call
      const deployment = attempt?.deployment
      // The configured name, not the client's text, so that a wildcard has one series.
      const modelName = (deployment ?? candidates[0])?.modelName ?? ''
      observe(seriesOf(deployment, modelName), settlement)
      const said = settlement.call.guardrailOutcomes
      if (said) for (const one of said) countOutcome(guardrails, one)
    },
    attempt: (deployment, error) => increment(seriesOf(deployment, deployment.modelName).attempts, error ?? ''),
    fallback(from, to) {
      let pair = fallbacks.get(`${from}\n${to}`)
      // Clients may name fallbacks, so that each two models can be a pair.
      if (!pair && fallbacks.size >= fallbackPairsMax) [from, to] = ['', '']
      pair ??= fallbacks.get(`${from}\n${to}`)
      if (pair) pair.count++
      else fallbacks.set(`${from}\n${to}`, { from, to, count: 1 })
    },
    authFailure: reason => increment(authFailures, reason),
    configured(deployments) {
      const removed = removedSeries(all, deployments)
      for (const id of removed.slice(0, Math.max(removed.length - removedSeriesMax, 0))) all.delete(id)
    },
    text: () => expose([...all.values()], { fallbacks: [...fallbacks.values()], authFailures, guardrails }, gauges),
  }
}

function newSeries(
  all: Map<string, Series>,
  { id, modelName, deploymentId }: { id: string; modelName: string; deploymentId: string },
): Series {
  const isOther = all.size >= seriesMax
  const key = isOther ? otherDeployments : id
  const series = all.get(key) ?? (isOther ? new Series(key, key) : new Series(modelName, deploymentId))
  all.set(key, series)
  return series
}

/** Keys of the series whose deployment or model is no longer configured, the oldest first. */
function removedSeries(all: ReadonlyMap<string, Series>, deployments: readonly Deployment[]): string[] {
  const ids = new Set(deployments.map(one => one.id))
  const names = new Set(deployments.map(one => one.modelName).concat(''))
  return [...all]
    .filter(([, { model, deployment }]) => (deployment === '' ? !names.has(model) : !ids.has(deployment)))
    .map(([key]) => key)
}

function observe(series: Series, settlement: Settlement): void {
  const { call, usage, usageSource, costNanoUsd, durationMs } = settlement
  const { firstByteMs, upstreamMs, waitedMs } = call.progress
  series.count(call.route, settlement)
  series.duration.observe(durationMs / 1000)
  if (firstByteMs >= 0) series.firstByte.observe(firstByteMs / 1000)
  const overheadMs = durationMs - upstreamMs - waitedMs
  if (!call.stream && upstreamMs > 0) series.overhead.observe(Math.max(overheadMs, 0) / 1000)
  if (!usage) return
  series.inputTokens += usage.inputTokens
  series.outputTokens += usage.outputTokens
  if (usage.images || usage.characters || usage.audioSeconds || usage.searchUnits) series.countUnits(usage)
  const isEstimated = (usageSource === 'estimated' || usageSource === 'mixed') && call.operation !== 'count-tokens'
  if (isEstimated) series.estimated++
  if (costNanoUsd === null) series.unpriced++
  else {
    const usd = Number(costNanoUsd) / 1e9
    series.spendUsd += usd
    if (isEstimated) series.estimatedSpendUsd += usd
  }
}

const counter = (name: string, help: string) => ({ name, help, type: 'counter' as const })
const gauge = (name: string, help: string) => ({ name, help, type: 'gauge' as const })

function expose(all: readonly Series[], events: Events, gauges: Gauges): string {
  const out = new Exposition()
  const labels = ({ model, deployment }: Series) => ({ model, deployment })
  const calls = counter(
    'modelgate_calls_total',
    'Settled calls by route, model, deployment, status, outcome and error.',
  )
  for (const series of all)
    for (const [route, byOutcome] of series.calls)
      for (const [outcome, byStatus] of byOutcome)
        for (const [status, byError] of byStatus)
          for (const [error, count] of byError)
            out.value(calls, { route, ...labels(series), status, outcome, error }, count)
  const attempts = counter('modelgate_upstream_attempts_total', 'Attempts at deployments; error="" = a whole answer.')
  for (const series of all)
    for (const [error, count] of series.attempts) out.value(attempts, { ...labels(series), error }, count)
  exposeEvents(out, events)
  const duration = { name: 'modelgate_call_duration_seconds', help: 'From the arrival of a call to its last byte.' }
  for (const series of all) out.histogram(duration, labels(series), series.duration)
  const firstByte = {
    name: 'modelgate_first_byte_seconds',
    help: 'From the arrival of a call to the first byte of its answer.',
  }
  for (const series of all) out.histogram(firstByte, labels(series), series.firstByte)
  const overhead = { name: 'modelgate_overhead_seconds', help: "The gateway's own part of a whole answer's duration." }
  for (const series of all) out.histogram(overhead, labels(series), series.overhead)
  const tokens = counter('modelgate_tokens_total', 'Tokens by model and direction.')
  for (const series of all) {
    out.value(tokens, { ...labels(series), direction: 'input' }, series.inputTokens)
    out.value(tokens, { ...labels(series), direction: 'output' }, series.outputTokens)
  }
  const units = counter('modelgate_units_total', 'Units other than tokens, by model and unit.')
  for (const series of all) for (const [unit, used] of series.units) out.value(units, { ...labels(series), unit }, used)
  const spend = counter('modelgate_spend_usd_total', 'Cost of settled calls with a known price, in dollars.')
  for (const series of all) out.value(spend, labels(series), series.spendUsd)
  const unpriced = counter('modelgate_unpriced_calls_total', 'Calls that used tokens and have no known price.')
  for (const series of all) out.value(unpriced, labels(series), series.unpriced)
  const estimated = counter(
    'modelgate_estimated_calls_total',
    'Calls whose usage is an estimate, as a whole or in part.',
  )
  for (const series of all) out.value(estimated, labels(series), series.estimated)
  const guessed = counter(
    'modelgate_estimated_spend_usd_total',
    'Of the spend: calls with an estimated usage, in dollars.',
  )
  for (const series of all) out.value(guessed, labels(series), series.estimatedSpendUsd)
  exposeProcess(out, gauges)
  return out.text()
}

interface FallbackCount {
  readonly from: string
  readonly to: string
  count: number
}

/** What one guardrail said of calls. */
class GuardrailCount {
  readonly verdicts = new Map<Verdict, number>()
  readonly waited = new HistogramValues(secondsBounds)
}

/** Names are configured; those of guardrails that were deleted stay until the end of the process. */
const guardrailsMax = 1000

function countOutcome(all: Map<string, GuardrailCount>, { name, verdict, waitedMs }: GuardrailOutcome): void {
  const key = all.has(name) || all.size < guardrailsMax ? name : otherDeployments
  let counted = all.get(key)
  if (!counted) all.set(key, (counted = new GuardrailCount()))
  increment(counted.verdicts, verdict)
  if (waitedMs > 0) counted.waited.observe(waitedMs / 1000)
}

interface Events {
  readonly guardrails: ReadonlyMap<string, GuardrailCount>
  readonly fallbacks: readonly FallbackCount[]
  readonly authFailures: ReadonlyMap<AuthFailureReason, number>
}

function exposeGuardrails(out: Exposition, guardrails: Events['guardrails']): void {
  const said = counter('modelgate_guardrail_verdicts_total', 'Calls by guardrail and what it said of them.')
  for (const [guardrail, { verdicts }] of guardrails)
    for (const [verdict, count] of verdicts) out.value(said, { guardrail, verdict }, count)
  const waited = { name: 'modelgate_guardrail_seconds', help: 'How long calls waited for services of guardrails.' }
  for (const [guardrail, counted] of guardrails) out.histogram(waited, { guardrail }, counted.waited)
}

function exposeEvents(out: Exposition, { fallbacks, authFailures, guardrails }: Events): void {
  exposeGuardrails(out, guardrails)
  const wentOn = counter('modelgate_fallbacks_total', 'Calls that went on from one model to another.')
  for (const { count, ...pair } of fallbacks) out.value(wentOn, pair, count)
  const refused = counter('modelgate_auth_failures_total', 'Requests refused for their key, by reason.')
  for (const [reason, count] of authFailures) out.value(refused, { reason }, count)
}

function exposeRedis(out: Exposition, { reachable, replicas, roundTrips }: RedisGauges): void {
  out.value(gauge('modelgate_redis_reachable', '1 while Redis answers and limits are shared.'), {}, reachable ? 1 : 0)
  if (replicas !== undefined)
    out.value(gauge('modelgate_limit_replicas', 'Replicas that share limits, as Redis last reported.'), {}, replicas)
  out.value(counter('modelgate_redis_round_trips_total', 'Questions to Redis about limits.'), {}, roundTrips)
}

function exposeProcess(out: Exposition, gauges: Gauges): void {
  const { busy, idle } = gauges.upstreamConnections()
  const connections = gauge('modelgate_upstream_connections', 'Open sockets to upstreams.')
  out.value(connections, { state: 'busy' }, busy)
  out.value(connections, { state: 'idle' }, idle)
  const inCooldown = gauge('modelgate_deployment_cooldown', '1 for each deployment that is in cooldown after failures.')
  // A wildcard's deployment has one cooldown for each model that was requested, but one series.
  const byId = new Map(gauges.deploymentsInCooldown().map(one => [one.id, one]))
  for (const { id, modelName } of byId.values()) out.value(inCooldown, { model: modelName, deployment: id }, 1)
  out.value(
    gauge('modelgate_database_reachable', '1 while the database answers.'),
    {},
    gauges.databaseReachable() ? 1 : 0,
  )
  exposePriceLists(out, gauges)
  if (gauges.redis) exposeRedis(out, gauges.redis)
  exposeClients(out, gauges.clientConnections())
  exposeLedger(out, gauges)
  if (gauges.exportedUsage) exposeExport(out, gauges.exportedUsage())
  if (gauges.cacheCounts) exposeCache(out, gauges.cacheCounts())
  if (gauges.bodyCounts) exposeBodies(out, gauges.bodyCounts())
  exposeOtlp(out, gauges.otlpCounts?.())
  out.value(
    counter('modelgate_log_lines_dropped_total', 'Log lines lost because the reader was too slow or the write failed.'),
    {},
    gauges.droppedLogLines(),
  )
  out.value(gauge('process_resident_memory_bytes', 'Resident memory of the process.'), {}, process.memoryUsage.rss())
  const { user, system } = process.cpuUsage()
  out.value(counter('process_cpu_seconds_total', 'User and system CPU time of the process.'), {}, (user + system) / 1e6)
}

function exposePriceLists(out: Exposition, { priceLists, epochMs }: Gauges): void {
  const age = gauge('modelgate_price_list_age_seconds', 'How old the prices of each list in force are.')
  for (const { name, datedMs } of priceLists())
    if (datedMs !== undefined) out.value(age, { list: name }, Math.max(Math.round((epochMs() - datedMs) / 1000), 0))
}

function exposeLedger(out: Exposition, { ledger, epochMs }: Gauges): void {
  out.value(gauge('modelgate_ledger_healthy', '1 while the journal can be written.'), {}, ledger.healthy ? 1 : 0)
  const { bytes, records, sinceMs } = ledger.backlog()
  const waiting = [
    ['bytes', 'Journal and memory that are not in the database yet, of earlier processes too.', bytes],
    ['records', 'Records (a call has two) that are not in the database yet, of earlier processes too.', records],
    ['seconds', 'Age of the oldest of them.', Math.max(epochMs() - sinceMs, 0) / 1000],
  ] as const
  for (const [unit, help, value] of waiting) out.value(gauge(`modelgate_ledger_waiting_${unit}`, help), {}, value)
  out.value(
    counter(
      'modelgate_ledger_lost_records_total',
      'Records that nothing could hold, or whose part of the journal is damaged or missing.',
    ),
    {},
    ledger.lostRecords(),
  )
  out.value(
    counter('modelgate_ledger_missing_segments_total', 'Segments of the journal removed before they were stored.'),
    {},
    ledger.missingSegments(),
  )
}

function exposeExport(out: Exposition, states: readonly OutboxState[]): void {
  const waits = gauge('modelgate_usage_export_waiting_rows', 'Rows of the ledger that a destination has not got yet.')
  const lost = counter('modelgate_usage_export_skipped_rows_total', 'Rows that are never sent, as too many waited.')
  for (const { destination, waiting } of states) out.value(waits, { destination }, waiting)
  const givenUp = counter(
    'modelgate_usage_export_given_up_rows_total',
    'Rows that came too late for a destination; the table `usage_given_up` has them.',
  )
  for (const { destination, skipped } of states) out.value(lost, { destination }, skipped)
  for (const state of states) out.value(givenUp, { destination: state.destination }, state.givenUp)
}

function exposeClients(
  out: Exposition,
  { busy, idle, max, evicted, turnedAway }: ReturnType<Gauges['clientConnections']>,
): void {
  const connections = gauge('modelgate_client_connections', 'Open sockets of clients.')
  out.value(connections, { state: 'busy' }, busy)
  out.value(connections, { state: 'idle' }, idle)
  out.value(gauge('modelgate_client_connections_max', 'The limit of open sockets of clients.'), {}, max)
  out.value(
    counter(
      'modelgate_client_connections_evicted_total',
      'Sockets closed to free their places: idle, refused, stalled.',
    ),
    {},
    evicted,
  )
  out.value(
    counter('modelgate_client_connections_turned_away_total', 'New sockets refused because the limit was reached.'),
    {},
    turnedAway,
  )
}
