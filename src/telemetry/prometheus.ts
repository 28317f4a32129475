/**
 * Metrics of calls. Label values come from the configuration, never from clients: no key, no user, no model that does
 * not exist has a series of its own. Series are bounded in number all the same.
 */
import type { OutboxState } from '../core/ledger/usage-outbox.ts'
import type { CacheCounts } from '../core/cache/cache-settings.ts'
import type { BodyCounts } from '../core/ledger/stored-bodies.ts'
import type { Settlement } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import type { FaultKind, RefusedLimit } from '../core/errors.ts'
import type { GuardrailOutcome, Verdict } from '../core/guardrails.ts'
import type { OtlpCounts } from '../core/open-telemetry.ts'
import type { Outcome } from '../core/hub/operation.ts'
import type { AuthFailureReason } from '../core/sign-in/auth-failure.ts'
import type { TenantMetricsSettings } from '../core/settings.ts'
import type { Usage } from '../core/usage/usage.ts'
import { exposeBodies } from './body-metrics.ts'
import { exposeOtlp } from './otlp-metrics.ts'
import { exposeCache } from './cache-metrics.ts'
import { Exposition, HistogramValues } from './exposition.ts'
import type { DatedPriceList } from '../core/usage/price-list-age.ts'
import { exposeProcessFacts } from './process-metrics.ts'
import type { LoopDelay, ProcessFacts } from './process-metrics.ts'
import { TenantMetrics } from './tenant-metrics.ts'

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
  /** Deployments by id: 1 = in cooldown, 0.5 = its next call is the probe; others get calls. */
  cooldowns(): ReadonlyMap<string, number>
  droppedLogLines(): number
  /** Absent or empty = usage is not exported. */
  exportedUsage?(): readonly OutboxState[]
  /** Absent = no answers are kept. */
  cacheCounts?(): CacheCounts
  /** Absent = no bodies are stored. */
  bodyCounts?(): BodyCounts
  /** Absent or undefined = no collector is configured. */
  otlpCounts?(): OtlpCounts | undefined
  /** As they were surveyed last, the nearest first. */
  nearestBudgets?(): readonly NearBudget[]
  /** Readings of the configuration. */
  reloads?(): ReloadCounts
  readonly process?: ProcessFacts
  readonly loopDelay?: LoopDelay
  /** Absent or null = no series of teams, keys and the like. */
  tenantMetrics?(): TenantMetricsSettings | null
}

/** A budget near its limit. */
export interface NearBudget {
  readonly kind: string
  readonly id: string
  readonly name: string
  /** null = of all models. */
  readonly model: string | null
  /** 0 = nothing is left. */
  readonly leftRatio: number
}

/** Readings of the configuration since the start. */
export interface ReloadCounts {
  readonly applied: number
  readonly refused: number
  /** Milliseconds since 1970. */
  readonly appliedAtMs: number
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
  /** A limit or a budget refused a request. Those of calls are counted by `call`. */
  limited(refused: RefusedLimit): void
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
  /** Of whole answers, and of streams. */
  readonly firstByte = new HistogramValues(secondsBounds)
  readonly firstToken = new HistogramValues(secondsBounds)
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
  const limited = new Map<string, number>()
  const tenants = new TenantMetrics()
  let current: readonly Deployment[] = []
  const countLimit = ({ kind, scope }: RefusedLimit) => increment(limited, `${kind} ${scope}`)
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
      if (settlement.error?.limited) countLimit(settlement.error.limited)
      const by = gauges.tenantMetrics?.()
      if (by) tenants.call(settlement, by)
    },
    limited: countLimit,
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
      current = deployments
      const removed = removedSeries(all, deployments)
      for (const id of removed.slice(0, Math.max(removed.length - removedSeriesMax, 0))) all.delete(id)
    },
    text() {
      const events = { fallbacks: [...fallbacks.values()], authFailures, guardrails, limited, tenants }
      return expose([...all.values()], { ...events, configured: current }, gauges)
    },
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
  if (firstByteMs >= 0) (call.stream ? series.firstToken : series.firstByte).observe(firstByteMs / 1000)
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

