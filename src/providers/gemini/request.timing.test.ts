import { expect, test } from 'bun:test'
import { openapiSchema } from './schema.ts'

test('references that multiply are stopped early', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [
      `l${at}`,
      { type: 'object', properties: { a: { $ref: `#/$defs/l${at + 1}` }, b: { $ref: `#/$defs/l${at + 1}` } } },
    ]),
  )
  const started = performance.now()
  expect(() => openapiSchema({ $ref: '#/$defs/l0', $defs }, 'tools')).toThrow('too large for this model')
  expect(performance.now() - started).toBeLessThan(500)
})
