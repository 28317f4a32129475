/** Words of effort: as themselves where the model has them, else the nearest, which is named; from every dialect. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

/** [host/model, the word that it gets for `xhigh`, for `max`], by the rows of `rules/`. */
const models = [
  ['openai/gpt-5.6-sol', 'xhigh', 'max'],
  ['openai/gpt-5.4', 'xhigh', 'xhigh'],
  ['openai/gpt-5-mini', 'high', 'high'],
  ['anthropic/claude-opus-4-8', 'xhigh', 'max'],
  ['anthropic/claude-opus-4-6', 'high', 'max'],
  ['gemini/gemini-4-hydrogen', 'xhigh', 'xhigh'],
  ['gemini/gemini-3.1-pro-preview', 'high', 'high'],
  ['gemini/gemini-2.5-flash', 24_576, 24_576],
  ['xai/grok-4.6', 'xhigh', 'xhigh'],
  ['groq/openai/gpt-oss-120b', 'high', 'high'],
  ['mistral/mistral-small-latest', 'high', 'high'],
  ['moonshot/kimi-k3', 'high', 'max'],
] as const
const config = `
model_list:
${models
  .map(
    ([model]) =>
      `  - { model_name: ${model}, proxy_params: { model: ${model}, api_base: "{simulator}${model.startsWith('gemini') || model.startsWith('anthropic') ? '' : '/v1'}", api_key: k } }`,
  )
  .join('\n')}
router_settings: { num_retries: 0 }
`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
beforeEach(() => gateway.simulator.reset())
afterAll(() => gateway?.stop())

const user = { role: 'user', content: 'hi' }
/** How a client of each dialect asks. */
const dialects: Record<string, (model: string, word: string) => [path: string, body: Json]> = {
  chat: (model, word) => ['/v1/chat/completions', { model, messages: [user], reasoning_effort: word }],
  'chat of OpenRouter': (model, word) => [
    '/v1/chat/completions',
    { model, messages: [user], reasoning: { effort: word } },
  ],
  responses: (model, word) => ['/v1/responses', { model, input: 'hi', reasoning: { effort: word } }],
  messages: (model, word) => [
    '/v1/messages',
    {
      model,
      max_tokens: 4000,
      messages: [user],
      thinking: { type: 'adaptive' },
      output_config: { effort: word },
    },
  ],
  gemini: (model, word) => [
    `/v1beta/models/${model}:generateContent`,
    {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { thinkingConfig: { thinkingLevel: word.toUpperCase() } },
    },
  ],
}

/** The word, or the budget, that the upstream got. */
function effortOf(body: Json): unknown {
  const thinking = body.generationConfig?.thinkingConfig ?? {}
  const word = body.reasoning_effort ?? body.reasoning?.effort ?? body.output_config?.effort ?? thinking.thinkingLevel
  return word?.toLowerCase() ?? thinking.thinkingBudget
}

for (const dialect of Object.keys(dialects))
  test.each(models)(`${dialect} to %s`, async (model, xhigh, max) => {
    for (const [word, expected] of [
      ['xhigh', xhigh],
      ['max', max],
    ] as const) {
      const [path, body] = dialects[dialect]!(model, word)
      const response = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect([word, response.status, response.status === 200 ? '' : await response.text()]).toEqual([word, 200, ''])
      const dropped = response.headers.get('x-proxy-dropped-params')?.split(',') ?? []
      const named = dropped.filter(name => /effort|thinkingLevel/.test(name))
      expect([word, effortOf(gateway.simulator.truth.last()!.body as Json)]).toEqual([word, expected])
      expect([word, named.length > 0]).toEqual([word, expected !== word])
    }
  })
