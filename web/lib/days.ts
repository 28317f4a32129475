/** Days of the calendar in UTC, as reports count them: `2026-11-21`. A day is no moment, and has no zone. */

const dayMs = 86_400_000

/** The day that a moment lies in. */
export const dayOf = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10)

/** The day that is so many days after, or before, this one. */
export const dayAfter = (day: string, count: number): string => dayOf(Date.parse(day) + count * dayMs)

/** So many days from the first one on. */
export const daysFrom = (first: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => dayAfter(first, at))
