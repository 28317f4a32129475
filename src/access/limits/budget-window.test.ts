/** Periods of budgets: known dates of the calendar and of changes of clocks, and properties that hold for all. */
import { expect, test } from 'bun:test'
import type { BudgetDuration } from '../../core/tenancy/budgets.ts'
import { budgetWindow, isTimeZone, readBudgetDuration } from './budget-window.ts'

const duration = (text: string) => readBudgetDuration(text) as BudgetDuration
const at = (text: string) => Date.parse(text)
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
const windowAt = (text: string, now: string, timeZone = 'UTC', resetAt?: string) => {
  const resetAtMs = resetAt === undefined ? null : at(resetAt)
  const { startMs, endMs } = budgetWindow(duration(text), { timeZone, resetAtMs }, at(now))
  return [iso(startMs), iso(endMs)]
}

test('days, weeks and months begin with the calendar, hours and minutes are aligned', () => {
  const now = '2026-11-23T15:52:48Z'
  expect(windowAt('1d', now)).toEqual(['2026-11-23T00:00:00.000Z', '2026-11-24T00:00:00.000Z'])
  for (const week of ['7d', '1w'])
    expect(windowAt(week, '2026-11-29T23:59:59Z')).toEqual(['2026-11-23T00:00:00.000Z', '2026-11-30T00:00:00.000Z'])
  for (const month of ['30d', '1mo'])
    expect(windowAt(month, now)).toEqual(['2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z'])
  expect(windowAt('3mo', now)).toEqual(['2026-10-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'])
  expect(windowAt('12mo', now)).toEqual(['2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'])
  expect(windowAt('2w', now)[0]).toEndWith('T00:00:00.000Z')
  expect(new Date(windowAt('2w', now)[0]!).getUTCDay()).toBe(1)
  expect(windowAt('12h', now)).toEqual(['2026-11-23T12:00:00.000Z', '2026-11-24T00:00:00.000Z'])
  expect(windowAt('15m', now)).toEqual(['2026-11-23T15:45:00.000Z', '2026-11-23T16:00:00.000Z'])
  expect(budgetWindow(undefined, { timeZone: 'UTC', resetAtMs: null }, at(now))).toEqual({ startMs: 0, endMs: null })
})

test('a moment at which the budget resets moves all periods: days by their length, months by the calendar', () => {
  expect(windowAt('10d', '2026-11-23T15:52:48Z', 'Europe/Berlin', '2026-11-20T18:00:00Z')).toEqual([
    '2026-11-20T18:00:00.000Z',
    '2026-11-30T18:00:00.000Z',
  ])
  expect(windowAt('30d', '2026-11-23T15:52:48Z', 'UTC', '2026-12-01T06:00:00Z')[0]).toBe('2026-11-01T06:00:00.000Z')
  expect(windowAt('1mo', '2026-02-28T11:00:00Z', 'UTC', '2026-01-31T12:00:00Z')).toEqual([
    '2026-01-31T12:00:00.000Z',
    '2026-02-28T12:00:00.000Z',
  ])
})

test('the day on which clocks change has 23 or 25 hours, and a midnight that is skipped begins an hour later', () => {
  expect(windowAt('1d', '2026-03-29T12:00:00Z', 'Europe/Berlin')).toEqual([
    '2026-03-28T23:00:00.000Z',
    '2026-03-29T22:00:00.000Z',
  ])
  expect(windowAt('1d', '2026-10-25T12:00:00Z', 'Europe/Berlin')).toEqual([
    '2026-10-24T22:00:00.000Z',
    '2026-10-25T23:00:00.000Z',
  ])
  // Clocks of Cairo went from 00:00 to 01:00 on 26 April 2024 (IANA tz, africa: Egypt).
  expect(windowAt('1d', '2024-04-26T12:00:00Z', 'Africa/Cairo')[0]).toBe('2024-04-25T22:00:00.000Z')
  // And back from 24:00 to 23:00 on 31 October 2024.
  expect(windowAt('1d', '2024-10-31T21:30:00Z', 'Africa/Cairo')[1]).toBe('2024-10-31T22:00:00.000Z')
  // A midnight that the clocks pass twice begins the day once: St John's, back from 00:01 to 23:01 on 1 November 2009.
  expect(windowAt('1d', '2009-11-01T03:00:00Z', 'America/St_Johns')[0]).toBe('2009-11-01T02:30:00.000Z')
})

