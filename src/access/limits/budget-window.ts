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
/** 1 January 1970 was a Thursday. */
const mondayDay = 4

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
    formatOf(name)
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
 * month and time in UTC (or the last day of a shorter month), all others by their length.
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
  const today = presentDay(timeZone, nowMs)
  if (unit === 'mo') return monthsWindow(count, timeZone, today)
  if (unit === 'd' && count === 30) return monthsWindow(1, timeZone, today)
  const days = count * daysOf(unit)
  const { startMs: day } = multiple(days, days % 7 === 0 ? mondayDay : 0, today)
  return { startMs: startOfDay(timeZone, day), endMs: startOfDay(timeZone, day + days) }
}

function multiple(length: number, from: number, now: number): { startMs: number; endMs: number } {
  const start = from + Math.floor((now - from) / length) * length
  return { startMs: start, endMs: start + length }
}

/** Months from the anchor's day and time: of the 31st in February, its last day. */
function shiftedMonths(count: number, anchorMs: number, nowMs: number): BudgetWindow {
  const anchor = new Date(anchorMs)
  const month = anchor.getUTCFullYear() * 12 + anchor.getUTCMonth()
  const momentOf = (steps: number) => {
    const at = month + steps * count
    const [year, inYear] = [Math.floor(at / 12), at % 12]
    const day = Math.min(anchor.getUTCDate(), new Date(Date.UTC(year, inYear + 1, 0)).getUTCDate())
    return Date.UTC(year, inYear, day) + (anchorMs - Math.floor(anchorMs / dayMs) * dayMs)
  }
  const now = new Date(nowMs)
  let steps = Math.floor((now.getUTCFullYear() * 12 + now.getUTCMonth() - month) / count)
  while (momentOf(steps) > nowMs) steps--
  while (momentOf(steps + 1) <= nowMs) steps++
  return { startMs: momentOf(steps), endMs: momentOf(steps + 1) }
}

function monthsWindow(count: number, timeZone: string, today: number): BudgetWindow {
  const date = new Date(today * dayMs)
  const month = date.getUTCFullYear() * 12 + date.getUTCMonth()
  const first = Math.floor(month / count) * count
  const startOf = (at: number) => startOfDay(timeZone, Date.UTC(Math.floor(at / 12), at % 12, 1) / dayMs)
  return { startMs: startOf(first), endMs: startOf(first + count) }
}

/** Days since 1970 in the zone; of two midnights of one day the clock passes, the first counts. */
function presentDay(timeZone: string, nowMs: number): number {
  const day = localDay(timeZone, nowMs)
  return nowMs >= startOfDay(timeZone, day + 1) ? day + 1 : day
}

const localDay = (timeZone: string, atMs: number): number => Math.floor(localMs(timeZone, atMs) / dayMs)

/** Days of which the first moment is remembered; more than budgets of a few durations have. */
const daysRemembered = 1000
const startsOfDays = new Map<string, number>()

/** The first moment of a day: to search for it takes a millisecond, and most budgets share their periods. */
function startOfDay(timeZone: string, day: number): number {
  const name = `${day} ${timeZone}`
  let start = startsOfDays.get(name)
  if (start === undefined) {
    if (startsOfDays.size >= daysRemembered) startsOfDays.clear()
    startsOfDays.set(name, (start = searchStartOfDay(timeZone, day)))
  }
  return start
}

/** Days begin up to 14 hours before UTC's and up to 12 hours after. */
function searchStartOfDay(timeZone: string, day: number): number {
  let before = day * dayMs - 16 * 3_600_000
  let after = day * dayMs + 16 * 3_600_000
  while (after - before > 1000) {
    const middle = Math.floor((before + after) / 2000) * 1000
    if (localDay(timeZone, middle) >= day) after = middle
    else before = middle
  }
  return after
}

/** What the clocks of the zone show, as if it were UTC. */
function localMs(timeZone: string, atMs: number): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of formatOf(timeZone).formatToParts(atMs)) parts[type] = Number(value)
  const { year, month, day, hour, minute, second } = parts
  return Date.UTC(year!, month! - 1, day, hour, minute, second)
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Throws RangeError for an unknown zone. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone)
  if (!format) {
    const numeric = 'numeric'
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    })
    formats.set(timeZone, format)
  }
  return format
}
