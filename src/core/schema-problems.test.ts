import { expect, test } from 'bun:test'
import { z } from 'zod'
import { fieldsOf, problemsIn } from './schema-problems.ts'

const said = (schema: z.ZodType, value: unknown) =>
  problemsIn(schema.safeParse(value).error!.issues, value, 'body').map(
    ({ loc, msg, type }) => `${loc.slice(1).join('.')} ${msg} (${type})`,
  )

const schema = z.strictObject({
  name: z.string().min(1).max(3),
  size: z.number().int().min(1).max(100).optional(),
  kind: z.enum(['a', 'b']).optional(),
  one: z.literal('x').optional(),
  list: z.array(z.string()).min(1).max(2).optional(),
  map: z.record(z.string(), z.string()).optional(),
  on: z.boolean().optional(),
  own: z.string().regex(/^x/, 'must begin with x').optional(),
  form: z.email().optional(),
  either: z.union([z.literal('auto'), z.strictObject({ type: z.string() })]).optional(),
})

test('field, problem and remedy, without the words of the library', () => {
  expect(said(schema, {})).toEqual(['name is missing; send a string (missing)'])
  const one = (fields: object) => said(schema, { name: 'n', ...fields })
  expect(one({ name: 5 })).toEqual(['name must be a string; got 5 (invalid_type)'])
  expect(one({ name: null })).toEqual(['name must be a string; got null (invalid_type)'])
  expect(one({ name: '' })).toEqual(['name must be a string of at least 1 character; got "" (too_small)'])
  expect(one({ name: 'long' })).toEqual(['name must be a string of at most 3 characters; got "long" (too_big)'])
  expect(one({ name: 'x'.repeat(5000) })).toEqual([
    'name must be a string of at most 3 characters; got a string of 5000 characters (too_big)',
  ])
  expect(one({ size: 0 })).toEqual(['size must be a number of at least 1; got 0 (too_small)'])
  expect(one({ size: 1000 })).toEqual(['size must be a number of at most 100; got 1000 (too_big)'])
  expect(one({ size: 1.5 })).toEqual(['size must be an integer; got 1.5 (invalid_type)'])
  expect(one({ kind: 'c' })).toEqual(['kind must be one of "a", "b"; got "c" (invalid_value)'])
  expect(one({ one: { secret: 1 } })).toEqual(['one must be "x"; got an object (invalid_value)'])
  expect(one({ list: [] })).toEqual(['list must be an array of at least 1 entry; got an empty array (too_small)'])
  expect(one({ list: ['a', 5] })).toEqual(['list.1 must be a string; got 5 (invalid_type)'])
  expect(one({ list: {} })).toEqual(['list must be an array; got an object (invalid_type)'])
  expect(one({ map: [1, 2] })).toEqual(['map must be an object; got an array of 2 (invalid_type)'])
  expect(one({ on: 'yes' })).toEqual(['on must be true or false; got "yes" (invalid_type)'])
  expect(one({ own: 'y' })).toEqual(['own must begin with x (invalid_format)'])
  expect(one({ form: 'y' })).toEqual(['form has a form that is not taken; got "y" (invalid_format)'])
  expect(one({ either: {} })).toEqual(['either.type is missing; send a string (missing)'])
  expect(one({ other: 1 })).toEqual(['other is not a known field here; leave it out (unknown_field)'])
  expect(said(schema, [])).toEqual([' must be an object; got an empty array (invalid_type)'])
  expect(said(z.object({ size: z.coerce.number() }), { size: 'x' })[0]).not.toContain('NaN')
})

test('of a field that may be several things, all of them are named', () => {
  const either = z.object({
    content: z.union([z.string().min(1), z.array(z.string()).min(1)]),
    mode: z.union([z.literal('auto'), z.strictObject({ type: z.string() })]).optional(),
  })
  expect(said(either, {})).toEqual(['content is missing; send a string or an array (missing)'])
  expect(said(either, { content: 5 })).toEqual(['content must be a string or an array; got 5 (invalid_type)'])
  expect(said(either, { content: '' })).toEqual([
    'content must be a string of at least 1 character; got "" (too_small)',
  ])
  expect(said(either, { content: 'x', mode: 5 })).toEqual(['mode must be "auto" or an object; got 5 (invalid_type)'])
})

test('at most twenty', () => {
  expect(said(z.array(z.string()), Array(50).fill(1))).toHaveLength(20)
})

test('of an unknown field the one that was meant is named, where the fields are known', () => {
  const strict = z.strictObject({
    models: z.array(z.string()).optional(),
    inner: z.strictObject({ model: z.string() }).optional(),
  })
  const messages = (value: object) =>
    problemsIn(strict.safeParse(value).error!.issues, value, 'body', fieldsOf(strict)).map(one => one.msg)
  expect(messages({ model: ['x'] })).toEqual(['is not a known field here, did you mean `models`?'])
  expect(messages({ temperature: 1 })).toEqual(['is not a known field here; leave it out'])
  // Deeper fields have other names.
  expect(messages({ inner: { model: 'x', models: 1 } })).toEqual(['is not a known field here; leave it out'])
  expect(fieldsOf(strict.refine(() => true))).toEqual(['models', 'inner'])
  expect(fieldsOf(z.string())).toEqual([])
})
