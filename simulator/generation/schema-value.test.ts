import { expect, test } from 'bun:test'
import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { seededRandom } from './random.ts'
import { sampleValue } from './schema-value.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats(ajv)

const tree = {
  type: 'object',
  properties: { value: { type: 'integer' }, children: { type: 'array', items: { $ref: '#' } } },
  required: ['value', 'children'],
  additionalProperties: false,
}
const person = {
  $defs: { name: { type: 'string', minLength: 3, maxLength: 4 } },
  type: 'object',
  properties: {
    name: { $ref: '#/$defs/name' },
    age: { type: 'integer', minimum: 18, maximum: 19 },
    mail: { type: ['string', 'null'], format: 'email' },
    kind: { enum: ['a', 'b', 3] },
    fixed: { const: { x: [1] } },
    ratio: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.2 },
    step: { type: 'integer', multipleOf: 7, minimum: 8 },
    at: { type: 'string', format: 'date-time' },
    either: {
      anyOf: [{ type: 'null' }, { type: 'object', properties: { y: { type: 'boolean' } }, required: ['y'] }],
    },
    pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
    many: { type: 'array', items: { type: 'boolean' }, minItems: 3, maxItems: 3 },
    both: {
      allOf: [{ type: 'object', properties: { p: { type: 'string' } }, required: ['p'] }, { required: ['q'] }],
    },
  },
  required: ['name', 'age', 'ratio', 'kind', 'fixed', 'pair', 'many', 'both'],
}
const linked = {
  $defs: {
    node: {
      type: 'object',
      properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
      required: ['next'],
    },
  },
  $ref: '#/$defs/node',
}
const schemas = {
  tree,
  person,
  linked,
  'a number alone': { type: 'number', maximum: -5 },
  'no types': { properties: { a: {} } },
}

for (const [name, schema] of Object.entries(schemas))
  test(`values of ${name} are valid for a hundred seeds`, () => {
    const validate = ajv.compile(schema)
    for (let seed = 0; seed < 100; seed++) {
      validate(sampleValue(schema, seededRandom(seed)))
      expect(validate.errors ?? []).toEqual([])
    }
  })

test('the seed determines the value', () => {
  expect(sampleValue(person, seededRandom(4))).toEqual(sampleValue(person, seededRandom(4)))
  const values = new Set(
    Array.from({ length: 20 }, (_, seed) => JSON.stringify(sampleValue(person, seededRandom(seed)))),
  )
  expect(values.size).toBeGreaterThan(5)
})

test('recursive and malformed schemas terminate', () => {
  const endless = {
    allOf: [{ $ref: '#' }],
    type: 'object',
    properties: { a: { $ref: '#' } },
    required: ['a'],
  }
  expect(() => sampleValue(endless, seededRandom(1))).not.toThrow()
  expect(sampleValue({ $ref: '#/no/such' }, seededRandom(1))).toBeString()
  expect(JSON.stringify(sampleValue({ type: 'array', minItems: 1e9, items: {} }, seededRandom(1))).length).toBeLessThan(
    100_000,
  )
  const odd = sampleValue(
    { type: 'object', properties: JSON.parse('{"__proto__":{"type":"boolean"}}') },
    seededRandom(1),
  )
  expect(Object.keys(odd as object)).toEqual(['__proto__'])
})
