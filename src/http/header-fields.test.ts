import { expect, test } from 'bun:test'
import { HeaderFields } from './header-fields.ts'

const read = (lines: readonly string[]): HeaderFields => {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`, 'latin1')
  return new HeaderFields(bytes, 16, bytes.length - 2, (why, status) => new Error(`${status} ${why}`))
}

test('lines of one name keep their order', () => {
  const fields = read(['X-One: a', 'y: 1', 'x-one:b', 'x-ONE: c '])
  expect(fields.get('x-one')).toBe('a, b, c')
  expect(fields.all('x-one')).toEqual(['a', 'b', 'c'])
  expect(fields.first('x-one')).toBe('a')
  expect(fields.count('x-one')).toBe(3)
  expect([fields.get('x-two'), fields.all('x-two'), fields.first('x-two')]).toEqual([null, [], null])
  expect([fields.has('y'), fields.has('x-on')]).toEqual([true, false])
})

test('names that share a bucket are distinguished', () => {
  // Equal in first letter, last letter and length.
  const names = ['xabz', 'xbaz', 'xaaz', 'xbbz', 'x--z']
  const fields = read(names.map((name, index) => `${name}: ${index}`))
  expect(names.map(name => fields.get(name))).toEqual(['0', '1', '2', '3', '4'])
  expect(fields.get('xccz')).toBeNull()
})

test('every name is found as a search of all lines finds it, in heads of any size', () => {
  const letters = 'ab-C_~^9'
  let seed = 7
  const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below
  const name = (): string => Array.from({ length: 1 + random(3) }, () => letters[random(letters.length)]).join('')
  for (let round = 0; round < 300; round++) {
    const lines = Array.from({ length: random(200) }, (_, index) => [name(), `v${index}`] as const)
    const fields = read(lines.map(([key, value]) => `${key}: ${value}`))
    for (let asked = 0; asked < 50; asked++) {
      const wanted = name().toLowerCase()
      const expected = lines.filter(([key]) => key.toLowerCase() === wanted).map(([, value]) => value)
      expect(fields.all(wanted)).toEqual(expected)
      expect(fields.get(wanted)).toBe(expected.length === 0 ? null : expected.join(', '))
      expect(fields.first(wanted)).toBe(expected[0] ?? null)
      expect([fields.count(wanted), fields.has(wanted)]).toEqual([expected.length, expected.length > 0])
    }
  }
})

test('what could be understood in two ways is refused, and so are more than 200 lines', () => {
  const refusal = (...lines: string[]): string => {
    try {
      read(lines)
    } catch (thrown) {
      return (thrown as Error).message
    }
    return 'not refused'
  }
  for (const line of ['no colon', ': no name', 'space : a', ' folded: a', 'käse: a'])
    expect(refusal('a: b', line)).toBe('400 a header line without a proper name')
  for (const line of ['a: \0', 'a: b\rc', 'a: b\nc', 'a: \x7f'])
    expect(refusal(line)).toBe('400 a control character in a header line')
  const many = Array.from({ length: 200 }, (_, index) => `a${index}: b`)
  expect(refusal(...many)).toBe('not refused')
  expect(refusal(...many, 'c: d')).toBe('431 more than 200 header lines')
})
