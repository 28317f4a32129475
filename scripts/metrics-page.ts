/** `npm run metrics-page`: docs/metrics.md, from the table of metrics. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { metricTable } from '../src/telemetry/metric-table.ts'
import type { MetricFamily } from '../src/telemetry/metric-table.ts'

const head = `# Metrics

Written by \`npm run metrics-page\` from \`src/telemetry/metric-table.ts\`; do not edit it by hand.

\`GET /metrics\` shows them in Prometheus' text format ([operating.md](operating.md#metrics)). A dashboard for Grafana
and alert rules for Prometheus are in \`deploy/grafana-dashboard.json\` and \`deploy/prometheus-rules.yaml\`.

| series | type | meaning |
|---|---|---|
`

function row([name, { type, labels, help, note }]: [string, MetricFamily]): string {
  const shown = labels.length === 0 ? name : `${name}{${labels.join(',')}}`
  const meaning = note === undefined ? help : `${help.replace(/\.$/, '')}; ${note}`
  return `| \`${shown}\` | ${type} | ${meaning} |`
}

/** The page, which a test compares with the file. */
export const metricsPage = (): string => `${head}${Object.entries<MetricFamily>(metricTable).map(row).join('\n')}\n`

if (import.meta.main) writeFileSync(join(import.meta.dir, '../docs/metrics.md'), metricsPage())
