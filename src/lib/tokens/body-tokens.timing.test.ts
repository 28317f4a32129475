import { expect, test } from 'bun:test'
import { bodyTokens } from './body-tokens.ts'
import { JsonBody } from '../json/json-body.ts'

const tokens = (body: object) => bodyTokens(JsonBody.read(Buffer.from(JSON.stringify(body))))

const words = 'The quick brown fox jumps over the lazy dog, and then it runs away through the forest.'

const wordTokens = tokens({ prompt: words })

test('text of a size that would be slow to measure is measured in part', () => {
  const body = JsonBody.read(Buffer.from(JSON.stringify({ prompt: words.repeat(2900) })))
  const startedMs = performance.now()
  const estimate = bodyTokens(body)
  expect(performance.now() - startedMs).toBeLessThan(500)
  expect(estimate / (2900 * wordTokens)).toBeWithin(0.85, 1.15)
})
