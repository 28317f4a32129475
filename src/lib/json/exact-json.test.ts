import { describe, expect, test } from 'bun:test'
import {
  ExactNumber,
  exactNames,
  exactObject,
  exactText,
  objectInOrder,
  parseExact,
  plainKey,
  plainValue,
} from './exact-json.ts'
import { JsonBody } from './json-body.ts'

describe('a value that is parsed and written again', () => {
  test.each([
    ['{"id":1234567890123456789}'],
    ['{"a":1.0,"b":[-0,-0.0,1e3,1E+2,0.10,1e400],"c":{"d":2.50}}'],
    ['{"b":1,"10":2,"2":3}'],
    ['{"10":1,"2":{"x":1,"0":2}}'],
    ['{"a":{"1":1,"2":2},"0":[{"z":0,"1":1.0}]}'],
    ['[{"b":1,"1":"1.0"},"1.0",9007199254740993]'],
    ['1.0'],
    ['"1.0"'],
    ['{"\\"1\\"":1.50,"a\\\\":"\\\\\\"2.0"}'],
    ['{"":{},"x":[]}'],
  ])('%s keeps its digits and its order', text => {
    expect(exactText(parseExact(text))).toBe(text)
    expect(exactText({ inner: [parseExact(text)] })).toBe(`{"inner":[${text}]}`)
  })

  test('white space between tokens is not kept', () => {
    expect(exactText(parseExact(' { "b" : 1.0 ,\n"1"\t: [ 2.0 , -1 ] } '))).toBe('{"b":1.0,"1":[2.0,-1]}')
  })

  test('is what JSON.parse yields where a double keeps it', () => {
    const text = '{"1":1,"2":-1,"a":0.5,"b":"1.0","c":[123456789012345,1e+21,null,true]}'
    expect(parseExact(text)).toEqual(JSON.parse(text))
    expect(Object.keys(parseExact('{"b":1,"a":"2"}') as object)).toEqual(['b', 'a'])
  })

  test('of equal keys the last one counts', () => {
    expect(exactText(parseExact('{"b":1.0,"1":2,"b":3.0,"1":4}'))).toBe('{"b":3.0,"1":4}')
  })

  test('text that is no JSON is refused as JSON.parse does', () => {
    for (const text of ['', '{"a":1.0', '{"a":01}', '[1.0,]', 'x']) expect(() => parseExact(text)).toThrow(SyntaxError)
  })

  test('copies keep it too', () => {
    const { a, ...rest } = parseExact('{"a":1.0,"z":2.0,"5":{"maximum":12345678901234567890}}') as Record<
      string,
      unknown
    >
    expect(exactText({ ...rest, a })).toBe('{"z":2.0,"5":{"maximum":12345678901234567890},"a":1.0}')
  })
})

describe('inside of names', () => {
  test('values of other names are numbers as always', () => {
    const text = '{"temperature":1.0,"input":{"a":1.0},"other":{"input":[2.0],"b":3.0},"x":"input","input2":{"a":4.0}}'
    expect(exactText(parseExact(text, exactNames('input')))).toBe(
      '{"temperature":1,"input":{"a":1.0},"other":{"input":[2.0],"b":3},"x":"input","input2":{"a":4}}',
    )
  })

  test('names may stand in each other, and in texts', () => {
    const text = '{"t":"\\"input\\": {\\"a\\":1.0}","args":{"input":{"a":1.0},"b":2.0},"c":1.0}'
    expect(exactText(parseExact(text, exactNames('input', 'args')))).toBe(text.replace('"c":1.0', '"c":1'))
  })
})

describe('a field of a body', () => {
  const body = (text: string): JsonBody => JsonBody.read(Buffer.from(text))

  test('is undefined where nothing would be lost', () => {
    expect(
      body('{"messages":[{"input":{"a":1,"b":"1.0"}}],"n":1.0}').exact('messages', exactNames('input')),
    ).toBeUndefined()
    expect(body('{"n":1.0}').exact('messages', exactNames('input'))).toBeUndefined()
  })

  test('keeps digits beside long strings and other alphabets', () => {
    const long = 'ß1.0,'.repeat(2000)
    const messages = `[{"text":"${long}","input":{"a":1.0}},{"text":"世","input":{"long":"${long}","b":2.0,"1":3.0}}]`
    const exact = body(`{"x":"${long}","messages":${messages},"y":"${long}"}`).exact('messages', exactNames('input'))
    expect(exactText(exact)).toBe(messages)
  })
})

test('readers that calculate get plain numbers and names', () => {
  const exact = parseExact('{"b":{"maximum":1.0},"1":2}') as Record<string, unknown>
  expect(plainValue(exact)).toEqual({ 1: 2, b: { maximum: 1 } })
  expect(Object.keys(exact).map(plainKey)).toEqual(['b', '1'])
  const plain = { a: 1 }
  expect(plainValue(plain)).toBe(plain)
})

test('JSON.stringify writes the nearest double', () => {
  expect(JSON.stringify(parseExact('{"a":1.0,"b":1234567890123456789}'))).toBe('{"a":1,"b":1234567890123456800}')
  expect(new ExactNumber('2.50').valueOf()).toBe(2.5)
  expect(String(new ExactNumber('2.50'))).toBe('2.50')
})

test('entries keep their order', () => {
  expect(
    exactText(
      objectInOrder([
        ['b', 1],
        ['10', 2],
        ['2', 3],
      ]),
    ),
  ).toBe('{"b":1,"10":2,"2":3}')
  expect(
    objectInOrder([
      ['2', 3],
      ['10', 2],
      ['b', 1],
    ]),
  ).toEqual({ 2: 3, 10: 2, b: 1 })
})

test('only an object is one', () => {
  expect(exactObject('1.0')).toBeUndefined()
  expect(exactObject('[1.0]')).toBeUndefined()
  expect(exactObject('{')).toBeUndefined()
  expect(exactText(exactObject('{"a":1.0}'))).toBe('{"a":1.0}')
})
