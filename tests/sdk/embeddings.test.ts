/** Embeddings by the clients that have them, against every provider of the simulator that makes some. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { GoogleGenAI } from '@google/genai'
import { OpenAIEmbeddings } from '@langchain/openai'
import { Mistral } from '@mistralai/mistralai'
import { encode } from 'gpt-tokenizer/encoding/cl100k_base'
import OpenAI from 'openai'
import { awsKeys } from '../../simulator/index.ts'
import type { TruthEntry } from '../../simulator/index.ts'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'
import type { LedgerRow } from '../../src/core/ledger/ledger-columns.ts'
import { until } from '../support/until.ts'

const key = { api_key: 'upstream-key-canary-1' }
const aws = {
  api_base: '{simulator}',
  aws_region_name: 'us-east-1',
  aws_access_key_id: awsKeys.id,
  aws_secret_access_key: awsKeys.secret,
}

interface Row {
  readonly name: string
  readonly params: Readonly<Record<string, string>>
  readonly path: RegExp
  /** Texts that it takes in one request. */
  readonly inputsMax?: number
  /** It is not told how long vectors are to be. */
  readonly fixedSize?: true
}

const rows: readonly Row[] = [
  {
    name: 'openai',
    params: { model: 'openai/text-embedding-3-small', api_base: '{simulator}/v1', ...key },
    path: /\/v1\/embeddings$/,
  },
  {
    name: 'azure',
    params: { model: 'azure/embedder', api_base: '{simulator}', api_version: '2024-10-21', ...key },
    path: /\/openai\/deployments\/embedder\/embeddings\?/,
  },
  {
    name: 'gemini',
    params: { model: 'gemini/gemini-embedding-001', api_base: '{simulator}', ...key },
    path: /:batchEmbedContents$/,
    inputsMax: 100,
  },
  {
    name: 'vertex_ai',
    params: { model: 'vertex_ai/text-embedding-005', api_base: '{simulator}', vertex_project: 'p', ...key },
    path: /text-embedding-005:predict$/,
    inputsMax: 250,
  },
  {
    name: 'cohere',
    params: { model: 'cohere/embed-v4.0', api_base: '{simulator}', ...key },
    path: /\/v2\/embed$/,
    inputsMax: 96,
  },
  {
    name: 'mistral',
    params: { model: 'mistral/codestral-embed', api_base: '{simulator}/mistral/v1', ...key },
    path: /\/mistral\/v1\/embeddings$/,
  },
  {
    name: 'ollama',
    params: { model: 'ollama/nomic-embed-text', api_base: '{simulator}' },
    path: /\/v1\/embeddings$|\/api\/embed$/,
  },
  {
    name: 'bedrock-titan',
    params: { model: 'bedrock/amazon.titan-embed-text-v2:0', ...aws },
    path: /titan[^/]+\/invoke$/,
    inputsMax: 1,
  },
  {
    name: 'bedrock-cohere',
    params: { model: 'bedrock/cohere.embed-english-v3', ...aws },
    path: /cohere\.embed[^/]+\/invoke$/,
    inputsMax: 96,
    fixedSize: true,
  },
  {
    name: 'voyage',
    params: { model: 'voyage/voyage-3.5', api_base: '{simulator}/v1', ...key },
    path: /\/v1\/embeddings$/,
  },
  {
    name: 'jina_ai',
    params: { model: 'jina_ai/jina-embeddings-v3', api_base: '{simulator}/v1', ...key },
    path: /\/v1\/embeddings$/,
  },
]

const config = JSON.stringify({
  model_list: rows.flatMap(({ name, params }) => [
    { model_name: name, proxy_params: { ...params, drop_params: true }, model_info: { mode: 'embedding' } },
    {
      model_name: `${name}-limited`,
      proxy_params: { ...params, extra_headers: { 'x-simulate': '429;retry-after=' } },
      model_info: { mode: 'embedding' },
    },
  ]),
  router_settings: { num_retries: 0, allowed_fails: 1000, cooldown_time: 0 },
})

