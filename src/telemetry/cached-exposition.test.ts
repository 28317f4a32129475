import { expect, test } from 'bun:test'
import { CachedExposition } from './cached-exposition.ts'

function shared(size: number) {
  let nowMs = 5
  let made = 0
  const text = new CachedExposition(() => `${++made} `.padEnd(size, 'x'), { monotonicMs: () => nowMs })
  return { text, made: () => made, later: (ms: number) => void (nowMs += ms) }
}

test('a small text is new for every reader', () => {
  const { text, made } = shared(10_000)
  for (let at = 1; at <= 100; at++) expect(String(text.bytes())).toStartWith(`${at} `)
  expect(made()).toBe(100)
})

test('a crowd of readers gets the same bytes, and costs a megabyte of new text a second', () => {
  const { text, made, later } = shared(100_000)
  const versions = new Set<Uint8Array>()
  for (let at = 0; at < 10_000; at++) versions.add(text.bytes())
  expect([versions.size, made()]).toEqual([11, 11])
  later(60_000)
  for (let at = 0; at < 600; at++, later(100)) versions.add(text.bytes())
  const bytes = [...versions].reduce((sum, one) => sum + one.length, 0)
  expect(bytes).toBeLessThan(64 * 1024 * 1024)
})

test('a text larger than the budget is paid for before it is made again', () => {
  const { text, made, later } = shared(5 * 1024 * 1024)
  text.bytes()
  for (let second = 0; second < 3; second++, later(1000)) text.bytes()
  expect(made()).toBe(1)
  later(2000)
  text.bytes()
  expect(made()).toBe(2)
})
