import { expect, test } from 'bun:test'
import { fieldRules, noFieldRules, refusedField, removeMember } from './field-rules.ts'

const read = () => undefined

test('a refused field is reported, unless its value asks for nothing', () => {
  expect([refusedField()(5, read), refusedField()(null, read)]).toEqual(['drop', 'omit'])
  expect([refusedField(1)(1, read), refusedField(1)(2, read), refusedField(1)(null, read)]).toEqual([
    'omit',
    'drop',
    'omit',
  ])
  expect(noFieldRules.fields.size).toBe(0)
})

test('fields are left out or renamed by their names', () => {
  const rules = fieldRules(['user'], { max_tokens: 'max_new_tokens' })
  expect([...rules].map(([name, rule]) => [name, rule(5, read)])).toEqual([
    ['user', 'drop'],
    ['max_tokens', { name: 'max_new_tokens' }],
  ])
  expect(fieldRules().size).toBe(0)
})

test('a member is removed at its path, in every element of lists, and told where it asked for something', () => {
  const removed = (value: unknown, ...path: string[]) => [removeMember(value, path), value]
  expect(removed({ a: 1, b: 2 }, 'a')).toEqual([true, { b: 2 }])
  expect(removed({ a: null }, 'a')).toEqual([false, {}])
  expect(removed({ a: false }, 'a')).toEqual([false, {}])
  expect(removed({ b: 2 }, 'a')).toEqual([false, { b: 2 }])
  expect(removed('text', 'a')).toEqual([false, 'text'])
  expect(removed([{ a: { x: 1 } }, { a: [{ x: 2, y: 3 }] }, {}], 'a', 'x')).toEqual([
    true,
    [{ a: {} }, { a: [{ y: 3 }] }, {}],
  ])
  expect(removed([{ b: 1 }], 'a')).toEqual([false, [{ b: 1 }]])
})
