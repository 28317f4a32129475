import { expect, test } from 'bun:test'
import { freeBytes } from './free-bytes.ts'

test('large bytes that own their memory are freed; small ones and views stay', () => {
  const own = new Uint8Array(100_000)
  freeBytes(own)
  expect(own.length).toBe(0)
  const small = new Uint8Array(100)
  freeBytes(small)
  expect(small.length).toBe(100)
  const shared = new Uint8Array(100_000)
  const view = shared.subarray(1)
  freeBytes(view)
  expect([view.length, shared.length]).toEqual([99_999, 100_000])
  freeBytes(own)
})
