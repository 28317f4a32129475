/**
 * Cohere's own client. The gateway has its reranking alone: there is no inbound `/v2/chat` and no `/v2/embed`, which
 * the last test shows. Chat and embeddings of Cohere's models are reached in the other dialects.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CohereClientV2, CohereError } from 'cohere-ai'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import { until } from '../support/until.ts'

const config = `
model_list:
  - { model_name: cohere, proxy_params: { model: cohere/rerank-v3.5, api_base: "{simulator}", api_key: upstream-key-canary-1 }, model_info: { mode: rerank } }
  - { model_name: jina, proxy_params: { model: jina_ai/jina-reranker-v2, api_base: "{simulator}/v1", api_key: upstream-key-canary-1 }, model_info: { mode: rerank } }
  - { model_name: voyage, proxy_params: { model: voyage/rerank-2.5, api_base: "{simulator}/voyage/v1", api_key: upstream-key-canary-1 }, model_info: { mode: rerank } }
  - { model_name: vllm, proxy_params: { model: hosted_vllm/bge-reranker, api_base: "{simulator}/v1" }, model_info: { mode: rerank } }
  - { model_name: limited, proxy_params: { model: cohere/rerank-v3.5, api_base: "{simulator}", api_key: k, extra_headers: { x-simulate: "429" } }, model_info: { mode: rerank } }
  - { model_name: slow, proxy_params: { model: cohere/rerank-v3.5, api_base: "{simulator}", api_key: k, extra_headers: { x-simulate: "slow" } }, model_info: { mode: rerank } }
router_settings: { num_retries: 0 }
`
const documents = ['the stock market fell today', 'how to feed a cat', 'cats and dogs are friends']

let gateway: Gateway
let client: CohereClientV2

const connect = (key: string) => new CohereClientV2({ token: key, environment: gateway.url, maxRetries: 0 })

beforeAll(async () => {
  gateway = await startGateway({ config })
  client = connect(await gateway.key())
})
afterAll(() => gateway?.stop())

async function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const paths: Record<string, string> = {
  cohere: '/v2/rerank',
  jina: '/v1/rerank',
  voyage: '/voyage/v1/rerank',
  vllm: '/v1/rerank',
}

for (const model of ['cohere', 'jina', 'voyage', 'vllm', 'local/simulated-rerank'])
  test(`${model}: documents by what they have to do with the query`, async () => {
    const { results, meta } = await client.rerank({ model, query: 'feed a cat', documents, topN: 2 })
    expect(results.length).toBe(2)
    expect(results[0]!.index).toBe(1)
    expect(results[0]!.relevanceScore).toBeGreaterThan(results[1]!.relevanceScore)
    expect(meta?.billedUnits).toBeDefined()
    if (paths[model]) expect(gateway.simulator.truth.last()).toMatchObject({ path: paths[model], finished: 'complete' })
  })

test('errors are of its class', async () => {
  const ask = (model: string, one = client) => failure(one.rerank({ model, query: 'q', documents }))
  for (const [error, status] of [
    [await ask('nope'), 404],
    [await ask('cohere', connect('sk-stranger')), 401],
    [await ask('limited'), 429],
    [await failure(client.rerank({ model: 'cohere', query: 'q', documents: [] })), 422],
  ] as const) {
    expect(error).toBeInstanceOf(CohereError)
    expect((error as CohereError).statusCode).toBe(status)
  }
})

test('a client that leaves ends the call at the upstream', async () => {
  const controller = new AbortController()
  const left = failure(client.rerank({ model: 'slow', query: 'q', documents }, { abortSignal: controller.signal }))
  await until(() => gateway.simulator.truth.last()?.fault === 'slow', 'the call arrived')
  controller.abort()
  await left
  const entry = gateway.simulator.truth.last()!
  await until(() => entry.finished === 'client-closed', 'the upstream was left')
})

test('chat and embed in this dialect are not offered, and say so', async () => {
  const asked = [
    failure(client.chat({ model: 'cohere', messages: [{ role: 'user', content: 'x' }] })),
    failure(client.embed({ model: 'cohere', texts: ['x'], inputType: 'search_query', embeddingTypes: ['float'] })),
  ]
  for (const error of await Promise.all(asked)) {
    expect(error).toBeInstanceOf(CohereError)
    expect((error as CohereError).statusCode).toBe(404)
  }
})
