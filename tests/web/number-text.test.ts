/** Numbers as people type them, in both languages of the pages. */
import { expect, test } from 'bun:test'
import { amounts, counts, readNumber, temperatures, writeNumber } from '../../web/lib/number-text.ts'
import type { NumberRange } from '../../web/lib/number-text.ts'

const read = (text: string, language: string, range: NumberRange = amounts) => {
  const found = readNumber(text, language, range)
  return 'problem' in found ? found.problem : found.value
}

test('a number is read as it is written in the language, and nothing else is', () => {
  const rows: [text: string, english: number | string | null, german: number | string | null][] = [
    ['', null, null],
    ['  ', null, null],
    ['5', 5, 5],
    [' 5 ', 5, 5],
    ['007', 7, 7],
    ['0', 0, 0],
    ['0.50', 0.5, 'unreadable'],
    ['0,50', 'unreadable', 0.5],
    ['12.50', 12.5, 'unreadable'],
    ['1,5', 'unreadable', 1.5],
    ['.5', 0.5, 'unreadable'],
    [',5', 'unreadable', 0.5],
    ['5.', 'unreadable', 'unreadable'],
    ['5,', 'unreadable', 'unreadable'],
    ['1,234', 1234, 1.234],
    ['1.234', 1.234, 1234],
    ['0,500', 'unreadable', 0.5],
    ['0.500', 0.5, 'unreadable'],
    ['1,234,567.25', 1_234_567.25, 'unreadable'],
    ['1.234.567,25', 'unreadable', 1_234_567.25],
    ['1234,567', 'unreadable', 1234.567],
    ['12,34,567', 'unreadable', 'unreadable'],
    ['1.2.3', 'unreadable', 'unreadable'],
    ['-5', 'range', 'range'],
    ['\u22125', 'range', 'range'],
    ['-0', 0, 0],
    ['--5', 'unreadable', 'unreadable'],
    ['5-', 'unreadable', 'unreadable'],
    ['+5', 'unreadable', 'unreadable'],
    ['1e3', 'unreadable', 'unreadable'],
    ['0x10', 'unreadable', 'unreadable'],
    ['Infinity', 'unreadable', 'unreadable'],
    ['NaN', 'unreadable', 'unreadable'],
    ['1 000', 'unreadable', 'unreadable'],
    ['1\u00a0000', 'unreadable', 'unreadable'],
    ["1'000", 'unreadable', 'unreadable'],
    ['$5', 'unreadable', 'unreadable'],
    ['5 %', 'unreadable', 'unreadable'],
    ['\u0665', 'unreadable', 'unreadable'],
    ['\uff15', 'unreadable', 'unreadable'],
    ['½', 'unreadable', 'unreadable'],
  ]
  for (const [text, english, german] of rows)
    expect([text, read(text, 'en'), read(text, 'de')]).toEqual([text, english, german])
})

test('a number outside of the range, or with digits that would be lost, is refused for that', () => {
  expect(read('1.5', 'en', counts)).toBe('decimals')
  expect(read('1.0', 'en', counts)).toBe(1)
  expect(read('0.0000000001', 'en')).toBe('decimals')
  expect(read('0.000000001', 'en')).toBe(1e-9)
  expect(read('1000000000', 'en')).toBe(1e9)
  expect(read('1000000000.01', 'en')).toBe('range')
  expect(read('123456789.123456789', 'en')).toBe('digits')
  expect(read('99999999999999999999', 'en', counts)).toBe('digits')
  expect(read('2.1', 'en', temperatures)).toBe('range')
  expect(read('-1', 'en', { min: -2, max: 2, decimals: 0 })).toBe(-1)
})

test('every amount is written so that it is read again as the same one', () => {
  let seed = 7
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  for (let at = 0; at < 5000; at++) {
    const value = Number((random() * 10 ** Math.floor(random() * 10)).toPrecision(1 + Math.floor(random() * 9)))
    const exact = Number(value.toFixed(9))
    for (const language of ['en', 'de'])
      expect([exact, read(writeNumber(exact, language), language)]).toEqual([exact, exact])
  }
  expect(writeNumber(null, 'de')).toBe('')
})
