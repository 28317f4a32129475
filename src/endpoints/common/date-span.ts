/** The days or moments that a question about usage is of. */
import { z } from 'zod'
import type { EndpointDoc } from '../../core/endpoint.ts'
import { unprocessable } from '../../core/errors.ts'
import { parseIsoDate } from '../../lib/iso-date.ts'
import { lazy } from '../../lib/lazy.ts'
import { dayMs } from '../../lib/clock.ts'

/** Three years. */
const spanDaysMax = 1100
const daysUsual = 30

const momentText = lazy(() =>
  z.string().transform((text, context) => {
    const read = parseIsoDate(text)
    if (read) return read
    context.addIssue({
      code: 'custom',
      message: 'must be a date of the calendar: 2026-11-21, 2026-11-21T08:00:00Z or with an offset such as +02:00',
    })
    return z.NEVER
  }),
)

/** The two query parameters, for a `z.strictObject`. */
export const spanFields = lazy(() => ({ start_date: momentText().optional(), end_date: momentText().optional() }))

const dateForms = '2026-11-21, 2026-11-21T08:00:00Z or 2026-11-21T08:00:00+02:00; UTC unless it says otherwise.'

/** Of the two parameters, where times of day count. */
export const spanDoc: NonNullable<EndpointDoc['query']> = {
  start_date: { schema: { type: 'string' }, description: `From here on, inclusive. ${dateForms}` },
  end_date: {
    schema: { type: 'string' },
    description: `A date: up to its end, the day included. With a time: up to here, exclusive. ${dateForms}`,
  },
}

/** Of the two parameters, where whole days count. */
export const daySpanDoc: NonNullable<EndpointDoc['query']> = {
  start_date: { schema: { type: 'string' }, description: 'The first day in UTC, which is written as in 2026-11-21.' },
  end_date: { schema: { type: 'string' }, description: 'The last day, which is included.' },
}

interface Span {
  readonly start_date?: { readonly ms: number; readonly isDay: boolean } | undefined
  readonly end_date?: { readonly ms: number; readonly isDay: boolean } | undefined
}

/** Where the two stand in a request, for its errors. */
interface SpanFields {
  readonly start: readonly string[]
  readonly end: readonly string[]
}
const inQuery: SpanFields = { start: ['query', 'start_date'], end: ['query', 'end_date'] }

/**
 * Milliseconds since 1970, inclusive and exclusive. An end date without a time includes the whole day, as in LiteLLM.
 * Throws 422 when it ends before it begins.
 */
export function rangeOf(
  { start_date: start, end_date: end }: Span,
  fields = inQuery,
): { fromMs?: number | undefined; toMs?: number | undefined } {
  const fromMs = start?.ms
  const lastMs = end && (end.isDay ? end.ms + dayMs - 1 : end.ms)
  if (fromMs !== undefined && lastMs !== undefined && fromMs > lastMs)
    throw unprocessable([{ loc: fields.end, msg: `is before ${fields.start.at(-1)}; swap them`, type: 'out_of_range' }])
  return { fromMs, toMs: end && (end.isDay ? end.ms + dayMs : end.ms) }
}

/** Days since 1970 in UTC, both included. */
export interface DaySpan {
  readonly firstDay: number
  readonly lastDay: number
}

/**
 * The days of the span; without a date up to today, and 30 of them. Throws 422 for a span that is too long
 * or ends before it begins.
 */
export function daySpanOf(span: Span, nowMs: number, fields = inQuery): DaySpan {
  rangeOf(span, fields)
  const lastDay = Math.floor((span.end_date?.ms ?? nowMs) / dayMs)
  const firstDay = span.start_date ? Math.floor(span.start_date.ms / dayMs) : lastDay - daysUsual + 1
  if (lastDay - firstDay >= spanDaysMax)
    throw unprocessable([
      { loc: fields.start, msg: `is more than ${spanDaysMax} days before the end`, type: 'out_of_range' },
    ])
  if (firstDay > lastDay) throw unprocessable([{ loc: fields.start, msg: 'is after today', type: 'out_of_range' }])
  return { firstDay, lastDay }
}

/** Everything that is kept. */
export const allDays: DaySpan = { firstDay: 0, lastDay: 100_000_000 }

/** `2026-11-21` */
export function dayText(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}

/** `Nov 21`, as LiteLLM's charts have it. */
export function chartDayText(day: number): string {
  const date = new Date(day * dayMs)
  return date.toLocaleDateString('en-US', { month: 'short', day: '2-digit', timeZone: 'UTC' })
}
