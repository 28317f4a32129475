import { expect, test } from 'bun:test'
import { bigintText, oneDecimalText, thousandthsText, utf16Length } from './text.ts'

test('the length of a text is that of its characters, however many bytes they take', () => {
  for (const text of ['', 'a', 'Grüße', '東京の天気', '😀 a 👩‍👩‍👧', 'Привет', '\u0000\u007f\u0080\uffff'])
    expect(utf16Length(Buffer.from(text).toString('latin1'))).toBe(text.length)
})

test('a part of it, and what is no UTF-8 but not nothing', () => {
  const text = Buffer.from('aü東').toString('latin1')
  expect(utf16Length(text, 1, 3)).toBe(1)
  expect(utf16Length(text, 2, 2)).toBe(0)
  expect(utf16Length('\u00a0')).toBe(1)
  expect(utf16Length('\u00a0\u00a0', 0, 1)).toBe(1)
})

test('one decimal, as toFixed writes it', () => {
  for (const value of [0, 0.04, 0.06, 1, 9.96, 12.34, 1234567.89, 59.949, 1e15, 1e21, Infinity, -1.5])
    expect(oneDecimalText(value)).toBe(value.toFixed(1))
})

test('thousandths, as the division writes them', () => {
  for (let value = 0; value < 3000; value++) expect(thousandthsText(value)).toBe(String(value / 1000))
  for (const value of [59_001, 60_000, 86_400_010, 2 ** 45]) expect(thousandthsText(value)).toBe(String(value / 1000))
})

test('bigints small and large', () => {
  for (const value of [0n, -1n, 399_000n, 2n ** 53n, 2n ** 53n - 1n, -(2n ** 60n), 2n ** 63n])
    expect(bigintText(value)).toBe(value.toString())
})
