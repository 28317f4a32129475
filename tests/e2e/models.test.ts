/** What the lists of models say of limits, abilities and prices, to each kind of client. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { tmpdir } from 'node:os'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const config = `
model_list:
  - { model_name: four, proxy_params: { model: openai/gpt-4o, api_key: k } }
  - { model_name: changed, proxy_params: { model: openai/o3, api_key: k }, model_info: { supports_vision: false, max_output_tokens: 99 } }
  - { model_name: long, proxy_params: { model: gemini/gemini-2.5-pro, api_key: k } }
  - { model_name: own, proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1", output_cost_per_image: 0.04 }, model_info: { mode: image_generation } }
  - { model_name: dark, proxy_params: { model: custom_openai/y, api_base: "http://127.0.0.1:1/v1" } }
general_settings: { disable_local_models: true }
`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key({ models: ['four', 'changed', 'long', 'own', 'dark'] })
})
afterAll(() => gateway?.stop())

type Json = Record<string, unknown>
const get = async (path: string, headers: Record<string, string> = { authorization: `Bearer ${key}` }) => {
  const response = await fetch(`${gateway.url}${path}`, { headers })
  return { status: response.status, body: (await response.json()) as Json & { data: Json[]; models: Json[] } }
}

test('model info: limits, abilities, prices and who says so', async () => {
  const { data } = (await get('/v1/model/info')).body
  const infos = Object.fromEntries(data.map(one => [one.model_name, one.model_info as Json]))
  expect(infos.four).toMatchObject({
    mode: 'chat',
    max_input_tokens: 128_000,
    max_output_tokens: 16_384,
    supports_vision: true,
    supports_reasoning: false,
    supports_web_search: null,
    input_cost_per_token: 2.5e-6,
    output_cost_per_token: 1e-5,
    cache_read_input_token_cost: 1.25e-6,
    input_cost_per_token_batches: 1.25e-6,
    price_source: 'catalogue',
  })
  // Since a day in 2025 it costs a fifth of what it did.
  expect(infos.changed).toMatchObject({
    supports_vision: false,
    supports_reasoning: true,
    max_output_tokens: 99,
    input_cost_per_token: 2e-6,
  })
  expect(infos.long).toMatchObject({ input_cost_per_token: 1.25e-6, input_cost_per_token_above_200k_tokens: 2.5e-6 })
  expect(infos.own).toMatchObject({
    mode: 'image_generation',
    output_cost_per_image: 0.04,
    input_cost_per_token: null,
    price_source: 'config',
  })
  expect(infos.dark).toMatchObject({
    max_input_tokens: null,
    supports_vision: null,
    input_cost_per_token: null,
    price_source: 'unknown',
  })
})

test("the list carries the same, in the shape that OpenAI's and Anthropic's clients read", async () => {
  const { data } = (await get('/v1/models')).body
  expect(data[0]).toMatchObject({
    id: 'four',
    object: 'model',
    type: 'model',
    context_length: 128_000,
    mode: 'chat',
    supported_modalities: ['text', 'image'],
    input_cost_per_token: 2.5e-6,
    price_source: 'catalogue',
  })
  expect((await get('/v1/models/four')).body).toMatchObject({
    id: 'four',
    owned_by: 'openai',
    supports_function_calling: true,
  })
})

test("Google's client gets its own list under /v1/models, everyone else does not", async () => {
  const google: Record<string, string>[] = [
    { 'x-goog-api-key': key },
    { authorization: `Bearer ${key}`, 'x-goog-api-client': 'google-genai-sdk/3.1.0' },
  ]
  for (const headers of google) {
    const { body } = await get('/v1/models?pageSize=2', headers)
    expect(body).toMatchObject({
      models: [{ name: 'models/four', inputTokenLimit: 128_000, outputTokenLimit: 16_384 }, { name: 'models/changed' }],
      nextPageToken: '2',
    })
    expect((await get('/v1/models/four', headers)).body).toMatchObject({ name: 'models/four' })
    expect(await get('/v1/models/nope', headers)).toMatchObject({
      status: 404,
      body: { error: { code: 404, status: 'NOT_FOUND' } },
    })
    expect((await get('/v1/models?pageSize=none', headers)).status).toBe(400)
  }
  expect((await get('/v1/models', { 'x-api-key': key })).body.data[0]).toMatchObject({ id: 'four' })
})

test('switches of the query as Python writes them; what is no switch is 422 with its name', async () => {
  const fallbacks = (await get('/v1/models?include_metadata=True&return_wildcard_routes=FALSE')).body.data[0]
  expect(fallbacks).toMatchObject({ id: 'four', metadata: { fallbacks: [] } })
  const wrong = await get('/v1/models?return_wildcard_routes=maybe')
  expect(wrong).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ['query', 'return_wildcard_routes'], msg: 'must be true or false' }] },
  })
  const count = (query: string) =>
    fetch(`${gateway.url}/utils/token_counter?call_endpoint=${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: '{"model":"four","prompt":"hello"}',
    })
  expect([(await count('False')).status, (await count('maybe')).status]).toEqual([200, 422])
})

test('the documentation finds its parts, however its address is written', async () => {
  for (const path of ['/', '/docs', '/docs/']) {
    const page = await fetch(`${gateway.url}${path}`)
    const named = [...(await page.text()).matchAll(/(?:href|src)="([^"]+)"/g)].map(
      found => new URL(found[1]!, page.url).href,
    )
    // The way to the pages for people, which this gateway does not serve.
    const others = [`${gateway.url}/ui/icon.svg`, `${gateway.url}/ui/`]
    expect(named).toEqual(expect.arrayContaining(others))
    const parts = named.filter(one => !others.includes(one))
    expect(parts.length).toBe(5)
    for (const part of parts)
      expect([part, (await fetch(part, { method: 'HEAD' })).status, (await fetch(part)).status]).toEqual([
        part,
        200,
        200,
      ])
  }
})

test('`/` leads programs to the documentation, and browsers to the pages where there are any', async () => {
  const led = async ({ url }: { readonly url: string }, accept?: string) => {
    const answer = await fetch(`${url}/`, { redirect: 'manual', headers: accept === undefined ? {} : { accept } })
    return [answer.status, answer.headers.get('location'), answer.headers.get('vary')]
  }
  const browser = 'text/html,application/xhtml+xml,*/*;q=0.8'
  const withPages = await startGateway({ environment: { MODELGATE_WEB_DIRECTORY: tmpdir() } })
  try {
    expect(await led(withPages, browser)).toEqual([302, 'ui/', expect.stringMatching(/accept/i)])
    for (const accept of ['*/*', 'application/json', undefined])
      expect(await led(withPages, accept)).toEqual([302, 'docs', expect.stringMatching(/accept/i)])
  } finally {
    await withPages.stop()
  }
  expect(await led(gateway, browser)).toEqual([302, 'docs', expect.stringMatching(/accept/i)])
})
