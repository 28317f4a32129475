import { expect, test } from 'bun:test'
import { DependentCache } from './dependent-cache.ts'

interface Made {
  readonly of: string
}

const cacheOf = (max: number) => new DependentCache<Made>(max, (name, { of }) => [name, of])

test('what was asked for last is not found any more once it is dropped, replaced, pushed out or cleared', () => {
  const cache = cacheOf(2)
  const ask = (name: string) => cache.get(name)?.of
  cache.set('a', { of: 'x' })
  expect([ask('a'), ask('a')]).toEqual(['x', 'x'])
  cache.drop('x')
  expect(ask('a')).toBeUndefined()
  cache.set('a', { of: 'x' })
  expect(ask('a')).toBe('x')
  cache.set('a', { of: 'y' })
  expect(ask('a')).toBe('y')
  cache.set('b', { of: 'y' })
  cache.set('c', { of: 'y' })
  expect(ask('a')).toBeUndefined()
  expect(ask('c')).toBe('y')
  cache.clear()
  expect(ask('c')).toBeUndefined()
})
