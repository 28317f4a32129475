/** What a client or the operator forbids goes out with the call, or the call does not go out. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

let gateway: Gateway
const bodies: Json[] = []
const answers: Record<string, object> = {
  responses: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  generateContent: { candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }] },
  completions: {
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
}
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    bodies.push((await request.json()) as Json)
    return Response.json(answers[new URL(request.url).pathname.split(/[/:]/).at(-1)!] ?? answers.completions)
  },
})

beforeAll(async () => {
  const entry = (name: string, model: string, more = '', base = '/v1') =>
    `  - { model_name: ${name}, litellm_params: { model: ${model}, api_key: k, api_base: "http://127.0.0.1:${upstream.port}${base}"${more} } }\n`
  const denies = ', extra_body: { provider: { data_collection: deny } }'
  gateway = await startGateway({
    config: `model_list:\n${entry('router', 'openrouter/a')}${entry('denying', 'openrouter/a', denies)}${entry(
      'vercel',
      'vercel_ai_gateway/a',
    )}${entry('openai', 'custom_openai/gpt')}${entry('claude', 'anthropic/claude-x', '', '')}${entry(
      'gemini',
      'gemini/gemini-x',
      '',
      '',
    )}${entry('trusting', 'custom_openai/gpt', ', allowed_fields: [provider]')}router_settings: { num_retries: 0 }\n`,
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream.stop(true)
})

const message = { role: 'user', content: 'x' }
const inputs: Record<string, object> = {
  '/v1/chat/completions': { messages: [message] },
  '/v1/messages': { messages: [message], max_tokens: 9 },
  '/v1/responses': { input: 'x' },
}
async function send(model: string, fields: object, path = '/v1/chat/completions') {
  bodies.length = 0
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}` },
    body: JSON.stringify({ model, ...inputs[path], ...fields }),
  })
  const { error } = (await response.json()) as { error?: { param?: string; message: string } }
  return { status: response.status, dropped: response.headers.get('x-proxy-dropped-params'), error }
}

const narrow = { data_collection: 'deny', zdr: true, only: ['a'], ignore: ['b'], max_price: { prompt: 1 } }

test('what restricts goes to the host that honours it, without what steers', async () => {
  const sent = await send('router', { provider: { ...narrow, sort: 'price', order: ['z'], allow_fallbacks: true } })
  expect(sent).toMatchObject({ status: 200, dropped: 'provider.sort,provider.order,provider.allow_fallbacks' })
  expect(bodies).toMatchObject([{ provider: narrow }])
  expect(Object.keys(bodies[0]!.provider as Json)).toEqual(Object.keys(narrow))
  const ordered = { order: ['z'], allow_fallbacks: false }
  expect((await send('router', { provider: ordered })).status).toBe(200)
  expect(bodies).toMatchObject([{ provider: ordered }])
  expect((await send('router', { provider: { zdr: true } }, '/v1/responses')).status).toBe(200)
  expect(bodies).toMatchObject([{ provider: { zdr: true } }])
  const gatewayOptions = { gateway: { zeroDataRetention: true, order: ['x'] }, openai: { a: 1 } }
  expect((await send('vercel', { providerOptions: gatewayOptions })).status).toBe(200)
  expect(bodies).toMatchObject([{ providerOptions: { gateway: { zeroDataRetention: true } } }])
  expect(JSON.stringify(bodies)).not.toMatch(/order|openai/)
  expect((await send('trusting', { provider: { zdr: true, sort: 'price' } })).status).toBe(200)
  expect(bodies).toMatchObject([{ provider: { zdr: true, sort: 'price' } }])
})

test('elsewhere a call with it is refused by its field, whatever may be dropped; nothing is sent', async () => {
  const restricting: readonly (readonly [models: readonly string[], fields: object, param: string])[] = [
    ...[...Object.entries(narrow), ['quantizations', ['fp8']], ['require_parameters', true]].map(
      ([name, value]) =>
        [['openai', 'claude', 'gemini'], { provider: { [name as string]: value } }, 'provider'] as const,
    ),
    [['openai', 'claude'], { providerOptions: { gateway: { disallowPromptTraining: true } } }, 'providerOptions'],
    [['openai', 'claude', 'gemini', 'router'], { allowed_model_region: 'eu' }, 'allowed_model_region'],
    [['claude', 'gemini'], { search_domain_filter: ['a.example'] }, 'search_domain_filter'],
    [['openai', 'claude'], { search_parameters: { mode: 'off' } }, 'search_parameters'],
    [['openai', 'claude'], { search_settings: { exclude_domains: ['a'] } }, 'search_settings'],
    [['gemini'], { web_search_options: { filters: { allowed_domains: ['a'] } } }, 'web_search_options.filters'],
  ]
  for (const [models, fields, param] of restricting)
    for (const model of models)
      for (const more of [{}, { drop_params: true }]) {
        const refused = await send(model, { ...fields, ...more })
        expect([model, refused.status, refused.error?.param]).toEqual([model, 422, param])
        expect(bodies).toEqual([])
      }
  for (const path of Object.keys(inputs))
    for (const model of ['openai', 'gemini']) {
      expect([path, (await send(model, { provider: { zdr: true } }, path)).status]).toEqual([path, 422])
      expect(bodies).toEqual([])
    }
  expect((await send('openai', { inference_geo: 'us' }, '/v1/messages')).error?.message).toContain('inference_geo')
  expect(bodies).toEqual([])
})

test('what restricts nothing is dropped as before', async () => {
  for (const fields of [
    { provider: { sort: 'price' } },
    { provider: { data_collection: 'allow', zdr: false, only: [], allow_fallbacks: true } },
    { search_parameters: { mode: 'auto' } },
  ])
    expect(await send('openai', fields)).toMatchObject({ status: 200, dropped: Object.keys(fields)[0]! })
})

test("the operator's own restriction is in every call, translated ones too, and no client widens it", async () => {
  for (const path of Object.keys(inputs)) {
    expect([path, (await send('denying', {}, path)).status]).toEqual([path, 200])
    expect([path, bodies[0]!.provider]).toEqual([path, { data_collection: 'deny' }])
  }
  expect((await send('denying', { provider: { only: ['a'] } })).status).toBe(200)
  expect(bodies[0]!.provider).toEqual({ only: ['a'], data_collection: 'deny' })
  expect((await send('denying', { provider: { data_collection: 'allow' } })).status).toBe(200)
  expect(bodies[0]!.provider).toEqual({ data_collection: 'deny' })
})
