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
  readonly report: 'user' | 'team' | 'organization' | 'tag' | 'customer'
  readonly part: PartName
}

export const dimensions = {
  model: { report: 'user', part: 'model_groups' },
  deployment: { report: 'user', part: 'deployments' },
  provider: { report: 'user', part: 'providers' },
  key: { report: 'user', part: 'api_keys' },
  user: { report: 'user', part: 'entities' },
  team: { report: 'team', part: 'entities' },
  organization: { report: 'organization', part: 'entities' },
  tag: { report: 'tag', part: 'entities' },
  customer: { report: 'customer', part: 'entities' },
} as const satisfies Readonly<Record<string, Dimension>>

export type DimensionName = keyof typeof dimensions

/** The days of a period in UTC, oldest first, and those that they are compared with. */
export interface TwoSpans {
  readonly now: readonly string[]
  readonly before: readonly string[]
}

/** Of `count` days: a report has no more. */
const reportDaysMax = 366

const monthForm = /^\d{4}-(0[1-9]|1[0-2])$/
const rangeForm = /^(\d{4}-\d{2}-\d{2})\.\.(\d{4}-\d{2}-\d{2})$/
const countForm = /^\d{1,3}$/

const isDay = (text: string): boolean => !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text

/**
 * The spans of a period as it stands in the address: the last so many days (`30`), a month (`2026-11`), or days
 * (`2026-11-01..2026-11-05`). undefined = it is none, or longer than a report.
 */
export function spansOf(period: string, nowMs: number): TwoSpans | undefined {
  const today = dayOf(nowMs)
  if (countForm.test(period)) return withBefore(dayAfter(today, 1 - Number(period)), Number(period))
  if (monthForm.test(period)) return spansOfMonth(period, today)
  const [, first, last] = rangeForm.exec(period) ?? []
  if (!first || !last || !isDay(first) || !isDay(last) || last < first) return undefined
  return withBefore(first, daysBetween(first, last))
}

/** How many days there are, both included. */
const daysBetween = (first: string, last: string): number => (Date.parse(last) - Date.parse(first)) / 86_400_000 + 1

/** Compared with as many days before, where one report has both. */
function withBefore(first: string, count: number): TwoSpans | undefined {
  if (count < 1 || count > reportDaysMax) return undefined
  const compared = 2 * count <= reportDaysMax ? count : 0
  return { now: daysFrom(first, count), before: daysFrom(dayAfter(first, -compared), compared) }
}

/** The present month as far as it is over, and as many days of the one before; an earlier one with all of that. */
function spansOfMonth(month: string, today: string): TwoSpans {
  const first = `${month}-01`
  const isPresent = today.startsWith(month)
  const end = isPresent ? dayAfter(today, 1) : `${monthAfter(month, 1)}-01`
  const now = daysFrom(first, Math.max(1, daysBetween(first, end) - 1))
  const before = daysFrom(`${monthAfter(month, -1)}-01`, daysBetween(`${monthAfter(month, -1)}-01`, first) - 1)
  return { now, before: isPresent ? before.slice(0, now.length) : before }
}

/** So many months after, or before: `2026-11`. */
export function monthAfter(month: string, count: number): string {
  const [year, number] = month.split('-').map(Number)
  return new Date(Date.UTC(year!, number! - 1 + count, 1)).toISOString().slice(0, 7)
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
  /** The sum of what is not listed for itself. */
  readonly isRest: boolean
  readonly now: Metrics
  readonly before: Metrics
}

/** Sums as a report of a span has them. */
export const metricsOf = exact

/** The parts of a dimension in both spans, the dearest first; what is not listed for itself last. */
export function partsOf(results: readonly Day[], part: PartName, spans: TwoSpans): Part[] {
  const parts = new Map<string, Part>()
  for (const day of results) {
    const when = spans.now.includes(day.date) ? 'now' : spans.before.includes(day.date) ? 'before' : undefined
    if (!when) continue
    for (const [name, { metrics, metadata }] of Object.entries(day.breakdown[part])) {
      const id = metadata.is_other === true ? '' : name
      const known = parts.get(id) ?? {
        id,
        name: id === '' ? t('usage.others') : nameOf(id, metadata),
        isRest: id === '',
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

/** Keys, teams, organizations and users have a name beside their id, deployments the model that they serve. */
function nameOf(id: string, metadata: Readonly<Record<string, unknown>>): string {
  if (typeof metadata.model_name === 'string') return `${metadata.model_name} → ${id}`
  const alias = metadata.key_alias ?? metadata.team_alias ?? metadata.organization_alias ?? metadata.user_email
  return typeof alias === 'string' ? alias : id
}
