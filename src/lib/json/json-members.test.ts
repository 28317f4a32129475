import { expect, test } from 'bun:test'
import { Random } from '../../../tests/property/random.ts'
import { editMembers } from './json-members.ts'

const paths = new Map<string, string | undefined>([
  ['name', undefined],
  ['reasoning_content', 'reasoning'],
  ['content.cache_control', undefined],
])
const edited = (json: string): string | undefined => editMembers(json, paths)?.json

test('members go with their comma, wherever they stand', () => {
  for (const [before, after] of [
    ['[{"name":"a","role":"user"}]', '[{"role":"user"}]'],
    ['[{"role":"user","name":"a"}]', '[{"role":"user"}]'],
    ['[{"role":"user","name":"a","x":1}]', '[{"role":"user","x":1}]'],
    ['[ { "name" : "a" } ]', '[ {  } ]'],
    ['[{"name":null,"name":2}]', '[{}]'],
    ['[{"x":1, "name" : [1,{"a":"]}"}] }]', '[{"x":1 }]'],
    ['[{"a":1},{"name":"b","c":"\\"name\\":1"}]', '[{"a":1},{"c":"\\"name\\":1"}]'],
    ['[{"content":[{"type":"text","cache_control":{"type":"ephemeral"}}]}]', '[{"content":[{"type":"text"}]}]'],
  ] as const)
    expect(edited(before)).toBe(after)
})

test('a member of the same name elsewhere stays', () => {
  for (const text of [
    '[{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]',
    '[{"content":[{"name":"x","inner":{"cache_control":1}}],"cache_control":1}]',
    '[{"content":"\\"name\\": 1, \\\\"}]',
    '[]',
    '"name"',
    '[["name"],3,null,-1.5e3]',
  ])
    expect(edited(text)).toBeUndefined()
})

test('a renamed member keeps its value; where the new name is there already, that one counts', () => {
  const moved = editMembers('[{"reasoning_content" : "a\\u00e4","role":"assistant"}]', paths)!
  expect([moved.json, [...moved.removed]]).toEqual(['[{"reasoning" : "a\\u00e4","role":"assistant"}]', []])
  const kept = editMembers('[{"reasoning":"b","reasoning_content":"a"}]', paths)!
  expect([kept.json, [...kept.removed]]).toEqual(['[{"reasoning":"b"}]', ['reasoning_content']])
})

test('a key with escapes is the key that it means', () => {
  expect(edited('[{"n\\u0061me":"a","b":2}]')).toBe('[{"b":2}]')
})

/** The same by parsing, for any nesting of the interesting words. */
function reference(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map(one => reference(one, path))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([key, one]): [string, unknown][] => {
    const full = path === '' ? key : `${path}.${key}`
    if (!paths.has(full)) return [[key, reference(one, full)]]
    const name = paths.get(full)
    return name === undefined || name in value ? [] : [[name, one]]
  })
  return Object.fromEntries(entries)
}

test('random values: the text means what parsing, editing and writing gives', () => {
  const random = new Random(7)
  const below = (limit: number): number => random.int(limit - 1)
  const keys = ['name', 'role', 'content', 'cache_control', 'reasoning', 'reasoning_content', 'a"b', 'ä\\']
  const make = (depth: number): unknown => {
    const kind = below(depth > 4 ? 4 : 7)
    if (kind === 0) return below(2) === 0 ? null : below(1000) / 8
    if (kind < 4) return ['text', '"name":', 'x\\', '{[', ''][below(5)]
    if (kind === 4) return Array.from({ length: below(4) }, () => make(depth + 1))
    return Object.fromEntries(Array.from({ length: below(5) }, () => [keys[below(keys.length)]!, make(depth + 1)]))
  }
  let changed = 0
  for (let round = 0; round < 3000; round++) {
    const value = [make(0), make(0)]
    const json = JSON.stringify(value, null, [0, 1, 2][below(3)])
    const after = edited(json)
    if (after !== undefined) changed++
    expect(JSON.parse(after ?? json)).toEqual(reference(value, ''))
  }
  expect(changed).toBeGreaterThan(500)
})
