/** From a sum to the calls that it is made of. */
import type { RowLink } from '../../components/table.tsx'
import { dayAfter } from '../../lib/days.ts'
import { rangeOf } from '../../lib/time-range.ts'
import type { Span } from '../../lib/time-range.ts'

/** Whole days in UTC, as reports count: `2026-11-21`. */
export const spanOfDays = (first: string, last = first): Span => ({
  fromMs: Date.parse(first),
  toMs: Date.parse(dayAfter(last, 1)),
})

/** The page of logs with this span, and these fields of its filter; a value that is absent is not asked for. */
export function logsLink(span: Span, terms: Readonly<Record<string, string | undefined>> = {}): RowLink {
  const q = Object.entries(terms)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}:${/\s/.test(value!) ? `"${value}"` : value}`)
  return { to: '/logs', search: { q: q.join(' '), range: rangeOf(span) } }
}
