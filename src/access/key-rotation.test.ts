/** When the text of a key has to be replaced, and from when on it is refused. */
import { expect, test } from 'bun:test'
import { refusedFrom, rotateBy } from './key-rotation.ts'

test('the text has to be replaced an interval after it was made; without either there is no such moment', () => {
  expect(rotateBy({ rotationInterval: '2s', textSinceMs: 1000 })).toBe(3000)
  expect(rotateBy({ rotationInterval: null, textSinceMs: 1000 })).toBeNull()
  expect(rotateBy({ rotationInterval: '2s', textSinceMs: null })).toBeNull()
  expect(rotateBy({ rotationInterval: 'soon', textSinceMs: 1000 })).toBeNull()
})

test('it is refused after the grace of the earlier of its own interval and the age that the operator allows', () => {
  const from = (rotateByMs: number | null, maxAgeMs: number | null, textSinceMs: number | null = 1000) =>
    refusedFrom({ rotateByMs, textSinceMs }, { maxAgeMs, graceMs: 10 } as never)
  expect([from(3000, null), from(3000, 500), from(1200, 500), from(null, 500)]).toEqual([3010, 1510, 1210, 1510])
  expect([from(null, null), from(null, 500, null), from(3000, 500, null)]).toEqual([null, null, 3010])
})
