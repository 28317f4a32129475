/** The metrics of all workers as those of one gateway, in the Prometheus text format that `exposition.ts` writes. */
import { amongWorkers } from './metric-table.ts'
import type { MetricName } from './metric-table.ts'

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
  else {
    const which = amongWorkers[name as MetricName]
    const largest = which === 'largest' ? Math.max(before, value) : before + value
    series.set(key, which === 'smallest' ? Math.min(before, value) : largest)
  }
}
