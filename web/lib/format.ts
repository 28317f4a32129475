/** Numbers, money and times as people read them, in the language of the pages and the viewer's zone. */
import { language } from '../strings/index.ts'

/** Made when it is first used: each takes milliseconds of the first view. */
function lazily<Formatter>(make: () => Formatter): () => Formatter {
  let made: Formatter | undefined
  return () => (made ??= make())
}

const plain = (options: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options)
const whole = lazily(() => plain({ maximumFractionDigits: 0 }))
const compact = lazily(() => plain({ notation: 'compact', maximumFractionDigits: 1 }))
const one = lazily(() => plain({ maximumFractionDigits: 1 }))

/** 1,234,567 */
export const formatCount = (count: number): string => whole().format(count)

/** 1.2M: where the exact number stands beside it or on hover. */
export const formatCompact = (count: number): string => compact().format(count)

const percents = lazily(() => plain({ style: 'percent', maximumFractionDigits: 0 }))
const smallPercents = lazily(() => plain({ style: 'percent', maximumFractionDigits: 1 }))
const shares = lazily(() => plain({ style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 }))
const signedPercents = lazily(() => plain({ style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' }))

/** 42%, 4.2%, of a part of one. */
export const formatPercent = (part: number): string => (part < 0.1 ? smallPercents() : percents()).format(part)

/** 99.5%, always with a decimal: of what is nearly all. */
export const formatShare = (part: number): string => shares().format(part)

/** 42.5, 120: tokens in a second. */
export const formatSpeed = (perSecond: number): string => (perSecond < 100 ? one() : whole()).format(perSecond)

/** +42%, −3%, 0%: how much more it became. */
export const formatChange = (part: number): string => signedPercents().format(part)

const dollars = (digits: Intl.NumberFormatOptions) =>
  lazily(() => plain({ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol', ...digits }))
const usual = dollars({})
// Digits behind the point and significant ones exclude each other in `Intl`.
const dimes = dollars({ minimumFractionDigits: 2, maximumFractionDigits: 3 })
const cents = dollars({ minimumFractionDigits: 2, maximumFractionDigits: 4 })
const small = dollars({ maximumSignificantDigits: 3 })

/** US dollars. Small amounts keep three significant digits, and at least two behind the point: $0.30, $0.0042. */
export function formatMoney(usd: number): string {
  const size = Math.abs(usd)
  const formatter = size === 0 || size >= 1 ? usual : size >= 0.1 ? dimes : size >= 0.01 ? cents : small
  return formatter().format(usd)
}

/** 340 ms, 2.4 s, 3 min 20 s, 2 h 5 min, 12 d. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 10) return `${one().format(milliseconds)} ms`
  if (milliseconds < 1000) return `${whole().format(milliseconds)} ms`
  const seconds = milliseconds / 1000
  if (seconds < 60) return `${one().format(seconds)} s`
  const units = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ] as const
  const at = units.findIndex(([size]) => seconds >= size)
  const [size, name] = units[at]!
  const next = units[at + 1]
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0
  return `${Math.floor(seconds / size)} ${name}${next && rest > 0 && name !== 'd' ? ` ${rest} ${next[1]}` : ''}`
}

const relative = lazily(() => new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' }))

/** "3 min. ago", "in 2 days"; from a week on the date. */
export function formatAgo(epochMs: number, nowMs: number): string {
  const seconds = (epochMs - nowMs) / 1000
  const size = Math.abs(seconds)
  if (size < 60) return relative().format(Math.round(seconds), 'second')
  if (size < 3600) return relative().format(Math.round(seconds / 60), 'minute')
  if (size < 86_400) return relative().format(Math.round(seconds / 3600), 'hour')
  if (size < 7 * 86_400) return relative().format(Math.round(seconds / 86_400), 'day')
  return formatDate(epochMs)
}

const dates = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options)
const day = lazily(() => dates({ day: 'numeric', month: 'short', year: 'numeric' }))
// A day of the calendar is midnight in UTC for `Date`, and another day for viewers in the west.
const calendarDate = lazily(() => dates({ day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }))
const calendarDay = lazily(() => dates({ day: 'numeric', month: 'short', timeZone: 'UTC' }))
const monthOfYear = lazily(() => dates({ month: 'long', year: 'numeric', timeZone: 'UTC' }))
const moment = lazily(() =>
  dates({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' }),
)

/** 23 Nov 2026 */
const formatDate = (epochMs: number): string => day().format(epochMs)

/** 23 Nov: a day of the calendar (`2026-11-23`), where the year is clear. */
export const formatDay = (day: string): string => calendarDay().format(Date.parse(day))

/** November 2026: a month of the calendar (`2026-11`). */
export const formatMonth = (month: string): string => monthOfYear().format(Date.parse(`${month}-01`))

/** A day of the calendar with its year: 23 Nov 2026. */
export const formatDateOf = (day: string): string => calendarDate().format(Date.parse(day))

/** From one day of the calendar to another one: "23 Nov – 25 Nov", or "23 Nov". */
export const formatDays = (first: string, last: string): string =>
  first === last ? formatDay(first) : `${formatDay(first)} – ${formatDay(last)}`

const momentOfYear = lazily(() => dates({ dateStyle: 'medium', timeStyle: 'medium' }))

/** 23 Nov 2026, 12:04:11 */
export const formatMomentOfYear = (epochMs: number): string => momentOfYear().format(epochMs)

/** 23 Nov, 12:04:11 */
export const formatMoment = (epochMs: number): string => moment().format(epochMs)
