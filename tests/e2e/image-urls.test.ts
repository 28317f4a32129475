/** Images by URL for upstreams that want bytes, in every dialect. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

const upstreams = ['ollama', 'gemini', 'bedrock', 'vertex_ai'] as const
const models = { ollama: 'llava', gemini: 'gemini-2.0-flash', bedrock: 'amazon.nova-pro-v1:0', vertex_ai: 'claude-x' }
const deployment = (name: (typeof upstreams)[number]) => `
  - model_name: ${name}
    proxy_params:
      model: ${name}/${models[name]}
      api_base: "{simulator}"
      api_key: canary
      ${name === 'bedrock' ? 'aws_region_name: us-east-1' : ''}
      ${name === 'vertex_ai' ? 'vertex_project: p' : ''}`

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({
    config: `model_list:${upstreams.map(deployment).join('')}
  - { model_name: mixed, proxy_params: { model: bedrock/amazon.nova-pro-v1:0, api_base: "{simulator}", api_key: canary,
      aws_region_name: us-east-1, weight: 99 } }
  - { model_name: mixed, proxy_params: { model: openai/sim-chat, api_base: "{simulator}/v1", api_key: canary } }
  - { model_name: mixed, proxy_params: { model: ollama/llava, api_base: "{simulator}", api_key: canary, weight: 99 } }
router_settings: { num_retries: 0 }`,
  })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())
afterEach(() => gateway.simulator.reset())

const url = 'https://images.example/cat.png'
const text = { type: 'text', text: 'what is it?' }
const user = (...content: object[]) => [{ role: 'user', content }]
/** The dialect's path and body, and where the body names the image. */
const calls: readonly (readonly [string, string, object])[] = [
  [
    'messages.1.content.1.image_url.url',
    '/v1/chat/completions',
    { messages: [{ role: 'system', content: 'short' }, ...user(text, { type: 'image_url', image_url: { url } })] },
  ],
  [
    'input.0.content.0.image_url',
    '/v1/responses',
    { input: user({ type: 'input_image', image_url: url }), store: false },
  ],
  [
    'messages.0.content.1.source.url',
    '/v1/messages',
    { max_tokens: 9, messages: user(text, { type: 'image', source: { type: 'url', url } }) },
  ],
]

describe('an image by URL for an upstream that wants bytes', () => {
  for (const model of upstreams)
    test.each(calls)(`${model}, %s on %s: refused by its name, and nothing is sent`, async (field, path, body) => {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'anthropic-version': '2023-06-01' },
        body: JSON.stringify({ model, ...body }),
      })
      const answer = await response.text()
      expect({ status: response.status, answer }).toMatchObject({
        status: 400,
        answer: expect.stringContaining(`${field}: ${model} does not fetch the image`),
      })
      expect(gateway.simulator.truth.entries).toEqual([])
    })

  test("ollama in Gemini's dialect: the same", async () => {
    const parts = [{ fileData: { fileUri: url, mimeType: 'image/png' } }]
    const response = await fetch(`${gateway.url}/v1beta/models/ollama:generateContent`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ contents: [{ role: 'user', parts }] }),
    })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('contents.0.parts.0.fileData.fileUri: ollama does not fetch the image')
    expect(gateway.simulator.truth.entries).toEqual([])
  })
})

test('deployments that cannot take it are passed over: another one of the name gets it, as the only attempt', async () => {
  for (const stream of [false, true])
    for (const [, path, body] of calls) {
      gateway.simulator.reset()
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'anthropic-version': '2023-06-01' },
        body: JSON.stringify({ model: 'mixed', stream, ...body }),
      })
      const answer = await response.text()
      expect({ path, stream, status: response.status, answer }).toMatchObject({ status: 200 })
      expect(gateway.simulator.truth.entries.length).toBe(1)
    }
  const rows = (await gateway.rows()).filter(({ model }) => model === 'mixed')
  expect(rows.map(({ attempts, upstream_model }) => [attempts, upstream_model])).toEqual(Array(6).fill([1, 'sim-chat']))
})
