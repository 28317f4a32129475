/**
 * What leaves the gateway is what the vendors' packages for npm describe; all vendors and languages: `npm run vendors`.
 */
import { beforeAll, describe, expect, test } from 'bun:test'
import { isAccepted } from './accepted.ts'
import { capture } from './capture.ts'
import type { Captured } from './capture.ts'
import { mistralDeviations } from './mistral-schema.ts'
import { npmVerdict, ownDeviations } from './referees.ts'
import { vendorRows } from './rows.ts'
import { typeDeviations } from './vendor-types.ts'

/** Those of OpenAI's dialect but Groq have no package on npm, or one of which chat is more than it knows. */
const providers = ['anthropic', 'gemini', 'vertex_ai', 'cohere', 'mistral', 'groq']

let captured: Captured
beforeAll(async () => {
  captured = await capture(
    vendorRows.filter(({ provider }) => providers.includes(provider)),
    ['chat', 'messages'],
  )
}, 120_000)

describe.each(providers)('%s', provider => {
  test('is sent what its own package describes, for every shape and from both lanes', () => {
    const sent = captured.sent.filter(one => one.provider === provider)
    expect(sent.length).toBeGreaterThan(150)
    for (const one of sent) {
      const verdict = npmVerdict(one)!
      const { model, dialect, shape } = one
      expect({ model, dialect, shape, deviations: ownDeviations(verdict, one) }).toEqual({
        model,
        dialect,
        shape,
        deviations: [],
      })
    }
  }, 60_000)
})

describe('the referees find', () => {
  const hello = [{ role: 'user', content: 'Hello!' }]
  test.each([
    ['OpenaiChatBody', { model: 'm', messages: hello, top_k: 3 }, '/top_k is not known'],
    ['OpenaiChatBody', { model: 'm', messages: [{ role: 'user' }] }, '/messages/0/content is missing'],
    ['OpenaiResponseBody', { model: 'm', input: 'x', reasoning: { effort: 7 } }, '/reasoning/effort must be'],
    [
      'GroqChatBody',
      { model: 'm', messages: [{ ...hello[0], thinking_blocks: [] }] },
      '/messages/0/thinking_blocks is',
    ],
    ['AnthropicMessage', { model: 'm', max_tokens: '5', messages: hello }, '/max_tokens must be number, is string'],
    ['CohereChat', { model: 'm', messages: hello, top_p: 1 }, '/top_p is not known'],
    ['GeminiContent', { contents: [{ parts: [{ txt: 'x' }] }] }, '/contents/0/parts/0/txt is not known'],
  ] as const)('in a %s', (type, body, deviation) => {
    expect(typeDeviations(type, body).join('\n')).toContain(deviation)
  })

  test('what Mistral refuses, and what it does not know', () => {
    const body = { model: 'm', messages: hello }
    expect(mistralDeviations(body)).toEqual([])
    expect(mistralDeviations({ ...body, temperature: 'warm' }).join()).toContain('/temperature')
    expect(mistralDeviations({ ...body, top_k: 3 }).join()).toContain('/top_k')
    expect(mistralDeviations({ ...body, messages: [{ role: 'alien' }] }).length).toBeGreaterThan(0)
  })
})

test('only what is listed is accepted', () => {
  expect(isAccepted('groq', '/stream_options is not known')).toBe(true)
  expect(isAccepted('openai', '/stream_options is not known')).toBe(false)
  expect(isAccepted('groq', '/messages/1/reasoning_content is not known')).toBe(false)
})