test('durations that are no duration get an error that says what is wrong', () => {
  for (const text of ['', '30', 'd', '-1d', '1.5d', '1y', '0d', '99999999d', '40000d', '1301mo'])
    expect(readBudgetDuration(text)).toHaveProperty('problem')
  for (const text of ['1s', '30d', ' 1mo ', '52w', '1200mo'])
    expect(readBudgetDuration(text)).not.toHaveProperty('problem')
  const zones = ['Europe/Berlin', '+01:00', 'Mars/Olympus', '2026-01-01T00:00[Europe/Berlin]', '']
  expect(zones.map(isTimeZone)).toEqual([true, true, false, false, false])
  expect(windowAt('1d', '2026-11-23T15:52:48Z', '+01:00')[0]).toBe('2026-11-22T23:00:00.000Z')
})

test('periods follow each other without a gap and contain their moment, in every zone and for every duration', () => {
  let seed = 7
  const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below
  const zones = ['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Africa/Cairo', 'Asia/Kolkata', 'Pacific/Apia']
  const durations = ['90s', '7m', '5h', '1d', '2d', '7d', '10d', '30d', '31d', '1w', '3w', '1mo', '2mo', '5mo', '12mo']
  for (let round = 0; round < 400; round++) {
    const resetAtMs = random(2) === 0 ? null : at('2020-01-01') + random(1e9) * 200
    const calendar = { timeZone: zones[random(zones.length)]!, resetAtMs }
    const length = duration(durations[random(durations.length)]!)
    const now = at('2010-01-01') + random(1e9) * 600
    const { startMs, endMs } = budgetWindow(length, calendar, now)
    expect([startMs <= now, now < endMs!]).toEqual([true, true])
    expect(budgetWindow(length, calendar, startMs)).toEqual({ startMs, endMs })
    expect(budgetWindow(length, calendar, endMs! - 1)).toEqual({ startMs, endMs })
    expect(budgetWindow(length, calendar, endMs!).startMs).toBe(endMs!)
    expect(budgetWindow(length, calendar, startMs - 1).endMs).toBe(startMs)
  }
})

test('days and weeks count from 1970, quarters of other lengths from the year 0, and a moment at an end is the next', () => {
  expect(windowAt('2d', '1970-01-02T12:00:00Z')).toEqual(['1970-01-01T00:00:00.000Z', '1970-01-03T00:00:00.000Z'])
  expect(windowAt('2w', '1970-01-05T00:00:00Z')).toEqual(['1970-01-05T00:00:00.000Z', '1970-01-19T00:00:00.000Z'])
  expect(windowAt('14d', '1970-01-04T00:00:00Z')[1]).toBe('1970-01-05T00:00:00.000Z')
  expect(windowAt('31d', '1970-01-31T23:59:59Z')).toEqual(['1970-01-01T00:00:00.000Z', '1970-02-01T00:00:00.000Z'])
  expect(windowAt('5mo', '2020-02-15T00:00:00Z')).toEqual(['2020-01-01T00:00:00.000Z', '2020-06-01T00:00:00.000Z'])
  expect(windowAt('90s', '1970-01-01T00:01:30Z')).toEqual(['1970-01-01T00:01:30.000Z', '1970-01-01T00:03:00.000Z'])
  expect(windowAt('2w', '2026-11-23T00:00:00Z', 'UTC', '2026-11-23T00:00:00Z')).toEqual([
    '2026-11-23T00:00:00.000Z',
    '2026-12-07T00:00:00.000Z',
  ])
  expect(windowAt('2mo', '2026-11-23T00:00:00Z', 'UTC', '2026-11-23T00:00:00Z')).toEqual([
    '2026-11-23T00:00:00.000Z',
    '2027-01-23T00:00:00.000Z',
  ])
})

test('a duration is at most a hundred years, in every unit', () => {
  for (const text of ['36500d', '5214w', '1216mo', '876000h', '52560000m', '3153600000s'])
    expect(readBudgetDuration(text)).toEqual({
      count: Number.parseInt(text, 10),
      unit: text.replace(/\d+/, ''),
    } as never)
  for (const text of ['36501d', '5215w', '1217mo', '876001h', '52560001m', '3153600001s'])
    expect(readBudgetDuration(text)).toHaveProperty('problem', expect.stringContaining('at most 36500d'))
  expect(readBudgetDuration('0mo')).toEqual({ problem: 'must be at least 1s' })
})
