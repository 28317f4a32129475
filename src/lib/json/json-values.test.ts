import { expect, test } from 'bun:test'
import { parsedJson, parsedObject, valueAt } from './json-values.ts'

test('what is no JSON, or no object, is undefined', () => {
  expect([parsedJson('[1]'), parsedJson('{'), parsedJson('')]).toEqual([[1], undefined, undefined])
  expect(['{"a":1}', '[1]', 'null', '"text"', '{'].map(parsedObject)).toEqual([{ a: 1 }, ...Array(4).fill(undefined)])
})

test('a path leads through own members and elements alone', () => {
  const root = { list: [{ name: 'first' }], text: 'x' }
  expect(valueAt(root, ['list', 0, 'name'])).toBe('first')
  expect(valueAt(root, [])).toBe(root)
  for (const path of [['absent', 'name'], ['list', 1], ['text', 'length'], ['constructor'], ['list', '__proto__']])
    expect(valueAt(root, path)).toBeUndefined()
})
