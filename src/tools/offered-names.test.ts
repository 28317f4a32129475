import { expect, test } from 'bun:test'
import { offeredName, prefixOf } from './offered-names.ts'

test('a short name stands behind its server', () => {
  expect(offeredName('github', 'search_issues')).toBe('github-search_issues')
  expect(offeredName('github', 'a-b')).toBe('github-a-b')
})

test('other letters and long names end in a hash, and stay apart', () => {
  const names = ['a.b', 'a_b', 'a/b', 'a b', 'ä', '😀', 'x'.repeat(100), `${'x'.repeat(100)}y`].map(tool =>
    offeredName('server', tool),
  )
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) {
    expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(prefixOf(name)).toBe('server')
  }
  expect(names[0]).toBe(offeredName('server', 'a.b'))
})

test('the longest prefix stays whole', () => {
  const prefix = 'p'.repeat(32)
  expect(prefixOf(offeredName(prefix, 'ü'.repeat(300)))).toBe(prefix)
  expect(prefixOf('none')).toBeUndefined()
  expect(prefixOf('-tool')).toBeUndefined()
})
