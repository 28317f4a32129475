/** Sums of the days that the gateway reports, for two spans of the same length. */
import type { DailyActivity } from '../api/schema.d.ts'
import { dayAfter, dayOf, daysFrom } from './days.ts'
import { nanoOf, nanoText } from './dollars.ts'
import { t } from '../pages/usage.page.ts'

type Day = DailyActivity['results'][number]
type DayMetrics = Day['metrics']

/** What was counted; `spend` in dollars is made of `nanoUsd`, the same without rounding. */
export type Metrics = DayMetrics & { readonly nanoUsd: bigint }
type PartName = Exclude<keyof Day['breakdown'], 'mcp_servers'>

/** What the table lists: which report has it, and where. */
export interface Dimension {
  readonly report: 'user' | 'team' | 'tag' | 'customer'
  readonly part: PartName
}

export const dimensions = {
  model: { report: 'user', part: 'model_groups' },
  deployment: { report: 'user', part: 'deployments' },
  provider: { report: 'user', part: 'providers' },
  key: { report: 'user', part: 'api_keys' },
  user: { report: 'user', part: 'entities' },
  team: { report: 'team', part: 'entities' },
  tag: { report: 'tag', part: 'entities' },
  customer: { report: 'customer', part: 'entities' },
} as const satisfies Readonly<Record<string, Dimension>>

export type DimensionName = keyof typeof dimensions

/** The days up to today in UTC, oldest first, and as many before them. */
export function twoSpans(dayCount: number, nowMs: number): { readonly now: string[]; readonly before: string[] } {
  const days = daysFrom(dayAfter(dayOf(nowMs), 1 - 2 * dayCount), 2 * dayCount)
  return { now: days.slice(dayCount), before: days.slice(0, dayCount) }
}

const nothing: Metrics = {
  nanoUsd: 0n,
  spend: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
  total_tokens: 0,
  successful_requests: 0,
  failed_requests: 0,
  api_requests: 0,
  unpriced_requests: 0,
}

const { nanoUsd: _, spend: __, ...counted } = nothing
const counts = Object.keys(counted) as (keyof typeof counted)[]

function add(a: Metrics, b: Metrics): Metrics {
  const sums = Object.fromEntries(counts.map(name => [name, a[name] + b[name]])) as typeof counted
  const nanoUsd = a.nanoUsd + b.nanoUsd
  return { ...sums, nanoUsd, spend: Number(nanoText(nanoUsd)) }
}

const exact = (metrics: DayMetrics): Metrics => ({ ...metrics, nanoUsd: nanoOf(metrics.spend) })

/** The metrics of each of the days; a day without calls has zeros. */
export function byDay(results: readonly Day[], days: readonly string[]): Metrics[] {
  const found = new Map(results.map(day => [day.date, exact(day.metrics)]))
  return days.map(day => found.get(day) ?? nothing)
}

export const total = (days: readonly Metrics[]): Metrics => days.reduce(add, nothing)

/** One row of the table. */
export interface Part {
  readonly id: string
  readonly name: string
  readonly now: Metrics
  readonly before: Metrics
}

interface Spans {
  readonly now: readonly string[]
  readonly before: readonly string[]
}

/** The parts of a dimension in both spans, the dearest first; what is not listed for itself last. */
export function partsOf(results: readonly Day[], part: PartName, spans: Spans): Part[] {
  const parts = new Map<string, Part>()
  for (const day of results) {
    const when = spans.now.includes(day.date) ? 'now' : spans.before.includes(day.date) ? 'before' : undefined
    if (!when) continue
    for (const [name, { metrics, metadata }] of Object.entries(day.breakdown[part])) {
      const id = metadata.is_other === true ? '' : name
      const known = parts.get(id) ?? {
        id,
        name: id === '' ? t('usage.others') : nameOf(id, metadata),
        now: nothing,
        before: nothing,
      }
      parts.set(id, { ...known, [when]: add(known[when], exact(metrics)) })
    }
  }
  const isOther = (one: Part) => Number(one.id === '')
  return [...parts.values()].sort(
    (a, b) => isOther(a) - isOther(b) || b.now.spend - a.now.spend || b.now.api_requests - a.now.api_requests,
  )
}

/** Keys and teams have a name beside their id, deployments the model that they serve. */
function nameOf(id: string, metadata: Readonly<Record<string, unknown>>): string {
  if (typeof metadata.model_name === 'string') return `${metadata.model_name} → ${id}`
  const alias = metadata.key_alias ?? metadata.team_alias
  return typeof alias === 'string' ? alias : id
}
