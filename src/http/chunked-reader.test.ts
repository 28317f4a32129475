import { expect, test } from 'bun:test'
import { ChunkedReader } from './chunked-reader.ts'

/** The body and what comes behind it, read in these pieces; throws what the reader throws. */
function read(pieces: readonly Buffer[], reader = new ChunkedReader(why => new Error(why))) {
  let body = ''
  for (let index = 0; index < pieces.length; index++) {
    const bytes = pieces[index]!
    for (let at = 0; ; at = reader.at) {
      const event = reader.read(bytes, at)
      if (event === 'body') body += Buffer.from(reader.piece).toString()
      else if (event === 'end')
        return { body, rest: Buffer.concat([bytes.subarray(reader.at), ...pieces.slice(index + 1)]).toString() }
      else break
    }
  }
  return { body, rest: undefined }
}

const bytes = Buffer.from('5;name="v"\r\nhello\r\n00A\r\n, world!\r\n\r\n0\r\nx-trailer: 1\r\n\r\nGET /next')

test('the body is the same wherever its bytes are cut, and what follows stays', () => {
  const whole = read([bytes])
  expect(whole).toEqual({ body: 'hello, world!\r\n', rest: 'GET /next' })
  for (let cut = 1; cut < bytes.length; cut++)
    expect(read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole)
  expect(read(Array.from(bytes, byte => Buffer.of(byte)))).toEqual(whole)
})

test('small chunks come joined, others as they are, and all that stood before a mistake still comes', () => {
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
  const large = 'L'.repeat(5000)
  const small = Array.from({ length: 300 }, (_, at) => 'abcdefg'.repeat(20).slice(0, 1 + (at % 140)))
  const sent = [...small, large, ...small, large, large]
  const body = sent.join('')
  for (const [end, why] of [
    ['0\r\n\r\nnext', undefined],
    ['1\r\nx!', 'framing is broken'],
    ['x', 'without a size'],
    ['1\r\nx\r\n', 'no end'],
  ] as const) {
    const wire = Buffer.from(sent.map(chunk).join('') + end)
    const expected = why === undefined || why === 'without a size' ? body : `${body}x`
    for (const size of [wire.length, 1, 7, 100, 1000]) {
      const reader = new ChunkedReader(message => new Error(message))
      let seen = ''
      const readAll = (): string => {
        for (let from = 0; from < wire.length; from += size) {
          const bytes = wire.subarray(from, from + size)
          for (let at = 0; ; at = reader.at) {
            const event = reader.read(bytes, at)
            if (event === 'body') seen += Buffer.from(reader.piece).toString()
            else if (event === 'end') return wire.subarray(from + reader.at).toString()
            else break
          }
        }
        return 'no end'
      }
      if (why === undefined) expect(readAll()).toBe('next')
      else if (why === 'no end') expect(readAll()).toBe(why)
      else expect(readAll).toThrow(why)
      expect(seen === expected).toBe(true)
    }
  }
})

test('a read of a thousand small chunks is one piece of its own', () => {
  const reader = new ChunkedReader(why => new Error(why))
  const bytes = Buffer.from('1\r\nx\r\n'.repeat(1000))
  expect(reader.read(bytes, 0)).toBe('body')
  const first = reader.piece
  expect([first.length, reader.at]).toEqual([1000, bytes.length])
  const other = new ChunkedReader(why => new Error(why))
  other.read(Buffer.from('1\r\ny\r\n'.repeat(1000)), 0)
  expect(Buffer.from(first).toString()).toBe('x'.repeat(1000))
})

test('a cut body has no end, and after a reset the next one is read', () => {
  const reader = new ChunkedReader(why => new Error(why))
  expect(read([Buffer.from('3\r\nab')], reader)).toEqual({ body: 'ab', rest: undefined })
  reader.reset()
  expect(read([Buffer.from('1\r\nx\r\n0\r\n\r\n')], reader)).toEqual({ body: 'x', rest: '' })
  expect(reader.read(Buffer.from('more'), 0)).toBe('end')
})

test('what two readers could read differently is refused', () => {
  const cases: [string, string][] = [
    ['\r\n', 'without a size'],
    ['g\r\n', 'without a size'],
    ['0x1\r\nx', 'not hexadecimal'],
    ['1 \r\nx', 'not hexadecimal'],
    ['-1\r\n', 'without a size'],
    ['1\nx', 'not hexadecimal'],
    ['1\r\nxy', 'framing is broken'],
    ['1\r\nx\n', 'framing is broken'],
    ['1\rx', 'framing is broken'],
    [`${'0'.repeat(17)}\r\n`, 'out of range'],
    ['fffffffffff\r\n', 'out of range'],
    [`1;${'e'.repeat(2000)}\r\n`, 'too long'],
    ['1;\0\r\n', 'control character'],
    ['0\r\n folded: x\r\n', 'folded'],
    [`0\r\n${'t: x\r\n'.repeat(5000)}`, 'too long'],
    ['0\r\nt: \0\r\n', 'control character'],
  ]
  for (const [given, why] of cases) expect(() => read([Buffer.from(given)])).toThrow(why)
})
