import { expect, test } from 'bun:test'
import { ageInDays, oldListReport } from './price-list-age.ts'

const nowMs = Date.parse('2026-11-29T12:00:00Z')
const list = (name: 'built-in' | 'operator', day?: string) => ({
  name,
  datedMs: day === undefined ? undefined : Date.parse(day),
})

test.each([
  ['2026-11-29', 0],
  ['2026-11-28', 1],
  ['2026-10-30', 30],
  // A clock that is behind makes no list older than new.
  ['2026-12-24', 0],
  [undefined, undefined],
])('a list of %s is %p days old', (day, days) => {
  expect(ageInDays(list('built-in', day), nowMs)).toBe(days)
})

test('a list is reported once it is older than thirty days, and the one that decides alone', () => {
  expect(oldListReport([list('built-in', '2026-10-30')], nowMs)).toBeUndefined()
  expect(oldListReport([list('built-in', '2026-10-29')], nowMs)?.fields).toEqual({
    list: 'built-in',
    dated: '2026-10-29',
    age_days: 31,
  })
  const builtIn = list('built-in', '2026-01-01')
  expect(oldListReport([list('operator', '2026-11-20'), builtIn], nowMs)).toBeUndefined()
  expect(oldListReport([list('operator', '2026-09-20'), builtIn], nowMs)?.fields.list).toBe('operator')
  // Nothing says how old it is.
  expect(oldListReport([list('operator'), builtIn], nowMs)).toBeUndefined()
})
