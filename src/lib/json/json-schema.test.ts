import { describe, expect, test } from 'bun:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import suite from '../../../tests/data/json-schema/draft2020-12.json' with { type: 'json' }
import { schemaFaults, unknownReference } from './json-schema-faults.ts'
import { schemaProblems } from './json-schema.ts'
import { isObject } from './json-values.ts'

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    age: { type: 'integer', minimum: 0 },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' }, maxItems: 2 },
  },
  required: ['name', 'age'],
  additionalProperties: false,
  $defs: { tag: { enum: ['a', 'b'] } },
}

describe('JSON Schema validation', () => {
  test('problems say where and what', () => {
    expect(schemaProblems(person, { name: 'Ada', age: 3, tags: ['a'] })).toEqual([])
    expect(schemaProblems(person, { name: '', age: 1.5, tags: ['a', 'c', 'b'], more: 1 })).toEqual([
      '`$.name` must have at least 1 characters',
      '`$.age` must be of type integer',
      '`$.tags` must have at most 2 items',
      '`$.tags[1]` must be one of ["a","b"]',
      '`$.more` is not a property of the schema',
    ])
    expect(schemaProblems(person, [])).toEqual(['`$` must be of type object'])
  })

  test('agrees with ajv on every keyword', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, multipleOfPrecision: 9 })
    const schemas: Record<string, unknown>[] = [
      person,
      { type: ['string', 'null'], maxLength: 2 },
      { const: { b: 1, a: [1] } },
      { enum: [1, '1', null] },
      { multipleOf: 0.1 },
      { exclusiveMinimum: 1, exclusiveMaximum: 3 },
      { prefixItems: [{ type: 'integer' }], items: { type: 'string' } },
      { type: 'array', uniqueItems: true, minItems: 1 },
      { contains: { type: 'integer' }, minContains: 2, maxContains: 2 },
      { patternProperties: { '^x': { type: 'integer' } }, additionalProperties: { type: 'string' } },
      { propertyNames: { maxLength: 2 }, minProperties: 1, maxProperties: 2 },
      { dependentRequired: { a: ['b'] } },
      { dependentSchemas: { a: { required: ['name'] } } },
      { anyOf: [{ type: 'integer' }, { minLength: 2 }] },
      { oneOf: [{ type: 'number' }, { type: 'integer' }, { type: 'string' }] },
      { not: { type: 'object' } },
      { if: { type: 'integer' }, then: { minimum: 2 }, else: { type: 'string' } },
      { allOf: [{ required: ['a'] }, { required: ['b'] }] },
      { pattern: '^[a-z]+$' },
      {
        $ref: '#/$defs/node',
        $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, v: { type: 'integer' } } } },
      },
      { properties: { a: false } },
      {},
    ]
    const values: unknown[] = [
      null,
      true,
      0,
      1,
      2,
      3,
      1.5,
      0.3,
      -1,
      '',
      'a',
      'abc',
      '1',
      'A1',
      [],
      [1],
      [1, 'a'],
      [1, 1],
      ['a', 'a'],
      [1, 2, 3],
      {},
      { a: 1 },
      { a: 1, b: 2 },
      { b: 1, a: [1] },
      { a: [1], b: 1 },
      { x1: 1 },
      { x1: 'a' },
      { y: 'a' },
      { y: 1 },
      { long: 1 },
      { name: 'Ada', age: 3 },
      { name: 'Ada', age: 3, tags: ['c'] },
      { next: { next: { v: 'x' } } },
      { next: { v: 1 } },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ]
    for (const schema of schemas) {
      const validate = ajv.compile(schema)
      for (const value of values) {
        const mine = schemaProblems(schema, value).length === 0
        if (mine !== validate(value))
          throw new Error(`${JSON.stringify(schema)} on ${JSON.stringify(value)}: ajv says ${!mine}`)
      }
    }
  })

  test('unresolvable references are found', () => {
    expect(unknownReference(person)).toBeUndefined()
    expect(unknownReference({ properties: { a: { $ref: '#/definitions/b' } } })).toBe('#/definitions/b')
    expect(unknownReference({ items: [{ $ref: 'https://example.com/schema' }] })).toBe('https://example.com/schema')
    expect(unknownReference({ $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': {} } })).toBeUndefined()
  })
})

/** Of https://github.com/json-schema-org/JSON-Schema-Test-Suite (MIT), commit 44401e0c: all required, six optional files. */
interface SuiteGroup {
  readonly description: string
  readonly schema: unknown
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

/** References to other documents and to schemas in a schema that have an address of their own. */
const saidMax: Readonly<Record<string, number>> = {
  anchor: 6,
  defs: 2,
  dynamicRef: 44,
  ref: 28,
  refRemote: 31,
  unevaluatedItems: 2,
  unevaluatedProperties: 2,
  vocabulary: 5,
  'optional/ecmascript-regex': 4,
  'optional/unknownKeyword': 3,
  'optional/refOfUnknownKeyword': 8,
}

/** How often a schema of the file is right, and how often it is said that it is not checked. */
function outcomesOf(groups: readonly SuiteGroup[]): { right: number; said: number; wrong: string[] } {
  let [right, said] = [0, 0]
  const wrong: string[] = []
  for (const { description, schema, tests } of groups) {
    const root = isObject(schema) ? schema : { allOf: [schema] }
    const isSaid = schemaFaults(root).length > 0
    for (const one of tests)
      if (isSaid) said++
      else if ((schemaProblems(root, one.data).length === 0) === one.valid) right++
      else wrong.push(`${description}: ${one.description}`)
  }
  return { right, said, wrong }
}

describe('the official suite, draft 2020-12', () => {
  const files = Object.entries(suite as unknown as Record<string, readonly SuiteGroup[]>)
  const outcomes = files.map(([name, groups]) => [name, outcomesOf(groups)] as const)
  test.each(outcomes)('%s: right, or said before that a keyword is not checked', (name, { said, wrong }) => {
    expect(wrong).toEqual([])
    expect(said).toBeLessThanOrEqual(saidMax[name] ?? 0)
  })

  test('of all 1,435, 1,300 are checked and right', () => {
    const sum = (of: 'right' | 'said') => outcomes.reduce((total, [, one]) => total + one[of], 0)
    expect([sum('right'), sum('said')]).toEqual([1300, 135])
  })
})

test('what is not checked is said, with its place: unknown keywords, patterns that may hang, schemas elsewhere', () => {
  const faults = (schema: Record<string, unknown>) => schemaFaults(schema).map(one => one.path.join('.'))
  expect(faults(person)).toEqual([])
  expect(faults({ properties: { a: { maxlength: 2 }, b: { 'x-order': 1, title: 'B', format: 'email' } } })).toEqual([
    'properties.a.maxlength',
  ])
  expect(faults({ items: { pattern: '^(?=.*[A-Z]).{8,}$' } })).toEqual(['items.pattern'])
  expect(faults({ patternProperties: { '(a)\\1': true } })).toEqual(['patternProperties.(a)\\1'])
  expect(faults({ allOf: [{ $ref: 'https://example.com/a' }, { $dynamicRef: '#a' }] })).toEqual([
    'allOf.0.$ref',
    'allOf.1.$dynamicRef',
  ])
  // Data is no schema.
  expect(faults({ enum: [{ maxlength: 2 }], const: { $ref: 'x' }, default: { pattern: '(?=a)' } })).toEqual([])
})

test('patterns are run on texts of any length, and on characters of two units', () => {
  const long = 'a'.repeat(100_000)
  expect(schemaProblems({ pattern: '^a+$' }, long)).toEqual([])
  expect(schemaProblems({ pattern: '^a+$' }, `${long}b`)).toHaveLength(1)
  expect(schemaProblems({ pattern: '^(a+)+$' }, `${long}b`)).toHaveLength(1)
  expect(schemaProblems({ pattern: '^.$' }, '💡')).toEqual([])
  expect(schemaProblems({ pattern: '^[^a]{2}$' }, '💡')).toHaveLength(1)
})

test('more patterns than can be compiled in time are said beforehand, and match nothing', () => {
  const schema = (count: number) => ({
    patternProperties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`^limit${at}$`, {}])),
  })
  expect(schemaFaults(schema(300))).toEqual([])
  expect(schemaProblems(schema(300), { a: 1 })).toEqual([])
  expect(schemaFaults(schema(501)).map(({ problem }) => problem)).toEqual([
    'makes more than 500 patterns in one schema, which are too much work to check',
  ])
  expect(schemaProblems(schema(501), { a: 1 })).toEqual(['`$` takes too much work to check'])
})
