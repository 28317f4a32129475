import { expect, test } from 'bun:test'
import { JsonBody, JsonBodyError } from './json-body.ts'
import type { Edit } from './json-body.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const read = (text: string) => JsonBody.read(bytes(text))
const edited = (text: string, edits: Edit[]) => Buffer.concat(read(text).edited(edits)).toString('utf8')

test('token ids of the largest request for embeddings are not too many', () => {
  const input = Array.from({ length: 2048 }, () => Array<number>(146).fill(7))
  expect(read(JSON.stringify({ model: 'm', input })).get('input')).toEqual(input)
})

test('finds the top-level fields and leaves nested ones alone', () => {
  const body = read(' {"model" : "m", "messages":[{"model":"x","role":"user"}], "n": 2 }')
  expect(body.names()).toEqual(['model', 'messages', 'n'])
  expect(body.get('model')).toBe('m')
  expect(body.get('n')).toBe(2)
  expect(body.get('role')).toBeUndefined()
  expect(body.rawText('messages')).toBe('[{"model":"x","role":"user"}]')
})

test('fields named like object members are plain fields', () => {
  const body = read('{"__proto__":{"polluted":true},"constructor":1,"hasOwnProperty":2}')
  expect(body.get('constructor')).toBe(1)
  expect(body.get('toString')).toBeUndefined()
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

test('replaces, adds and removes fields and keeps every other byte', () => {
  const text = '{ "a":1 ,\t"b" : [1, 2],"c":"\\"}{\\\\" }'
  expect(edited(text, [{ set: 'b', json: '7' }])).toBe('{ "a":1 ,\t"b" : 7,"c":"\\"}{\\\\" }')
  expect(JSON.parse(edited(text, [{ set: 'd', json: 'null' }]))).toEqual({ a: 1, b: [1, 2], c: '"}{\\', d: null })
  expect(
    edited('{}', [
      { set: 'x', json: '1' },
      { set: 'y', json: '2' },
    ]),
  ).toBe('{"x":1,"y":2}')
})

test('any set of edits gives the same object as editing the parsed value', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  let seed = 7
  const random = (below: number) => ((seed = (seed * 1103515245 + 12345) % 2147483648), seed % below)
  for (let round = 0; round < 3000; round++) {
    const object: Record<string, unknown> = {}
    for (const name of names) if (random(3) > 0) object[name] = [1, 'x,"}', { [name]: null }][random(3)]
    const text = random(2) ? JSON.stringify(object) : JSON.stringify(object, null, 1)
    const edits: Edit[] = []
    const expected = { ...object }
    for (const name of names) {
      const what = random(4)
      if (what === 0) {
        edits.push({ remove: name })
        delete expected[name]
      } else if (what === 1) {
        edits.push({ set: name, json: '"new"' })
        expected[name] = 'new'
      }
    }
    expect(JSON.parse(edited(text, edits))).toEqual(expected)
  }
})

const refused: [string, string][] = [
  ['', 'must be a JSON object'],
  ['[]', 'must be a JSON object'],
  ['"x"', 'must be a JSON object'],
  ['{', 'ends in the middle'],
  ['{"a":1', 'ends in the middle'],
  ['{"a":"x', 'is not closed'],
  ['{"a":1}}', 'not one JSON object'],
  ['{"a":1} x', 'not one JSON object'],
  ['{"a":}', 'not valid JSON'],
  ['{"a":1,}', 'not valid JSON'],
  ['{"a":NaN}', 'not valid JSON'],
  ['{"a":1,"a":2}', 'given twice'],
  ["{'a':1}", 'not valid JSON'],
]
for (const [text, message] of refused)
  test(`refuses ${text || 'nothing'}`, () => {
    expect(() => read(text)).toThrow(JsonBodyError)
    expect(() => read(text)).toThrow(message)
  })

const repeated: [string, string | undefined][] = [
  ['{"a":[{"b":1,"b":2}]}', 'b 13'],
  ['{"a":{"b":{"c":1},"d":2,"b":3}}', 'b 24'],
  ['{"a":{"é":1,"\\u00e9":2}}', 'é 13'],
  ['{"a":{"b\\"":1,"c":"b\\"","b\\"":2}}', 'b" 24'],
  ['{"a":{"b":1},"c":[{"b":1},{"b":1},"b","b",{"b":{"b":"b"}}]}', undefined],
  ['{"a":"{\\"b\\":1,\\"b\\":2}"}', undefined],
  ['{"a":{},"b":[],"c":[[{}],{"a":1}]}', undefined],
]
for (const [text, found] of repeated)
  test(`a name that stands twice: ${text}`, () => {
    const repeats = (sent: string): string | undefined => {
      const one = JsonBody.read(bytes(sent)).repeatedName()
      return one && `${one.name} ${one.offset}`
    }
    expect([repeats(text), repeats(text)]).toEqual([found, found])
    expect(repeats(`\ufeff${text}`)).toBe(found?.replace(/\d+$/, at => String(Number(at) + 3)))
  })

test('says where: in small bodies, in large ones, behind a byte order mark, in names', () => {
  const place = (work: () => unknown): number | undefined => {
    try {
      work()
    } catch (error) {
      expect(error).toBeInstanceOf(JsonBodyError)
      return (error as JsonBodyError).offset
    }
    throw new Error('nothing was refused')
  }
  const nan = '{"model":"m","messages":[{"role":"user","content":"€"}],"n":NaN}'
  const nanAt = Buffer.byteLength(nan.slice(0, nan.indexOf('NaN')))
  expect(() => read(nan)).toThrow(`(at byte ${nanAt})`)
  expect(place(() => read(`\ufeff${nan}`))).toBe(nanAt + 3)
  expect(place(() => read('\ufeff{"a":1,"a":2}'))).toBe(10)
  expect(place(() => read('{"a":1,"b\\x":2}'))).toBe(9)
  const text = 'x'.repeat(300_000)
  expect(place(() => read(`\ufeff{"text":"${text}","n":[1,],"ok":1}`))).toBe(3 + 9 + text.length + 1 + 5 + 3)
  const broken = bytes(`{"text":"${text}","s":"ab"}`)
  broken[broken.length - 3] = 0xff
  expect(place(() => JsonBody.read(broken))).toBe(broken.length - 3)
})

test('refuses invalid UTF-8', () => {
  expect(() => JsonBody.read(new Uint8Array([123, 34, 97, 34, 58, 34, 0xff, 34, 125]))).toThrow('UTF-8')
})

test('a byte order mark is no part of the body', () => {
  const body = JsonBody.read(bytes('\u{FEFF} {"model":"m","a":1}'))
  expect([body.get('model'), body.size]).toEqual(['m', 20])
  const sent = (edits: Parameters<JsonBody['edited']>[0]) => Buffer.concat(body.edited(edits)).toString()
  expect([sent([]), sent([{ set: 'model', json: '"other"' }])]).toEqual([
    ' {"model":"m","a":1}',
    ' {"model":"other","a":1}',
  ])
  expect(() => JsonBody.read(bytes('\u{FEFF}\u{FEFF}{}'))).toThrow(JsonBodyError)
})
