import { expect, test } from 'bun:test'
import { schemaFaults } from './json-schema-faults.ts'
import { schemaProblems } from './json-schema.ts'

const tooMuch = ['`$` takes too much work to check']

test('hostile schemas end, and do not let a value pass: circles, exponential choices, patterns', () => {
  const from = performance.now()
  expect(schemaProblems({ $ref: '#' }, 1)).toEqual(tooMuch)
  const nested = Array.from({ length: 40 }).reduce<Record<string, unknown>>(inner => ({ anyOf: [inner, inner] }), {
    type: 'string',
  })
  expect(schemaProblems(nested, 1)).toEqual(tooMuch)
  expect(schemaProblems({ pattern: '^(a+)+$' }, `${'a'.repeat(50)}!`)).toHaveLength(1)
  expect(schemaProblems({ pattern: 'a*a*b' }, 'a'.repeat(200))).toHaveLength(1)
  for (const pattern of ['a*a*a*a*b', `${'a?'.repeat(60)}${'a'.repeat(60)}b`, `${'(?:a|a)'.repeat(28)}b`])
    expect(schemaProblems({ pattern }, 'a'.repeat(200))).toHaveLength(1)
  expect(performance.now() - from).toBeLessThan(1000)
})

test('the faults of schemas that are deep, or have many, are found in bounded time', () => {
  const from = performance.now()
  let deep: Record<string, unknown> = { odd: 1 }
  for (let depth = 0; depth < 100_000; depth++) deep = { not: deep, odd: 1 }
  expect(schemaFaults(deep)).toHaveLength(100)
  let clean: Record<string, unknown> = {}
  for (let depth = 0; depth < 100_000; depth++) clean = { not: clean }
  expect(schemaFaults(clean)).toEqual([])
  expect(performance.now() - from).toBeLessThan(1000)
})

test('hostile patterns together end: many paths, each with a long fixed tail or a long group of choices', () => {
  const patterns = [
    `^${'(a|a)'.repeat(20)}a{150}b`,
    '^[^b]*[^b]*[^b]*\\p{L}{50}b',
    `^${'a?'.repeat(20)}a{190}b`,
    '^.*.*.*b',
    '(?:.?){400}x(?:.{0,900}y){3}',
  ]
  for (const pattern of patterns) {
    // Each pattern fails, the value matches: nothing but the bound on the work ends the check.
    const schema = { allOf: Array.from({ length: 50 }, () => ({ anyOf: [{ pattern }, true] })) }
    const from = performance.now()
    const problems = schemaProblems(schema, 'a'.repeat(200))
    expect(performance.now() - from).toBeLessThan(1000)
    expect([[], tooMuch]).toContainEqual(problems)
  }
  const from = performance.now()
  // Every state of this pattern is a new one.
  expect(schemaProblems({ pattern: '[ab]*a[ab]{900}c' }, 'abbabaab'.repeat(20_000))).toHaveLength(1)
  expect(performance.now() - from).toBeLessThan(2000)
})
