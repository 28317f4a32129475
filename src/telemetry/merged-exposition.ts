/** The metrics of all workers as those of one gateway, in the Prometheus text format that `exposition.ts` writes. */

/** Gauges of which the largest value is that of the gateway; `smallest`: the smallest. All others are added up. */
const largest = new Set([
  'modelgate_build_info',
  'modelgate_deployment_cooldown',
  'modelgate_ledger_waiting_seconds',
  'modelgate_limit_replicas',
  'modelgate_price_list_age_seconds',
])
/** What each worker reads of the database that all share, counters included. */
const ofDatabase = /^modelgate_usage_export_/
const smallest = new Set(['modelgate_database_reachable', 'modelgate_redis_reachable', 'modelgate_ledger_healthy'])

/** A metric: what is said of it, and its series. */
interface Metric {
  readonly described: string[]
  readonly series: Map<string, number>
}

/** The sum of the texts, series by series; metrics stay together, in the order in which they came first. */
export function mergeExpositions(texts: readonly string[]): string {
  const [only] = texts
  if (texts.length === 1) return only!
  const metrics = new Map<string, Metric>()
  for (const text of texts) addText(metrics, text)
  const lines = [...metrics.values()].flatMap(({ described, series }) => [
    ...described,
    ...[...series].map(([name, value]) => `${name} ${value}`),
  ])
  return `${lines.join('\n')}\n`
}

function addText(metrics: Map<string, Metric>, text: string): void {
  let metric: Metric | undefined
  let name = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    const about = /^# (?:HELP|TYPE) (\S+)/.exec(line)
    if (about) {
      name = about[1]!
      metric = metrics.get(name) ?? { described: [], series: new Map<string, number>() }
      metrics.set(name, metric)
      if (!metric.described.includes(line)) metric.described.push(line)
      continue
    }
    const end = line.lastIndexOf(' ')
    if (metric) addValue(metric.series, name, line.slice(0, end), Number(line.slice(end + 1)))
  }
}

function addValue(series: Map<string, number>, name: string, key: string, value: number): void {
  const before = series.get(key)
  if (before === undefined) series.set(key, value)
  else if (largest.has(name) || ofDatabase.test(name)) series.set(key, Math.max(before, value))
  else if (smallest.has(name)) series.set(key, Math.min(before, value))
  else series.set(key, before + value)
}
