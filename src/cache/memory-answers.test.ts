import { expect, test } from 'bun:test'
import { MemoryAnswers } from './memory-answers.ts'

const answer = (endMs: number, bytes = 100) => ({
  content: { kind: 'keys' as const, keys: [] },
  storedAtMs: 0,
  endMs,
  costNanoUsd: null,
  bytes,
})

test('an answer is there until its end', () => {
  const clock = { nowMs: 0, epochMs: () => clock.nowMs, monotonicMs: () => clock.nowMs }
  const memory = new MemoryAnswers(clock)
  expect([memory.get('a'), memory.totals]).toEqual([undefined, { answers: 0, bytes: 0 }])
  memory.set('a', answer(1000), 5000)
  clock.nowMs = 999
  expect([memory.get('a')?.endMs, memory.totals]).toEqual([1000, { answers: 1, bytes: 612 }])
  clock.nowMs = 1000
  expect([memory.get('a'), memory.totals.answers]).toEqual([undefined, 0])
})

test('the answers used longest ago make room; another bound empties all', () => {
  const memory = new MemoryAnswers({ epochMs: () => 0, monotonicMs: () => 0 })
  for (const key of ['a', 'b', 'c']) {
    memory.set(key, answer(9), 1300)
    memory.get('a')
  }
  expect([memory.get('a')?.bytes, memory.get('b'), memory.get('c')?.bytes]).toEqual([100, undefined, 100])
  memory.delete(['a', 'x'])
  expect(memory.totals.answers).toBe(1)
  memory.set('d', answer(9), 9999)
  expect(memory.totals).toEqual({ answers: 1, bytes: 612 })
  memory.clear()
  expect(memory.totals).toEqual({ answers: 0, bytes: 0 })
})