function expose(all: readonly Series[], events: Events, gauges: Gauges): string {
  const out = new Exposition()
  const labels = ({ model, deployment }: Series) => ({ model, deployment })
  for (const series of all)
    for (const [route, byOutcome] of series.calls)
      for (const [outcome, byStatus] of byOutcome)
        for (const [status, byError] of byStatus)
          for (const [error, count] of byError)
            out.value('modelgate_calls_total', { route, ...labels(series), status, outcome, error }, count)
  for (const series of all)
    for (const [error, count] of series.attempts)
      out.value('modelgate_upstream_attempts_total', { ...labels(series), error }, count)
  exposeEvents(out, events)
  for (const series of all) out.histogram('modelgate_call_duration_seconds', labels(series), series.duration)
  for (const series of all) {
    out.histogram('modelgate_first_byte_seconds', { ...labels(series), answer: 'stream' }, series.firstToken)
    out.histogram('modelgate_first_byte_seconds', { ...labels(series), answer: 'whole' }, series.firstByte)
  }
  for (const series of all) out.histogram('modelgate_overhead_seconds', labels(series), series.overhead)
  for (const series of all) {
    out.value('modelgate_tokens_total', { ...labels(series), direction: 'input' }, series.inputTokens)
    out.value('modelgate_tokens_total', { ...labels(series), direction: 'output' }, series.outputTokens)
  }
  for (const series of all)
    for (const [unit, used] of series.units) out.value('modelgate_units_total', { ...labels(series), unit }, used)
  for (const series of all) out.value('modelgate_spend_usd_total', labels(series), series.spendUsd)
  for (const series of all) out.value('modelgate_unpriced_calls_total', labels(series), series.unpriced)
  for (const series of all) out.value('modelgate_estimated_calls_total', labels(series), series.estimated)
  for (const series of all) out.value('modelgate_estimated_spend_usd_total', labels(series), series.estimatedSpendUsd)
  events.tenants.expose(out)
  exposeProcess(out, events.configured, gauges)
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
  /** By kind and scope, with a space between. */
  readonly limited: ReadonlyMap<string, number>
  readonly tenants: TenantMetrics
  readonly configured: readonly Deployment[]
}

function exposeEvents(out: Exposition, { fallbacks, authFailures, guardrails, limited }: Events): void {
  for (const [key, count] of limited) {
    const [kind = '', scope = ''] = key.split(' ')
    out.value('modelgate_limit_refusals_total', { kind, scope }, count)
  }
  for (const [guardrail, { verdicts }] of guardrails)
    for (const [verdict, count] of verdicts)
      out.value('modelgate_guardrail_verdicts_total', { guardrail, verdict }, count)
  for (const [guardrail, counted] of guardrails)
    out.histogram('modelgate_guardrail_seconds', { guardrail }, counted.waited)
  for (const { count, ...pair } of fallbacks) out.value('modelgate_fallbacks_total', pair, count)
  for (const [reason, count] of authFailures) out.value('modelgate_auth_failures_total', { reason }, count)
}

function exposeProcess(out: Exposition, configured: readonly Deployment[], gauges: Gauges): void {
  const { busy, idle } = gauges.upstreamConnections()
  out.value('modelgate_upstream_connections', { state: 'busy' }, busy)
  out.value('modelgate_upstream_connections', { state: 'idle' }, idle)
  exposeCooldowns(out, configured, gauges.cooldowns())
  out.value('modelgate_database_reachable', {}, gauges.databaseReachable() ? 1 : 0)
  exposePriceLists(out, gauges)
  if (gauges.redis) exposeRedis(out, gauges.redis)
  for (const { kind, id, name, model, leftRatio } of gauges.nearestBudgets?.() ?? [])
    out.value('modelgate_budget_left_ratio', { kind, tenant: id, name, model: model ?? '' }, leftRatio)
  exposeClients(out, gauges.clientConnections())
  exposeLedger(out, gauges)
  if (gauges.exportedUsage) exposeExport(out, gauges.exportedUsage())
  if (gauges.cacheCounts) exposeCache(out, gauges.cacheCounts())
  if (gauges.bodyCounts) exposeBodies(out, gauges.bodyCounts())
  exposeOtlp(out, gauges.otlpCounts?.())
  if (gauges.reloads) exposeReloads(out, gauges.reloads())
  out.value('modelgate_log_lines_dropped_total', {}, gauges.droppedLogLines())
  exposeProcessFacts(out, gauges.process, gauges.loopDelay)
}

