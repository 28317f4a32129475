import { expect, test } from 'bun:test'
import type { Call } from '../core/call.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { isLeftAlone } from './answer-cache.ts'

const left = (operation: string, fields?: object) =>
  isLeftAlone({ operation, body: fields && JsonBody.read(Buffer.from(JSON.stringify(fields))) } as unknown as Call)

test('text completions that repeat their prompt or score it are asked anew, each for itself', () => {
  expect(left('completions', { prompt: 'a' })).toBe(false)
  expect(left('completions', { prompt: 'a', echo: true })).toBe(true)
  expect(left('completions', { prompt: 'a', echo: false })).toBe(false)
  expect(left('completions', { prompt: 'a', logprobs: 0 })).toBe(true)
  expect(left('completions', { prompt: 'a', logprobs: null })).toBe(false)
  expect(left('completions', { prompt: 'a', background: true })).toBe(false)
})

test('answers that are made in the background are asked anew, and calls without a body', () => {
  expect(left('responses', { input: 'a', background: true })).toBe(true)
  expect(left('responses', { input: 'a', background: false })).toBe(false)
  expect(left('chat', { echo: true, logprobs: true })).toBe(false)
  expect(left('chat')).toBe(true)
})
