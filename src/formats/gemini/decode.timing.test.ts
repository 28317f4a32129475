import { expect, test } from 'bun:test'
import type { ChatRequest } from '../../core/hub/chat.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { geminiGenerate } from './index.ts'

const bodyOf = (value: unknown): JsonBody => JsonBody.read(Buffer.from(JSON.stringify(value)))

const decode = (value: unknown): ChatRequest => geminiGenerate.decode(bodyOf(value))

test('eight thousand calls and their results take no more than their length', () => {
  const calls = Array.from({ length: 8000 }, (_, at) => ({ functionCall: { name: 'f', args: { at } } }))
  const results = calls.map((_, at) => ({ functionResponse: { name: 'f', response: { output: String(at) } } }))
  const startedMs = performance.now()
  const { messages } = decode({
    contents: [
      { role: 'model', parts: calls },
      { role: 'user', parts: results },
    ],
  })
  expect(performance.now() - startedMs).toBeLessThan(1000)
  expect(messages.at(-1)).toMatchObject({ parts: [{ callId: 'call_7999', parts: [{ text: '7999' }] }] })
})
