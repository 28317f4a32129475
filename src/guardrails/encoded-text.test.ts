import { expect, test } from 'bun:test'
import { encodedTexts } from './encoded-text.ts'

const texts = (text: string, isComplete = true) => [...encodedTexts(text, isComplete)]
const base64 = (bytes: string | readonly number[]) =>
  Buffer.from(bytes as string)
    .toString('base64')
    .replace(/=+$/, '')
/** Eighteen bytes that are text, with `byte` in the middle: 24 digits. */
const around = (...middle: number[]) => [...Buffer.from('twelve letters'), ...middle, ...Buffer.from('and twelve more')]
/** Whether the bytes are read as one text, both sides and what is between. */
const isOne = (...middle: number[]): boolean =>
  texts(base64(around(...middle))).some(({ text }) => text.startsWith('twelve') && text.endsWith('more'))

test('letters, signs and white space are text; other bytes of control end it', () => {
  for (const byte of [0x20, 0x7e, 0x41, 9, 10, 13]) expect([byte, isOne(byte)]).toEqual([byte, true])
  for (const byte of [0, 8, 11, 12, 14, 0x1f, 0x7f]) expect([byte, isOne(byte)]).toEqual([byte, false])
})

test('letters of two to four bytes are text when they are whole', () => {
  for (const letter of ['\u0080', 'ü', '߿', 'ࠀ', '語', '\u{10000}', '\u{1F600}'])
    expect([letter, isOne(...Buffer.from(letter))]).toEqual([letter, true])
  for (const bytes of [
    [0xc3],
    [0xe8, 0xaa],
    [0xf0, 0x9f, 0x98],
    [0x80],
    [0xbf],
    [0xc0, 0x80],
    [0xc1, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xff],
  ])
    expect([bytes, isOne(...bytes)]).toEqual([bytes, false])
})

test('a run of 24 digits with twelve bytes of text is one, a shorter one is none', () => {
  const [found, ...others] = texts(base64('eighteen letters !'))
  expect(others.filter(({ isCertain }) => isCertain)).toEqual([])
  expect(found).toMatchObject({ text: 'eighteen letters !', isOpen: false, isCertain: true })
  expect(texts(base64('fifteen letters'))).toEqual([])
  expect(texts(base64([...Buffer.from('eleven lett'), 0, 0, 0, 0, 0, 0, 0]))).toEqual([])
  expect(texts(base64([...Buffer.from('twelve lette'), 0, 0, 0, 0, 0, 0])).map(({ text }) => text)).toEqual([
    'twelve lette',
  ])
})

test('the range of a part is where its digits are written', () => {
  const written = `see ${base64('xyz is the secret word')} there`
  const [found] = texts(written)
  // Bytes 11 to 17: from the digit of the first bit to that of the last.
  expect(found!.text.slice(11, 17)).toBe('secret')
  expect(found!.sourceRange(11, 17)).toEqual({ start: 4 + 14, end: 4 + 23 })
  expect(found!.sourceRange(0, found!.text.length)).toEqual({
    start: 4,
    end: 4 + base64('xyz is the secret word').length,
  })
})

test('what may go on is open, and one that is complete is not', () => {
  const digits = base64('abc')
  expect(texts(`say ${digits}`, false).map(({ text, isOpen, isCertain }) => [text, isOpen, isCertain])).toContainEqual([
    'abc',
    true,
    false,
  ])
  expect(texts(`say ${digits}`)).toEqual([])
})
