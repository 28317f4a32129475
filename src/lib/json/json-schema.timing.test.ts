import { expect, test } from 'bun:test'
import { schemaProblems } from './json-schema.ts'

test('hostile schemas end: circular references, exponential choices, backtracking patterns', () => {
  const from = performance.now()
  expect(schemaProblems({ $ref: '#' }, 1)).toEqual([])
  const nested = Array.from({ length: 40 }).reduce<Record<string, unknown>>(inner => ({ anyOf: [inner, inner] }), {
    type: 'string',
  })
  schemaProblems(nested, 1)
  expect(schemaProblems({ pattern: '^(a+)+$' }, `${'a'.repeat(50)}!`)).toEqual([])
  expect(schemaProblems({ pattern: '(?=(a+))\\1b' }, 'a'.repeat(150))).toEqual([])
  expect(schemaProblems({ pattern: 'a*a*b' }, 'a'.repeat(200)).length).toBe(1)
  for (const pattern of ['a*a*a*a*b', `${'a?'.repeat(60)}${'a'.repeat(60)}`, `${'(?:a|a)'.repeat(28)}b`])
    expect(schemaProblems({ pattern }, 'a'.repeat(200))).toEqual([])
  expect(schemaProblems({ pattern: '[' }, 'x')).toEqual([])
  expect(performance.now() - from).toBeLessThan(1000)
})

test('hostile patterns together end: many paths, each with a long fixed tail or a long group of choices', () => {
  const patterns = [
    `^${'(a|a)'.repeat(20)}a{150}b`,
    '^[^b]*[^b]*[^b]*\\p{L}{50}b',
    `^${'a?'.repeat(20)}a{190}b`,
    '^.*.*.*b',
  ]
  for (const pattern of patterns) {
    // Each pattern fails, the value matches: nothing but the bound on the work ends the check.
    const schema = { allOf: Array.from({ length: 50 }, () => ({ anyOf: [{ pattern }, true] })) }
    const from = performance.now()
    expect(schemaProblems(schema, 'a'.repeat(200))).toEqual([])
    expect(performance.now() - from).toBeLessThan(400)
  }
  expect(schemaProblems({ pattern: '^[a-z]+@[a-z]+\\.[a-z]{2,}$' }, 'a'.repeat(100)).length).toBe(1)
})
