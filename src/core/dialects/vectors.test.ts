import { expect, test } from 'bun:test'
import { readVector, vectorOf, writeVector } from './vectors.ts'

const floats = Float32Array.of(1, -0.5)
const base64 = Buffer.from(floats.buffer).toString('base64')

test('a vector is read from numbers or base64, and written as it was asked for', () => {
  expect([readVector([1, -0.5]), readVector(base64)]).toEqual([floats, floats])
  const longer = Buffer.concat([Buffer.from(floats.buffer), Buffer.of(1, 2, 3)]).toString('base64')
  expect(readVector(longer)).toEqual(floats)
  expect([writeVector(floats, 0, 'float'), writeVector(floats, 0, 'base64')]).toEqual([[1, -0.5], base64])
})

test('what is no vector, or holds what JSON has no word for, is refused', () => {
  for (const values of [[], ['x'], [1, null], 5, { 0: 1 }])
    expect(() => vectorOf(values)).toThrow(/an embedding that is no vector/)
  expect(() => writeVector(Float32Array.of(1, Infinity), 3, 'base64')).toThrow(/vector 3 holds a value/)
})
