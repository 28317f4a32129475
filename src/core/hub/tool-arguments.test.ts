import { expect, test } from 'bun:test'
import { argumentsObject } from './tool-arguments.ts'

test('any text a model wrote as arguments becomes an object, and nothing of it is lost', () => {
  expect(argumentsObject('{"a": [1]}')).toEqual({ a: [1] })
  expect(argumentsObject(' ')).toEqual({})
  for (const [text, value] of [
    ['[1]', [1]],
    ['null', null],
    ['"x"', 'x'],
    ['0', 0],
  ] as const)
    expect(argumentsObject(text)).toEqual({ value })
  expect(argumentsObject('{"a": ')).toEqual({ invalid_json: '{"a": ' })
})
