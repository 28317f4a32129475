/** Embeddings of token ids: what reaches upstreams that embed only texts, and what is refused. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const key = 'upstream-key-canary-1'
const cohere = { model: 'cohere/embed-v4.0', api_base: '{simulator}', api_key: key }
const openai = { model: 'openai/text-embedding-3-small', api_base: '{simulator}/v1', api_key: key }
const embedding = { mode: 'embedding' }
const config = JSON.stringify({
  model_list: [
    { model_name: 'texts', proxy_params: cohere, model_info: embedding },
    { model_name: 'gpt-4o-embedder', proxy_params: cohere, model_info: embedding },
    { model_name: 'ids', proxy_params: openai, model_info: embedding },
    { model_name: 'mixed', proxy_params: openai, model_info: embedding },
    { model_name: 'mixed', proxy_params: cohere, model_info: embedding },
    {
      model_name: 'failing',
      proxy_params: { ...openai, extra_headers: { 'x-simulate': 'status;code=500' } },
      model_info: embedding,
    },
  ],
  router_settings: { num_retries: 0, allowed_fails: 1000, cooldown_time: 0, fallbacks: [{ failing: ['texts'] }] },
})

/** Of cl100k_base; to make them here would read the vocabularies once more than the gateway does. */
const breadAndButter = [48_616, 323, 14_432]
const aCat = [64, 8415]
const aCatInO200k = [64, 9059]
const spaces128 = 58_040
const x = [87]

let gateway: Gateway
let apiKey: string
beforeAll(async () => {
  gateway = await startGateway({ config })
  apiKey = await gateway.key()
  // The first call of each waits until its vocabulary is read.
  await Promise.all(['texts', 'gpt-4o-embedder'].map(model => post('/v1/embeddings', { model, input: [1] })))
})
afterAll(() => gateway?.stop())

const post = (path: string, body: object, by = apiKey): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const sent = () => gateway.simulator.truth.last()!.body as Record<string, unknown>

test('one list of ids is one text', async () => {
  const response = await post('/v1/embeddings', { model: 'texts', input: breadAndButter })
  expect([response.status, ((await response.json()) as { data: unknown[] }).data.length]).toEqual([200, 1])
  expect(sent()).toMatchObject({ texts: ['bread and butter'] })
})

test("the model's public name chooses the vocabulary", async () => {
  expect((await post('/v1/embeddings', { model: 'gpt-4o-embedder', input: [aCatInO200k] })).status).toBe(200)
  expect(sent()).toMatchObject({ texts: ['a cat'] })
})

test('ids outside of the vocabulary are a 400 that names the input, and nothing is sent', async () => {
  const before = gateway.simulator.truth.last()?.n
  const response = await post('/v1/embeddings', { model: 'texts', input: [[1], [1, 100_256]] })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { param: 'input', message: expect.stringMatching(/`input\.1\.1`: 100256 .* send strings/) as string },
  })
  expect(gateway.simulator.truth.last()?.n).toBe(before)
})

test('a text above the bound is a 400, and the next call works', async () => {
  // The token of the most characters: 128 spaces.
  const input = Array.from({ length: 40_000 }, () => spaces128)
  const response = await post('/v1/embeddings', { model: 'texts', input })
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('send fewer') as string])
  expect((await post('/v1/embeddings', { model: 'texts', input: x })).status).toBe(200)
})

test('ids that have no text still reach the deployments that take ids', async () => {
  for (let round = 0; round < 8; round++) {
    expect((await post('/v1/embeddings', { model: 'mixed', input: [100_256] })).status).toBe(200)
    expect(sent()).toMatchObject({ input: [100_256] })
  }
})

test('a fallback that embeds only texts gets the text', async () => {
  expect((await post('/v1/embeddings', { model: 'failing', input: aCat })).status).toBe(200)
  expect(sent()).toMatchObject({ texts: ['a cat'] })
})

test('a preview shows the text', async () => {
  const request = { call_type: 'embedding', request_body: { model: 'texts', input: [aCat] } }
  const shown = (await (await post('/utils/transform_request', request, masterKey)).json()) as object
  expect(shown).toMatchObject({ raw_request_body: { texts: ['a cat'] } })
})

test('texts that begin with a bracket, and blanks before ids, are told apart', async () => {
  await post('/v1/embeddings', { model: 'texts', input: '[1,2]' })
  expect(sent()).toMatchObject({ texts: ['[1,2]'] })
  await fetch(`${gateway.url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: `{"model":"texts","input":[${' '.repeat(100)}${aCat.join(',')}]}`,
  })
  expect(sent()).toMatchObject({ texts: ['a cat'] })
})
