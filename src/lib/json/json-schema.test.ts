import { describe, expect, test } from 'bun:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { schemaProblems, unknownReference } from './json-schema.ts'

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
