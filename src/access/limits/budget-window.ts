/** The periods of budgets: when the present one began and ends, computed from the definition alone. */
import type { BudgetDuration } from '../../core/tenancy/budgets.ts'
import { dayMs } from '../../lib/clock.ts'

/** One period of a budget, milliseconds since 1970; the end is not part of it. */
export interface BudgetWindow {
  readonly startMs: number
  /** null = never. */
  readonly endMs: number | null
}

/** What the calendar of a budget follows. */
export interface BudgetCalendar {
  /** A name of the IANA database: `UTC`, `Europe/Berlin`. */
  readonly timeZone: string
  /**
   * The end of one period, milliseconds since 1970: all others end at multiples of the duration before and after it.
   * null = periods follow the calendar.
   */
  readonly resetAtMs: number | null
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000 }
const daysMax = 36_500
/** The day from which days are counted, and its first Monday, from which weeks are. */
const firstDay = new Temporal.PlainDate(1970, 1, 1)
const firstMonday = new Temporal.PlainDate(1970, 1, 5)

/** A budget without a duration. */
const lifetimeWindow: BudgetWindow = { startMs: 0, endMs: null }

/** `45s`, `15m`, `12h`, `30d`, `2w`, `1mo`, or what is wrong with it. At most a hundred years. */
export function readBudgetDuration(text: string): BudgetDuration | { readonly problem: string } {
  const found = /^(\d{1,12})(s|mo|m|h|d|w)$/.exec(text.trim())
  if (!found) return { problem: 'must be a number and a unit: 45s, 15m, 12h, 30d, 2w, 1mo' }
  const count = Number(found[1])
  const unit = found[2] as BudgetDuration['unit']
  const days = unit in unitMs ? (count * unitMs[unit as keyof typeof unitMs]) / dayMs : count * daysOf(unit)
  if (count === 0) return { problem: 'must be at least 1s' }
  if (days > daysMax) return { problem: `must be at most ${daysMax}d; leave it out for a budget that never resets` }
  return { count, unit }
}

const daysOf = (unit: BudgetDuration['unit']): number => (unit === 'mo' ? 30 : unit === 'w' ? 7 : 1)

/** Whether the runtime knows the zone. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/**
 * The period that `nowMs` is in. `1d` begins at midnight, `7d` and `1w` on Mondays, `30d` and `1mo` on the first of a
 * month, `3mo` on the first of a quarter; other days and weeks are multiples since 1970 (weeks since its first Monday),
 * hours, minutes and seconds likewise, in UTC. A midnight that the clocks skip is the first moment after it. With
 * `resetAtMs` periods end at that moment and at whole multiples of the duration around it: months on its day of the
 * month and time in UTC (or the last day of a shorter month), all others by their length. It costs a few microseconds:
 * callers keep the period until it ends.
 */
export function budgetWindow(
  duration: BudgetDuration | undefined,
  { timeZone, resetAtMs }: BudgetCalendar,
  nowMs: number,
): BudgetWindow {
  if (!duration) return lifetimeWindow
  const { count, unit } = duration
  if (resetAtMs !== null && unit === 'mo') return shiftedMonths(count, resetAtMs, nowMs)
  if (resetAtMs !== null || unit === 's' || unit === 'm' || unit === 'h') {
    const lengthMs = count * (unit in unitMs ? unitMs[unit as keyof typeof unitMs] : daysOf(unit) * dayMs)
    return multiple(lengthMs, resetAtMs ?? 0, nowMs)
  }
  if (unit === 'mo') return daysWindow(timeZone, nowMs, date => monthsAround(date, count))
  if (unit === 'd' && count === 30) return daysWindow(timeZone, nowMs, date => monthsAround(date, 1))
  const days = count * daysOf(unit)
  return daysWindow(timeZone, nowMs, date => daysAround(date, days))
}

function multiple(length: number, from: number, now: number): { startMs: number; endMs: number } {
  const start = from + Math.floor((now - from) / length) * length
  return { startMs: start, endMs: start + length }
}

/** Months from the anchor's day and time: of the 31st in February, its last day. */
function shiftedMonths(count: number, anchorMs: number, nowMs: number): BudgetWindow {
  const anchor = utc(anchorMs)
  const momentOf = (steps: number) => anchor.add({ months: steps * count }).epochMilliseconds
  const now = utc(nowMs)
  let steps = Math.floor(((now.year - anchor.year) * 12 + now.month - anchor.month) / count)
  while (momentOf(steps) > nowMs) steps--
  while (momentOf(steps + 1) <= nowMs) steps++
  return { startMs: momentOf(steps), endMs: momentOf(steps + 1) }
}

const utc = (epochMs: number): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO('UTC')

/** The first day of a period and the first day after it. */
type DaysOfPeriod = (date: Temporal.PlainDate) => readonly [Temporal.PlainDate, Temporal.PlainDate]

/** Of two midnights of one day the clock passes, the first counts: the moments before the second are the new day's. */
function daysWindow(timeZone: string, nowMs: number, daysOfPeriod: DaysOfPeriod): BudgetWindow {
  const shown = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(timeZone).toPlainDate()
  const next = shown.add({ days: 1 })
  const startOf = (date: Temporal.PlainDate) => date.toZonedDateTime(timeZone).epochMilliseconds
  const [first, after] = daysOfPeriod(nowMs >= startOf(next) ? next : shown)
  return { startMs: startOf(first), endMs: startOf(after) }
}

const monthsAround = (date: Temporal.PlainDate, count: number): ReturnType<DaysOfPeriod> => {
  const first = date.with({ day: 1 }).subtract({ months: (date.year * 12 + date.month - 1) % count })
  return [first, first.add({ months: count })]
}

const daysAround = (date: Temporal.PlainDate, count: number): ReturnType<DaysOfPeriod> => {
  const from = count % 7 === 0 ? firstMonday : firstDay
  const { startMs: start } = multiple(count, 0, from.until(date).days)
  const first = from.add({ days: start })
  return [first, first.add({ days: count })]
}
