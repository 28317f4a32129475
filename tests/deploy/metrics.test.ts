/** The dashboard and the alert rules name only what the gateway shows, and Prometheus' own tool takes them. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { brokenCauses } from './broken-causes.ts'
import type { BrokenCause } from './broken-causes.ts'
import { metricsPage } from '../../scripts/metrics-page.ts'
import { metricTable } from '../../src/telemetry/metric-table.ts'
import type { MetricFamily } from '../../src/telemetry/metric-table.ts'

const root = join(import.meta.dir, '../..')
const read = (name: string): string => readFileSync(join(root, name), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}
const rules = (parse(read('deploy/prometheus-rules.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  group => group.rules,
)
interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
}
const { panels } = JSON.parse(read('deploy/grafana-dashboard.json')) as { panels: readonly Panel[] }

/** Families by the names of their series. */
const families = new Map<string, MetricFamily>(
  Object.entries<MetricFamily>(metricTable).flatMap(([name, family]): [string, MetricFamily][] =>
    family.type === 'histogram'
      ? ['_bucket', '_sum', '_count'].map(end => [`${name}${end}`, { ...family, labels: [...family.labels, 'le'] }])
      : [[name, family]],
  ),
)
/** Prometheus adds them to what it scrapes. */
const added = new Set(['job', 'instance'])

/** What an expression asks for that is not there. */
function unknownIn(expr: string): string[] {
  const wrong: string[] = []
  for (const [, name, , matchers = ''] of expr.matchAll(/\b((?:modelgate|process)_[a-z_]+)(\{([^}]*)\})?/g)) {
    const family = families.get(name!)
    if (!family) wrong.push(`${name} is no series`)
    else
      for (const [, label] of matchers.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g))
        if (!family.labels.includes(label!) && !added.has(label!)) wrong.push(`${name} has no label ${label}`)
  }
  const all = [...expr.matchAll(/\b((?:modelgate|process)_[a-z_]+)/g)].flatMap(
    ([, name]) => families.get(name!)?.labels ?? [],
  )
  for (const [, labels] of expr.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of labels!.split(',').map(one => one.trim()))
      if (!all.includes(label) && !added.has(label)) wrong.push(`nothing in it has the label ${label}: ${expr}`)
  return wrong
}

test('every alert rule asks for what is there, and says what to do', () => {
  expect(rules.flatMap(({ expr }) => unknownIn(expr))).toEqual([])
  for (const { alert, labels, annotations } of rules) {
    expect(alert).toStartWith('Modelgate')
    expect(['info', 'warning', 'critical']).toContain(labels.severity)
    expect(annotations.summary.length).toBeGreaterThan(10)
    expect(annotations.description.length).toBeGreaterThan(30)
  }
  expect(new Set(rules.map(one => one.alert)).size).toBe(rules.length)
})

test('a rule that asks for something else is found', () => {
  expect(unknownIn('modelgate_nothing > 0')).toEqual(['modelgate_nothing is no series'])
  expect(unknownIn('sum by (colour) (modelgate_tokens_total{shade="x"})')).toHaveLength(2)
})

test('every panel of the dashboard asks for what is there, and none lies over another', () => {
  expect(panels.flatMap(one => one.targets.flatMap(({ expr }) => unknownIn(expr)))).toEqual([])
  expect(panels.length).toBeGreaterThan(15)
  const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)
  expect(new Set(places).size).toBe(panels.length)
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true)
})

test('the page of metrics is what the table says', () => {
  expect(read('docs/metrics.md') === metricsPage() || 'run npm run metrics-page').toBe(true)
})

const promtool = Bun.which('promtool')
const checked = promtool === null ? test.skip : test
if (promtool === null) console.log('skipped: promtool is not on PATH (Debian: prometheus), alert rules are not run')
checked("Prometheus' own tool takes the rules", () => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([
    promtool!,
    'check',
    'rules',
    join(root, 'deploy/prometheus-rules.yaml'),
  ])
  expect(`${stdout.toString()}${stderr.toString()}`).toContain(`${rules.length} rules found`)
  expect(exitCode).toBe(0)
})

test('each alert rule has a cause that is tried', () => {
  expect(brokenCauses.map(one => one.alert).sort()).toEqual(rules.map(one => one.alert).sort())
})

checked('each alert fires where its cause holds, and none where all is well', () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-rules-'))
  const trial = (series: BrokenCause['series'], at: string, alert: string, fires: boolean) => {
    const input = series.map(([name, values]) => ({ series: name, values }))
    const known = rules.find(one => one.alert === alert)!
    const file = join(folder, 'trial.yaml')
    const expression = { expr: `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`, eval_time: at }
    const tests = [
      {
        interval: '1m',
        input_series: input,
        promql_expr_test: [{ ...expression, exp_samples: [{ labels: '{}', value: fires ? 1 : 0 }] }],
      },
    ]
    const body = { rule_files: [join(root, 'deploy/prometheus-rules.yaml')], evaluation_interval: '1m', tests }
    writeFileSync(file, stringify(body))
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool!, 'test', 'rules', file])
    return exitCode === 0 ? [] : [`${known.alert}: ${stdout.toString()}${stderr.toString()}`]
  }
  try {
    for (const { alert, at, series } of brokenCauses) {
      expect(trial(series, at, alert, true)).toEqual([])
      expect(trial([['modelgate_build_info', '1x60']], at, alert, false)).toEqual([])
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
