import { expect, test } from 'bun:test'
import { chatRequest, targetOf } from '../../../tests/support/provider-rig.ts'
import { anthropic } from './index.ts'

/** platform.claude.com/docs/en/build-with-claude/token-counting: what only an answer needs would be refused. */
test('a call of the counter holds what is counted and nothing else', () => {
  const request = chatRequest({
    messages: [
      { role: 'system', parts: [{ type: 'text', text: 'be kind' }] },
      { role: 'user', parts: [{ type: 'text', text: 'hi' }] },
    ],
    maxOutputTokens: 4000,
    temperature: 0.5,
    seed: 3,
    stop: ['x'],
    stream: true,
    tools: [{ name: 'f' }],
    reasoning: { budgetTokens: 2048 },
  })
  const { head, body, dropped } = anthropic.countTokens!.request(request, targetOf(anthropic))
  expect(head.url).toBe('https://api.anthropic.com/v1/messages/count_tokens')
  expect(head.headers).toMatchObject({ 'x-api-key': 'canary', 'anthropic-version': '2023-06-01' })
  expect(Object.keys(body as object).sort()).toEqual(['messages', 'model', 'system', 'thinking', 'tools'])
  expect(dropped).toEqual([])
  expect(anthropic.speaks['anthropic-count-tokens']!(targetOf(anthropic), false).url).toBe(head.url)
})

test('its answer is a count, and free', () => {
  const result = (body: unknown) => anthropic.countTokens!.result(body, chatRequest())
  expect(result({ input_tokens: 14 })).toEqual({ inputTokens: 14, usage: { inputTokens: 0, outputTokens: 0 } })
  for (const body of [null, {}, { input_tokens: '14' }, { input_tokens: -1 }, { input_tokens: 1.5 }])
    expect(() => result(body)).toThrow('count')
})