/** A wildcard's deployment has a cooldown for each model that was asked for, and one series: the gravest counts. */
function exposeCooldowns(
  out: Exposition,
  configured: readonly Deployment[],
  held: ReturnType<Gauges['cooldowns']>,
): void {
  for (const { id, modelName } of configured.slice(0, seriesMax))
    out.value('modelgate_deployment_cooldown', { model: modelName, deployment: id }, held.get(id) ?? 0)
}

function exposeReloads(out: Exposition, { applied, refused, appliedAtMs }: ReloadCounts): void {
  out.value('modelgate_config_reloads_total', { result: 'applied' }, applied)
  out.value('modelgate_config_reloads_total', { result: 'refused' }, refused)
  out.value('modelgate_config_applied_timestamp_seconds', {}, appliedAtMs / 1000)
}

function exposeRedis(out: Exposition, { reachable, replicas, roundTrips }: RedisGauges): void {
  out.value('modelgate_redis_reachable', {}, reachable ? 1 : 0)
  if (replicas !== undefined) out.value('modelgate_limit_replicas', {}, replicas)
  out.value('modelgate_redis_round_trips_total', {}, roundTrips)
}

function exposePriceLists(out: Exposition, { priceLists, epochMs }: Gauges): void {
  for (const { name: list, datedMs } of priceLists()) {
    const ageS = datedMs === undefined ? undefined : Math.max(Math.round((epochMs() - datedMs) / 1000), 0)
    if (ageS !== undefined) out.value('modelgate_price_list_age_seconds', { list }, ageS)
  }
}

function exposeLedger(out: Exposition, { ledger, epochMs }: Gauges): void {
  out.value('modelgate_ledger_healthy', {}, ledger.healthy ? 1 : 0)
  const { bytes, records, sinceMs } = ledger.backlog()
  out.value('modelgate_ledger_waiting_bytes', {}, bytes)
  out.value('modelgate_ledger_waiting_records', {}, records)
  out.value('modelgate_ledger_waiting_seconds', {}, Math.max(epochMs() - sinceMs, 0) / 1000)
  out.value('modelgate_ledger_lost_records_total', {}, ledger.lostRecords())
  out.value('modelgate_ledger_missing_segments_total', {}, ledger.missingSegments())
}

function exposeExport(out: Exposition, states: readonly OutboxState[]): void {
  for (const { destination, waiting } of states)
    out.value('modelgate_usage_export_waiting_rows', { destination }, waiting)
  for (const { destination, skipped } of states)
    out.value('modelgate_usage_export_skipped_rows_total', { destination }, skipped)
  for (const { destination, givenUp } of states)
    out.value('modelgate_usage_export_given_up_rows_total', { destination }, givenUp)
}

function exposeClients(
  out: Exposition,
  { busy, idle, max, evicted, turnedAway }: ReturnType<Gauges['clientConnections']>,
): void {
  out.value('modelgate_client_connections', { state: 'busy' }, busy)
  out.value('modelgate_client_connections', { state: 'idle' }, idle)
  out.value('modelgate_client_connections_max', {}, max)
  out.value('modelgate_client_connections_evicted_total', {}, evicted)
  out.value('modelgate_client_connections_turned_away_total', {}, turnedAway)
}
