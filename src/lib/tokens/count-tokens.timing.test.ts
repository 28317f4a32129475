import { expect, test } from 'bun:test'
import { TextCounter } from './count-tokens.ts'

const count = (...texts: string[]): number => {
  const counter = new TextCounter()
  for (const text of texts) counter.add(text)
  return counter.tokens
}

test('texts: about right for prose, and for texts of any length in bounded time', () => {
  const sentence = 'The quick brown fox jumps over the lazy dog, and then it runs away through the forest. '
  expect(count()).toBe(0)
  expect(count(sentence)).toBeWithin(14, 28)
  const one = count(sentence)
  const startedMs = performance.now()
  const many = count(...Array<string>(40).fill(sentence.repeat(10_000)))
  expect(performance.now() - startedMs).toBeLessThan(1000)
  expect(many / (one * 400_000)).toBeWithin(0.8, 1.2)
})