/** Vectors of texts, and the input's tokens where the client is told. */
interface Embedded {
  readonly vectors: readonly (readonly number[])[]
  readonly inputTokens?: number
}

interface Embedder {
  readonly name: string
  embed(model: string, texts: string[], dimensions?: number): Promise<Embedded>
}

/** What the upstream would bill for these requests. */
const billed = (requests: readonly TruthEntry[]): number =>
  requests.reduce((sum, { billable }) => sum + billable.inputTokens, 0)

async function rowOf(requestId: string): Promise<LedgerRow> {
  let rows: LedgerRow[] = []
  const read = async () => (rows = await gateway.rows(`&request_id=${requestId}`)).length > 0
  await until(read, 'the row is there')
  return rows[0]!
}

let gateway: Gateway
let embedders: Embedder[]
const names = ['openai', '@google/genai', '@mistralai/mistralai'] as const

beforeAll(async () => {
  gateway = await startGateway({ config })
  const apiKey = await gateway.key()
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url } })
  const mistral = new Mistral({ serverURL: gateway.url, apiKey, retryConfig: { strategy: 'none' } })
  embedders = [
    {
      name: names[0],
      async embed(model, input, dimensions) {
        const { data, usage } = await openai.embeddings.create({ model, input, dimensions })
        return { vectors: data.map(one => one.embedding), inputTokens: usage.prompt_tokens }
      },
    },
    {
      name: names[1],
      async embed(model, contents, outputDimensionality) {
        const { embeddings } = await google.models.embedContent({ model, contents, config: { outputDimensionality } })
        return { vectors: embeddings!.map(one => one.values!) }
      },
    },
    {
      name: names[2],
      async embed(model, inputs) {
        const { data, usage } = await mistral.embeddings.create({ model, inputs })
        return { vectors: data.map(one => one.embedding!), inputTokens: usage.promptTokens }
      },
    },
  ]
})
afterAll(() => gateway?.stop())

for (const [at, name] of names.entries())
  describe(name, () => {
    for (const row of rows) {
      test(`${row.name}: a vector for each text, in its order`, async () => {
        const texts = ['bread and butter', 'a cat', 'bread and butter']
        const before = gateway.simulator.truth.entries.length
        const { vectors, inputTokens } = await embedders[at]!.embed(row.name, texts)
        const sent = gateway.simulator.truth.entries.slice(before)
        for (const { path, finished } of sent)
          expect([path, finished]).toEqual([expect.stringMatching(row.path), 'complete'])
        expect(vectors.length).toBe(texts.length)
        for (const vector of vectors) expect(Math.abs(Math.hypot(...vector) - 1)).toBeLessThan(0.001)
        expect([vectors[0], vectors[0]]).toEqual([vectors[2], expect.not.arrayContaining([...vectors[1]!]) as number[]])
        // Gemini's own service reports no usage for embeddings: the gateway says 0 rather than guess.
        if (inputTokens !== undefined && row.name !== 'gemini') expect(inputTokens).toBe(billed(sent))
      })

      // Mistral's client says it under a name that OpenAI's dialect does not have.
      test.skipIf(row.fixedSize === true || name === '@mistralai/mistralai')(
        `${row.name}: of the length asked for`,
        async () => {
          const { vectors } = await embedders[at]!.embed(row.name, ['bread'], 256)
          expect(vectors[0]!.length).toBe(256)
        },
      )

      test(`${row.name}: a refusal is thrown`, async () => {
        await expect(embedders[at]!.embed(`${row.name}-limited`, ['x'])).rejects.toThrow()
        expect(gateway.simulator.truth.last()).toMatchObject({
          status: 429,
          path: expect.stringMatching(row.path) as string,
        })
      })
    }
  })

