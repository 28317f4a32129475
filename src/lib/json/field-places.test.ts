import { expect, test } from 'bun:test'
import { FieldPlaces } from './field-places.ts'

const placeOf = (at: number) => ({ keyStart: at * 10, valueStart: at * 10 + 3, valueEnd: at * 10 + 9 })

/** The numbers around the one at which an index of the names begins. */
test.each([0, 1, 15, 16, 17, 18, 60])('of %d fields each is found at its place, and in its order', count => {
  const places = new FieldPlaces()
  for (let at = 0; at < count; at++) expect(places.add(`field-${at}`, placeOf(at))).toBe(true)
  for (let at = 0; at < count; at++) {
    expect(places.get(`field-${at}`)).toEqual(placeOf(at))
    expect(places.has(`field-${at}`)).toBe(true)
    expect(places.add(`field-${at}`, placeOf(99))).toBe(false)
  }
  expect(places.has('field')).toBe(false)
  expect(places.get(`field-${count}`)).toBeUndefined()
  expect(places.names).toEqual(Array.from({ length: count }, (_, at) => `field-${at}`))
  expect(places.entries()).toEqual(places.names.map((name, at) => [name, placeOf(at)] as const))
})
