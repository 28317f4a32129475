/**
 * The metrics under LiteLLM's names (its `integrations/prometheus.py`, version 1.82.6), for dashboards and alerts that
 * were made for it: derived from the text of `/metrics`, behind which they stand.
 */

/** What one of LiteLLM's metrics is made of. */
interface Derived {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** Our metric. */
  readonly of: string
  /** Our label -> LiteLLM's; labels that are not named are summed over. */
  readonly labels: Readonly<Record<string, string>>
  /** Which series count; absent = all. */
  counts?(labels: Readonly<Record<string, string>>): boolean
  /** What a value means there; absent = the same. */
  value?(ours: number): number
}

const ofModel = { model: 'model', deployment: 'model_id' }
const ofDeployment = { model: 'litellm_model_name', deployment: 'model_id' }
const isFailure = ({ outcome }: Readonly<Record<string, string>>) => outcome !== 'success'

/** 0 = all is well, 1 = in part, 2 = out of service. */
const stateOf = (cooldown: number): number => (cooldown === 0 ? 0 : cooldown < 1 ? 1 : 2)

const table: readonly Derived[] = [
  {
    name: 'litellm_proxy_total_requests_metric_total',
    type: 'counter',
    of: 'modelgate_calls_total',
    labels: { model: 'requested_model', deployment: 'model_id', route: 'route', status: 'status_code' },
  },
  {
    name: 'litellm_proxy_failed_requests_metric_total',
    type: 'counter',
    of: 'modelgate_calls_total',
    labels: { model: 'requested_model', route: 'route', status: 'exception_status', error: 'exception_class' },
    counts: isFailure,
  },
  {
    name: 'litellm_deployment_total_requests_total',
    type: 'counter',
    of: 'modelgate_upstream_attempts_total',
    labels: ofDeployment,
  },
  {
    name: 'litellm_deployment_success_responses_total',
    type: 'counter',
    of: 'modelgate_upstream_attempts_total',
    labels: ofDeployment,
    counts: ({ error }) => error === '',
  },
  {
    name: 'litellm_deployment_failure_responses_total',
    type: 'counter',
    of: 'modelgate_upstream_attempts_total',
    labels: { ...ofDeployment, error: 'exception_class' },
    counts: ({ error }) => error !== '',
  },
  { name: 'litellm_spend_metric_total', type: 'counter', of: 'modelgate_spend_usd_total', labels: ofModel },
  { name: 'litellm_total_tokens_metric_total', type: 'counter', of: 'modelgate_tokens_total', labels: ofModel },
  {
    name: 'litellm_input_tokens_metric_total',
    type: 'counter',
    of: 'modelgate_tokens_total',
    labels: ofModel,
    counts: ({ direction }) => direction === 'input',
  },
  {
    name: 'litellm_output_tokens_metric_total',
    type: 'counter',
    of: 'modelgate_tokens_total',
    labels: ofModel,
    counts: ({ direction }) => direction === 'output',
  },
  {
    name: 'litellm_request_total_latency_metric',
    type: 'histogram',
    of: 'modelgate_call_duration_seconds',
    labels: ofModel,
  },
  {
    name: 'litellm_llm_api_time_to_first_token_metric',
    type: 'histogram',
    of: 'modelgate_first_byte_seconds',
    labels: ofModel,
    counts: ({ answer }) => answer === 'stream',
  },
  { name: 'litellm_overhead_latency_metric', type: 'histogram', of: 'modelgate_overhead_seconds', labels: ofModel },
  {
    name: 'litellm_deployment_state',
    type: 'gauge',
    of: 'modelgate_deployment_cooldown',
    labels: ofDeployment,
    value: stateOf,
  },
  {
    name: 'litellm_guardrail_requests_total',
    type: 'counter',
    of: 'modelgate_guardrail_verdicts_total',
    labels: { guardrail: 'guardrail_name', verdict: 'status' },
  },
  {
    name: 'litellm_guardrail_latency_seconds',
    type: 'histogram',
    of: 'modelgate_guardrail_seconds',
    labels: { guardrail: 'guardrail_name' },
  },
  { name: 'litellm_cache_hits_metric_total', type: 'counter', of: 'modelgate_cache_hits_total', labels: {} },
  { name: 'litellm_cache_misses_metric_total', type: 'counter', of: 'modelgate_cache_misses_total', labels: {} },
]

/** One line of the exposition. */
interface Sample {
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  readonly part: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const sampleLine = /^([a-z_]+?)(_bucket|_sum|_count)?(?:\{(.*)\})? (\S+)$/
const labelPair = /([a-z_]+)="((?:[^"\\]|\\.)*)",?/g

function samplesOf(text: string): ReadonlyMap<string, Sample[]> {
  const wanted = new Set(table.map(one => one.of))
  const found = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue
    const [, name = '', part = '', labels = '', value = ''] = sampleLine.exec(line) ?? []
    if (!wanted.has(name)) continue
    const pairs = [...labels.matchAll(labelPair)].map(([, label, given]) => [label!, given!] as const)
    const list = found.get(name) ?? []
    list.push({ part, labels: Object.fromEntries(pairs), value: Number(value) })
    found.set(name, list)
  }
  return found
}

function linesOf({ name, type, of, labels, counts, value }: Derived, samples: readonly Sample[]): string[] {
  const series = new Map<string, number>()
  for (const { part, labels: given, value: ours } of samples) {
    if (counts && !counts(given)) continue
    const pairs = Object.entries(labels).map(([own, theirs]) => `${theirs}="${given[own] ?? ''}"`)
    if (part === '_bucket') pairs.push(`le="${given.le ?? ''}"`)
    const key = `${name}${part}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''}`
    series.set(key, (series.get(key) ?? 0) + (value ? value(ours) : ours))
  }
  if (series.size === 0) return []
  return [
    `# HELP ${name} It is made of ${of}.`,
    `# TYPE ${name} ${type}`,
    ...[...series].map(([key, sum]) => `${key} ${sum}`),
  ]
}

/** The text of `/metrics` with LiteLLM's names behind our own. */
export function withLitellmMetrics(text: string): string {
  const samples = samplesOf(text)
  const lines = table.flatMap(one => linesOf(one, samples.get(one.of) ?? []))
  return lines.length === 0 ? text : `${text}${lines.join('\n')}\n`
}
