import { expect, test } from 'bun:test'
import { outputSchema } from './schema.ts'

test('objects are closed at every depth, and what bounds values is left out and named', () => {
  const { schema, lost } = outputSchema({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      // A property may have the name of a keyword.
      minimum: { type: 'number', minimum: 0, multipleOf: 0.5 },
      tags: {
        type: 'array',
        minItems: 3,
        uniqueItems: true,
        items: { type: 'object', properties: { text: { type: 'string', pattern: '^a' } } },
      },
      when: { type: 'string', format: 'date-time' },
      phone: { type: 'string', format: 'phone' },
      either: { oneOf: [{ type: 'null' }, { $ref: '#/$defs/open' }] },
      first: { type: 'array', minItems: 1, items: { enum: ['a', 'b'] } },
    },
    required: ['minimum'],
    additionalProperties: true,
    $defs: { open: { type: ['object', 'null'], additionalProperties: { type: 'string' } } },
  })
  expect(schema).toEqual({
    type: 'object',
    properties: {
      minimum: { type: 'number' },
      tags: {
        type: 'array',
        items: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
      },
      when: { type: 'string', format: 'date-time' },
      phone: { type: 'string' },
      either: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/open' }] },
      first: { type: 'array', minItems: 1, items: { enum: ['a', 'b'] } },
    },
    required: ['minimum'],
    additionalProperties: false,
    $defs: { open: { type: ['object', 'null'], additionalProperties: false } },
  })
  expect([...lost].sort()).toEqual([
    'additionalProperties',
    'format',
    'minItems',
    'minimum',
    'multipleOf',
    'pattern',
    'uniqueItems',
  ])
})

test('what is no schema is none, and the given one is not changed', () => {
  const given = { type: 'object', properties: { a: true, b: null } }
  const before = JSON.stringify(given)
  expect(outputSchema(given)).toEqual({
    schema: { type: 'object', properties: { a: {}, b: {} }, additionalProperties: false },
    lost: [],
  })
  expect(JSON.stringify(given)).toBe(before)
})
