/** Dates and times of day in ISO 8601, checked against the calendar. */

interface IsoDate {
  /** Since 1970. Of a date without a time: the beginning of the day, UTC. */
  readonly ms: number
  /** A date without a time. */
  readonly isDay: boolean
}

const time = '([01]\\d|2[0-3]):([0-5]\\d)(?::([0-5]\\d)(?:[.,](\\d{1,9}))?)?'
const zone = 'Z|([+ -])([01]\\d|2[0-3]):?([0-5]\\d)'
const form = new RegExp(`^(\\d{4})-(\\d{2})-(\\d{2})(?:[T ]${time}(?:${zone})?)?$`, 'i')

/**
 * `2026-11-21`, `2026-11-21T08:00`, `2026-11-21 08:00:00.5`, each time with `Z`, `+02:00` or nothing, which is UTC;
 * undefined for anything else. A plus that a query turned into a space is a plus.
 */
export function parseIsoDate(text: string): IsoDate | undefined {
  const found = form.exec(text)
  if (!found) return undefined
  const [, year, month, day, hour, minute, second = 0, fraction = '', sign, offsetHours = 0, offsetMinutes = 0] = found
  const midnightMs = Date.UTC(Number(year), Number(month) - 1, Number(day))
  // 30 February would be a day in March.
  if (new Date(midnightMs).toISOString().slice(0, 10) !== text.slice(0, 10)) return undefined
  if (hour === undefined) return { ms: midnightMs, isDay: true }
  const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second)
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === '-' ? -1 : 1)
  return { ms: midnightMs + seconds * 1000 + Math.trunc(Number(`0.${fraction}0`) * 1000) - offsetMs, isDay: false }
}
