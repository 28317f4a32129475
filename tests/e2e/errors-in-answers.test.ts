/** An upstream that answers 200 with an error, for every operation whose answer is one document. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

interface Operation {
  readonly path: string
  readonly mode: string
  readonly provider?: string
  readonly body: object
}

const operations: Readonly<Record<string, Operation>> = {
  completions: { path: '/v1/completions', mode: 'completion', body: { prompt: 'hi' } },
  embeddings: { path: '/v1/embeddings', mode: 'embedding', body: { input: 'hi' } },
  moderations: { path: '/v1/moderations', mode: 'moderation', body: { input: 'hi' } },
  images: { path: '/v1/images/generations', mode: 'image_generation', body: { prompt: 'hi' } },
  reranking: { path: '/v1/rerank', mode: 'rerank', provider: 'cohere', body: { query: 'q', documents: ['a', 'b'] } },
}

const entry = ([name, { mode, provider = 'openai' }]: [string, Operation]) => {
  const base = provider === 'openai' ? '{simulator}/v1' : '{simulator}'
  return [
    `  - model_name: ${name}\n    proxy_params: { model: ${provider}/${name}, api_base: "${base}", api_key: k }`,
    `    model_info: { mode: ${mode} }\n`,
  ].join('\n')
}

let gateway: Gateway
beforeAll(async () => {
  const list = Object.entries(operations).map(entry).join('')
  const router = 'router_settings: { num_retries: 0, allowed_fails: 1000, cooldown_time: 0 }\n'
  gateway = await startGateway({ config: `model_list:\n${list}${router}` })
})
afterAll(() => gateway?.stop())

test.each(Object.entries(operations))('%s', async (name, { path, body }) => {
  const answered = async (answer: object) => {
    gateway.simulator.reset()
    gateway.simulator.script(request => request.model === name, { raw: { body: JSON.stringify(answer) } })
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify({ model: name, ...body }),
    })
    return [response.status, await response.text()] as const
  }
  const [limited, said] = await answered({ error: { code: 429, message: 'slower please' } })
  expect([limited, said.includes('slower please')]).toEqual([429, true])
  const [refused] = await answered({ error: { code: '400', message: 'maximum context length is 10 tokens' } })
  expect(refused).toBe(400)
  const [wrong] = await answered({ detail: [{ loc: ['body'], msg: 'the engine died' }] })
  expect(wrong).toBe(500)
  expect((await answered({ nothing: 1 }))[0]).toBe(502)
})
