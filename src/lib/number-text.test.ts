import { expect, test } from 'bun:test'
import { bigintText, oneDecimalText, thousandthsText } from './number-text.ts'

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
