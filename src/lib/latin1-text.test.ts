import { expect, test } from 'bun:test'
import { utf16Length } from './latin1-text.ts'

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
