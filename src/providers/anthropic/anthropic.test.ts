import { describe, expect, test } from 'bun:test'
import { chatRequest, targetOf } from '../../../tests/provider-rig.ts'
import type { Part } from '../../core/chat.ts'
import type { Target } from '../../core/deployment.ts'
import { anthropic } from './index.ts'

type Body = Record<string, unknown> & { messages: { role: string; content: unknown[] }[] }
const ask = (request: ReturnType<typeof chatRequest>, more: Partial<Target> = {}) => {
  const { body, dropped } = anthropic.chat!.request(request, targetOf(anthropic, more))
  return { body: body as Body, dropped }
}

test("thinking goes back to Claude only when Claude signed it, whatever format carried another's", () => {
  const thought = (signature?: string): Part => ({ type: 'reasoning', text: 'hm', ...(signature !== undefined && { signature }) })
  const foreign = ['gemini/call/000/CsYBAR', 'gemini/note/012/x', 'modelgate-signature-EqQB', 'modelgate-unsigned', '']
  const parts: Part[] = [...foreign.map(thought), thought(), thought('gemini-like/but+EqQB'), { type: 'text', text: 'yes' }]
  const { body } = ask(chatRequest({ messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }, { role: 'assistant', parts }] }))
  expect(body.messages[1]!.content).toEqual([
    { type: 'thinking', thinking: 'hm', signature: 'gemini-like/but+EqQB' },
    { type: 'text', text: 'yes' },
  ])
})

describe('API version 2026-10-21 refuses sampling, even at its defaults', () => {
  const request = chatRequest({ temperature: 1, topP: 0.5, topK: 3 })

  test.each<[string, Partial<Target>, boolean]>([
    ['by option', { options: { anthropic_version: '2026-10-21' } }, true],
    ['by header', { headers: { 'anthropic-version': '2027-01-01' } }, true],
    ['the older one', { options: { anthropic_version: '2023-06-01' } }, false],
    ["another host's", { options: { anthropic_version: 'vertex-2023-10-16' } }, false],
    ['none', {}, false],
  ])('%s', (_, more, fixed) => {
    const { body, dropped } = ask(request, more)
    expect(['temperature', 'top_p', 'top_k'].filter(name => name in body)).toEqual(fixed ? [] : ['temperature', 'top_k'])
    expect(dropped).toEqual(fixed ? ['temperature', 'top_p', 'top_k'] : ['top_p'])
  })
})

test("a prompt that is too long keeps the gateway's own code; other errors have Anthropic's type", () => {
  const fault = (status: number, type: string, message: string) => anthropic.fault!(status, { type: 'error', error: { type, message } })!
  const tooLong = fault(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum')
  expect(tooLong).toEqual({ kind: 'context-too-long', message: 'prompt is too long: 210000 tokens > 200000 maximum' })
  expect(fault(400, 'invalid_request_error', 'max_tokens: Field required')).toMatchObject({ kind: 'upstream-refused', code: 'invalid_request_error' })
  expect(fault(529, 'overloaded_error', 'Overloaded')).toMatchObject({ kind: 'upstream-overloaded', code: 'overloaded_error' })
})
