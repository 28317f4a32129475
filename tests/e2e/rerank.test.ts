/**
 * Reranking through a real gateway: forwarded to Cohere's and Jina's words, translated between them, and the built-in
 * one.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Server } from 'bun'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Answer {
  id?: string
  model?: string
  message?: string
  results: { index: number; relevance_score: number; document?: unknown }[]
  usage?: { total_tokens: number }
  meta?: { billed_units: object }
}

const seen: { path: string; body: Record<string, unknown> }[] = []
let upstream: Server<undefined>
let gateway: Gateway
let key: string

/** `/v2/rerank` as Cohere documents it, `/v1/rerank` as Jina does. */
async function answer(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname
  const body = (await request.json()) as Record<string, unknown>
  seen.push({ path, body })
  if (body.query === 'refuse') return Response.json({ id: 'x', message: 'no such thing' }, { status: 400 })
  const results = [
    { index: 1, relevance_score: 0.9 },
    { index: 0, relevance_score: 0.2 },
  ]
  if (path === '/v2/rerank')
    return Response.json({
      id: 'r',
      results,
      meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } },
    })
  return Response.json({
    model: 'up',
    object: 'list',
    usage: { total_tokens: 15 },
    results: results.map(one => ({ ...one, document: { text: 'd' } })),
  })
}

beforeAll(async () => {
  upstream = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  const base = upstream.url.href.replace(/\/$/, '')
  gateway = await startGateway({
    config: `
model_list:
  - model_name: cohere-model
    proxy_params: { model: cohere/rerank-up, api_base: "${base}", api_key: upstream-key-canary-1 }
    model_info: { mode: rerank }
  - model_name: jina-model
    proxy_params: { model: jina_ai/jina-up, api_base: "${base}/v1", api_key: upstream-key-canary-1, input_cost_per_token: 0.000001, output_cost_per_token: 0 }
    model_info: { mode: rerank }
  - model_name: chat-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: chat }
router_settings: { num_retries: 0 }
`,
  })
  key = await gateway.key()
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.stop(true)
})

const post = (path: string, body: object) =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ query: 'q', documents: ['a', 'b'], ...body }),
  })
const ask = async (path: string, body: object) => {
  const response = await post(path, body)
  return { status: response.status, response, answer: (await response.json()) as Answer }
}

for (const path of ['/rerank', '/v1/rerank', '/v2/rerank'])
  for (const model of ['cohere-model', 'jina-model', 'local/simulated-rerank'])
    test(`${path} with ${model}`, async () => {
      const documents = ['bread and butter', { text: 'a query about cats' }]
      const { status, answer: found, response } = await ask(path, { model, query: 'cats', documents, top_n: 2 })
      expect(status).toBe(200)
      expect(found.results.map(one => one.index)).toEqual([1, 0])
      expect(found.results[0]!.relevance_score).toBeGreaterThan(found.results[1]!.relevance_score)
      if (path === '/v2/rerank') expect(found.meta?.billed_units).toBeDefined()
      else if (model !== 'cohere-model') expect(found.usage?.total_tokens).toBeGreaterThan(0)
      if (found.model !== undefined) expect(found.model).toBe(model)
      const rows = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
      expect(rows).toMatchObject([{ operation: 'rerank', model, outcome: 'success', usage_source: 'upstream' }])
    })

test('each upstream gets its own words', async () => {
  const documents = [
    { title: 'A', body: 'x' },
    { title: 'B', body: 'y' },
  ]
  const wish = { documents, rank_fields: ['title'], max_tokens_per_doc: 100 }
  await ask('/v2/rerank', { model: 'cohere-model', ...wish })
  expect(seen.at(-1)).toEqual({
    path: '/v2/rerank',
    body: { model: 'rerank-up', query: 'q', documents: ['A', 'B'], max_tokens_per_doc: 100 },
  })
  const { response } = await ask('/v2/rerank', { model: 'jina-model', ...wish, priority: 1 })
  expect(seen.at(-1)).toEqual({
    path: '/v1/rerank',
    body: { model: 'jina-up', query: 'q', documents: ['A', 'B'], return_documents: false },
  })
  expect(response.headers.get('x-proxy-dropped-params')!.split(',').sort()).toEqual(['max_tokens_per_doc', 'priority'])
})

test('documents come back to those who ask', async () => {
  const documents = ['a', { title: 'B' }]
  for (const path of ['/v1/rerank', '/v2/rerank']) {
    const { answer: found } = await ask(path, { model: 'local/simulated-rerank', documents, return_documents: true })
    const byIndex = new Map(found.results.map(one => [one.index, one.document]))
    expect([byIndex.get(0), byIndex.get(1)]).toEqual([{ text: 'a' }, { title: 'B' }])
    expect(
      (await ask(path, { model: 'local/simulated-rerank', documents })).answer.results[0]!.document,
    ).toBeUndefined()
  }
})

test('the built-in one is an order, not a constant', async () => {
  const documents = ['the stock market fell today', 'how to feed a cat', 'cats and dogs']
  const order = async (query: string) =>
    (await ask('/v1/rerank', { model: 'local/simulated-rerank', query, documents, top_n: 1 })).answer.results
  expect((await order('stock market'))[0]!.index).toBe(0)
  expect((await order('feed a cat'))[0]!.index).toBe(1)
  expect((await order('cats and dogs')).length).toBe(1)
})

test('errors name what is wrong', async () => {
  const failures: [string, object, number, string][] = [
    ['/v1/rerank', { model: 'jina-model', documents: [] }, 422, 'documents'],
    ['/v2/rerank', { model: 'cohere-model', query: '' }, 422, 'query'],
    ['/v2/rerank', { model: 'cohere-model', query: 'refuse' }, 400, 'no such thing'],
    ['/v1/rerank', { model: 'nope' }, 404, 'nope'],
    ['/v1/rerank', { model: 'chat-model' }, 400, 'chat-model'],
    ['/v1/rerank', {}, 422, 'model'],
  ]
  for (const [path, body, status, word] of failures) {
    const { status: got, answer: found } = await ask(path, body)
    expect([path, word, got]).toEqual([path, word, status])
    expect(found.message).toContain(word)
  }
  const noKey = await fetch(`${gateway.url}/v2/rerank`, { method: 'POST', body: '{}' })
  expect([noKey.status, ((await noKey.json()) as Answer).message]).toEqual([401, expect.stringContaining('API key')])
})
