import { expect, test } from 'bun:test'
import { JsonBody } from '../../../lib/json/json-body.ts'
import { openaiChat } from './index.ts'

const hello = [{ role: 'user', content: 'hello' }]

const bodyOf = (text: string) => JsonBody.read(Buffer.from(text))

test('a small body is inspected in less than 20 us', () => {
  const body = bodyOf(JSON.stringify({ model: 'm', messages: hello, temperature: 0.5, max_tokens: 10, stream: true }))
  for (let at = 0; at < 2000; at++) openaiChat.inspect(body)
  const rounds = 5000
  let best = Infinity
  for (let attempt = 0; attempt < 5; attempt++) {
    const from = performance.now()
    for (let at = 0; at < rounds; at++) openaiChat.inspect(body)
    best = Math.min(best, ((performance.now() - from) / rounds) * 1000)
  }
  if (process.env.SHOW_COST) process.stdout.write(`inspect: ${best.toFixed(3)} us\n`)
  expect(best).toBeLessThan(20)
})
