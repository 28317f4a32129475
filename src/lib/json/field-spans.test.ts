import { expect, test } from 'bun:test'
import { FieldSpans } from './field-spans.ts'

const spanOf = (at: number) => ({ keyStart: at * 10, valueStart: at * 10 + 3, valueEnd: at * 10 + 9 })

/** The numbers around the one at which an index of the names begins. */
test.each([0, 1, 15, 16, 17, 18, 60])('of %d fields each is found at its place, and in its order', count => {
  const spans = new FieldSpans()
  for (let at = 0; at < count; at++) expect(spans.add(`field-${at}`, spanOf(at))).toBe(true)
  for (let at = 0; at < count; at++) {
    expect(spans.get(`field-${at}`)).toEqual(spanOf(at))
    expect(spans.has(`field-${at}`)).toBe(true)
    expect(spans.add(`field-${at}`, spanOf(99))).toBe(false)
  }
  expect(spans.has('field')).toBe(false)
  expect(spans.get(`field-${count}`)).toBeUndefined()
  expect(spans.names).toEqual(Array.from({ length: count }, (_, at) => `field-${at}`))
  expect(spans.entries()).toEqual(spans.names.map((name, at) => [name, spanOf(at)] as const))
})
