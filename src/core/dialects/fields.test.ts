import { expect, test } from 'bun:test'
import { anyOf, anything, bodySchema, integer, number, oneOf, text } from './fields.ts'
import type { Field } from './fields.ts'

const schemaOf = (field: Partial<Field<never>>, options?: { nullable: boolean }) =>
  bodySchema([{ name: 'x', schema: text, ...field } as Field<never>], options)

test('a field that may be missing may be null, in whichever way its schema is written', () => {
  const nullable = (schema: Field['schema']) => (schemaOf({ schema }).properties as { x: unknown }).x
  expect(nullable(text)).toEqual({ type: ['string', 'null'] })
  expect(nullable(oneOf('a', 'b'))).toEqual({ type: ['string', 'null'], enum: ['a', 'b', null] })
  expect(nullable(anyOf(text, number(0, 1)))).toEqual({
    anyOf: [{ type: 'string' }, { type: 'number', minimum: 0, maximum: 1 }, { type: 'null' }],
  })
  expect(nullable(anything)).toEqual({})
})

test('a required field may not, nor one of a form', () => {
  expect(schemaOf({ required: true })).toEqual({
    type: 'object',
    properties: { x: { type: 'string' } },
    required: ['x'],
  })
  expect(schemaOf({}, { nullable: false })).toEqual({
    type: 'object',
    properties: { x: { type: 'string' } },
    required: [],
  })
  expect(schemaOf({ description: 'It is so.' })).toMatchObject({ properties: { x: { description: 'It is so.' } } })
})

test('an integer has the bounds that it is given', () => {
  expect([integer(1), integer(1, 5)]).toEqual([
    { type: 'integer', minimum: 1 },
    { type: 'integer', minimum: 1, maximum: 5 },
  ])
})