describe('more texts than the upstream takes in a request', () => {
  const limited = rows.flatMap(({ name, inputsMax }) => (inputsMax === undefined ? [] : [{ name, inputsMax }]))

  test.each(limited)('$name: go in requests of $inputsMax', async ({ name, inputsMax }) => {
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: await gateway.key(), maxRetries: 0 })
    const input = Array.from({ length: 2 * inputsMax + 1 }, (_, at) => `text ${at}`)
    const before = gateway.simulator.truth.entries.length
    const { data, usage } = await openai.embeddings.create({ model: name, input })
    const sent = gateway.simulator.truth.entries.slice(before)
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(data.map(one => one.index)).toEqual(input.map((_, at) => at))
    if (name !== 'gemini') expect(usage.prompt_tokens).toBe(billed(sent))
    // In their order, also where one request ends and the next begins.
    for (const at of [inputsMax - 1, inputsMax, 2 * inputsMax]) {
      const alone = await openai.embeddings.create({ model: name, input: input[at]! })
      expect(data[at]!.embedding).toEqual(alone.data[0]!.embedding)
    }
  })

  test('one row of spending has the tokens of all requests', async () => {
    const apiKey = await gateway.key()
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
    const { response, data } = await openai.embeddings
      .create({ model: 'bedrock-titan', input: ['bread', 'butter', 'a cat'] })
      .withResponse()
    const row = await rowOf(response.headers.get('x-request-id')!)
    expect(row).toMatchObject({ input_tokens: data.usage.prompt_tokens })
  })

  test('a request that is refused in the middle ends the call, and those before it are billed', async () => {
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: await gateway.key(), maxRetries: 0 })
    gateway.simulator.script({ text: 'the second' }, { fault: '429;retry-after=', times: 1 })
    const input = ['the first', 'the second', 'the third']
    const error = await openai.embeddings.create({ model: 'bedrock-titan', input }).catch((one: unknown) => one)
    expect(error).toBeInstanceOf(OpenAI.RateLimitError)
    const row = await rowOf((error as InstanceType<typeof OpenAI.APIError>).requestID!)
    const sent = gateway.simulator.truth.entries.slice(-2)
    expect([row.status, row.input_tokens]).toEqual([429, billed(sent.slice(0, 1))])
  })
})

describe('token ids', () => {
  const texts = ['bread and butter', 'お誕生日おめでとう 🧈']
  const takesIds = new Set(['openai', 'azure'])

  for (const row of rows) {
    const input = texts.map(text => encode(text))

    test(`${row.name}: ${takesIds.has(row.name) ? 'arrive as they are' : 'arrive as the text they stand for'}`, async () => {
      const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: await gateway.key(), maxRetries: 0 })
      // As LangChain's and LlamaIndex's Python clients send them; vectors are asked for as base64 by default.
      const { data } = await openai.embeddings.create({ model: row.name, input })
      expect(data.map(one => Math.abs(Math.hypot(...one.embedding) - 1) < 0.001)).toEqual(texts.map(() => true))
      if (takesIds.has(row.name)) return expect(gateway.simulator.truth.last()!.body).toMatchObject({ input })
      const requests = row.inputsMax === 1 ? texts.length : 1
      const written = JSON.stringify(gateway.simulator.truth.entries.slice(-requests).map(({ body }) => body))
      for (const text of texts) expect(written).toContain(JSON.stringify(text))
      for (const ids of input) expect(written).not.toContain(JSON.stringify(ids).slice(1, -1))
    })

    test.skipIf(takesIds.has(row.name))(`${row.name}: the same vectors for LangChain's texts as for ids`, async () => {
      const apiKey = await gateway.key()
      const baseURL = `${gateway.url}/v1`
      const langchain = new OpenAIEmbeddings({ model: row.name, apiKey, maxRetries: 0, configuration: { baseURL } })
      const openai = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const { data } = await openai.embeddings.create({ model: row.name, input: input[0]! })
      expect(data.map(one => one.embedding)).toEqual(await langchain.embedDocuments(texts.slice(0, 1)))
    })
  }
})
