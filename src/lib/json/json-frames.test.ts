import { expect, test } from 'bun:test'
import { frameSplitter } from '../frame-splitter.ts'
import type { Framing } from '../frame-splitter.ts'

/** The frames of `bytes` when they arrive cut at `cuts`. */
function split(framing: Framing, bytes: Uint8Array, cuts: readonly number[]): { data: string[]; rest: string } {
  const splitter = frameSplitter(framing)
  const data: string[] = []
  let from = 0
  for (const to of [...cuts, bytes.length]) {
    for (const frame of splitter.push(bytes.subarray(from, to))) data.push(frame.data)
    from = to
  }
  for (const frame of splitter.end()) data.push(frame.data)
  return { data, rest: splitter.rest() }
}

const documents = [{ a: 'ä😀"\\[]{},\n' }, { b: [1, [2, { c: '}' }]] }, { d: '' }, { e: { f: '\\"' } }]
const texts = documents.map(one => JSON.stringify(one))
const inputs: Record<string, { framing: Framing; text: string }> = {
  lines: { framing: 'ndjson', text: `${texts.join('\n')}\n` },
  'lines with CRLF and blank ones': { framing: 'ndjson', text: `\r\n${texts.join('\r\n\r\n')}\r\n` },
  'lines without the last end': { framing: 'ndjson', text: texts.join('\n') },
  'an array': { framing: 'json-array', text: `[${texts.join(',')}]` },
  'an array with space': { framing: 'json-array', text: `\n [ ${texts.join(' ,\n ')}\n]\n` },
}

for (const [name, { framing, text }] of Object.entries(inputs))
  test(`${name}: the same frames wherever the bytes are cut`, () => {
    const bytes = Buffer.from(text)
    expect(split(framing, bytes, [])).toEqual({ data: texts, rest: '' })
    for (let at = 0; at <= bytes.length; at++) expect(split(framing, bytes, [at]).data).toEqual(texts)
    expect(
      split(
        framing,
        bytes,
        Array.from(bytes, (_, at) => at),
      ).data,
    ).toEqual(texts)
  })

test('what is cut off in the middle stays visible', () => {
  expect(split('json-array', Buffer.from('[{"a":1},{"b":'), [])).toEqual({ data: ['{"a":1}'], rest: '{"b":' })
  expect(split('ndjson', Buffer.from('{"a":1}\n{"b":'), []).data).toEqual(['{"a":1}', '{"b":'])
})

test('a frame that never ends cannot fill the memory', () => {
  for (const framing of ['ndjson', 'json-array'] as const) {
    const splitter = frameSplitter(framing)
    splitter.push(Buffer.from('[{"a":"'))
    const piece = Buffer.alloc(1024 * 1024, 97)
    expect(() => {
      for (let at = 0; at < 20; at++) splitter.push(piece)
    }).toThrow('larger than')
  }
})
