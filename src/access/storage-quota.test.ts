/** What a key may store: up to the quota, and not one more. */
import { expect, test } from 'bun:test'
import { masterKeyId } from '../core/caller.ts'
import { checkStorage } from './storage-quota.ts'

const kindOf = (...args: Parameters<typeof checkStorage>) => {
  try {
    return checkStorage(...args)
  } catch (error) {
    return (error as { kind?: string }).kind
  }
}

test('a key may reach its quota, and is refused above it', () => {
  const quota = { objectsMax: 2, bytesMax: 100 }
  expect(kindOf('k', { objects: 2, bytes: 100 }, quota)).toBeUndefined()
  expect(kindOf('k', { objects: 3, bytes: 0 }, quota)).toBe('quota-exceeded')
  expect(kindOf('k', { objects: 0, bytes: 101 }, quota)).toBe('quota-exceeded')
  expect(kindOf('k', { objects: 1, bytes: 1 }, quota, 100)).toBeUndefined()
  expect(kindOf('k', { objects: 1, bytes: 1 }, quota, 101)).toBe('too-large')
})

test('without a quota nothing is refused, and the master key has none', () => {
  const much = { objects: 1e9, bytes: 1e12 }
  expect(kindOf('k', much, { objectsMax: null, bytesMax: null }, 1e12)).toBeUndefined()
  expect(kindOf(masterKeyId, much, { objectsMax: 1, bytesMax: 1 }, 5)).toBeUndefined()
})
