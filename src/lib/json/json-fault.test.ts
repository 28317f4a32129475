import { expect, test } from 'bun:test'
import { jsonFaultAt, utf8FaultAt } from './json-fault.ts'

const fault = (text: string) => jsonFaultAt(new TextEncoder().encode(text))

/** The sign § stands before the byte at fault. */
const faults = [
  '{"a":§NaN}',
  '{"a":1,§}',
  '[1,§]',
  '{"a":[1,{"b":§undefined}]}',
  "{§'a':1}",
  '{"a"§ 1}',
  '{"a":1§ "b":2}',
  '[1§ 2]',
  '{"a":1§]',
  '§',
  ' §',
  '[§',
  '[1§',
  '"a§\n"',
  '"a§\\x"',
  '"a§\\u12g4"',
  '"a§\\u12',
  '"open§',
  '0§1',
  '1§.',
  '1§e',
  '§+1',
  '§.5',
  '-§',
  '§tru',
  'true§x',
  '{"ü":"€",§}',
  '[]§[]',
  '{}§ x',
  '§}',
]
for (const marked of faults)
  test(`the fault of ${JSON.stringify(marked)}`, () => {
    const before = marked.split('§')[0]!
    const expected = new TextEncoder().encode(marked === '-§' ? '' : before).length
    expect(() => JSON.parse(marked.replace('§', '')) as unknown).toThrow()
    const text = marked.replace('§', '')
    // White space that leads up to a fault is not at fault.
    const spaces = /^[ \n]*/.exec(text.slice(before.length))![0].length
    expect(fault(text)).toBe(marked.includes('\n') ? expected : expected + spaces)
  })

test('finds nothing where the platform finds nothing, and something wherever it does', () => {
  let seed = 11
  const random = (below: number) => ((seed = (seed * 1103515245 + 12345) % 2147483648), seed % below)
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"\\u00e9\\n"',
    '"é"',
    '1',
    '-0.5e+3',
    'true',
    'null',
    ' ',
    '\n',
    '{"a":1}',
    '[1,2]',
    '"',
    '\\',
    'x',
    '\u0001',
  ]
  const good = '{"a" : [1, {"b": null, "c": "x\\"y"}, [], {} ], "d": -1.5E2 }'
  let parsed = 0
  for (let round = 0; round < 20_000; round++) {
    const at = random(good.length)
    const piece = pieces[random(pieces.length)]!
    const text = [
      good.slice(0, at) + piece + good.slice(at + random(3)),
      Array.from({ length: random(6) }, () => pieces[random(pieces.length)]).join(''),
    ][random(2)]!
    let isGood = true
    try {
      JSON.parse(text)
      parsed++
    } catch {
      isGood = false
    }
    expect([text, fault(text) === undefined]).toEqual([text, isGood])
  }
  expect(parsed).toBeGreaterThan(500)
})

test('numbers of any length are numbers, and depth costs no stack', () => {
  expect(fault(`[${'1'.repeat(5000)}]`)).toBeUndefined()
  expect(fault(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)).toBeUndefined()
  expect(fault(`${'['.repeat(200_000)}}`)).toBe(200_000)
})

test.each([
  [[97, 0xff, 98], 1],
  [[0xc3], 0],
  [[97, 0xef, 0xbf], 3],
  [[0xe2, 0x82, 0xac, 0x80], 3],
  [[0xef, 0xbf, 0xbd, 97], undefined],
  [[0xef, 0xbb, 0xbf, 97], undefined],
  [[0xed, 0xa0, 0x80], 0],
  [[], undefined],
])('UTF-8 %p goes wrong at %p', (bytes, at) => {
  expect(utf8FaultAt(new Uint8Array(bytes))).toBe(at)
})
