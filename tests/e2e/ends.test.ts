/** Upstreams that say their last word and keep the connection open, or say nothing that could be read. All lanes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

let gateway: Gateway
let key: string

const model = (name: string, target: string, base: string, more = '') => `  - model_name: ${name}/*
    proxy_params: { model: "${target}/*", api_base: "${base}", api_key: k, stream_timeout: 9, idle_timeout: 15 }${more}
`
const config = standardConfig.replace(
  'router_settings',
  model('openai', 'custom_openai', '{simulator}/v1') +
    model('claude', 'anthropic', '{simulator}') +
    model('command', 'cohere', '{simulator}') +
    model('llama', 'ollama', '{simulator}') +
    model('gemini', 'gemini', '{simulator}') +
    model('plain', 'custom_openai', '{simulator}/v1', '\n    model_info: { structured_output: none }') +
    'router_settings',
)

beforeAll(async () => {
  gateway = await startGateway({ config })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

const post = (path: string, body: object) =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'x-api-key': key },
    body: JSON.stringify({ stream: true, ...body }),
  })
const messages = [{ role: 'user', content: 'say: all of it' }]
const chat = (name: string, fault: string) =>
  [
    '/v1/chat/completions',
    { model: `${name}/sim#${fault}`, messages, stream_options: { include_usage: true } },
  ] as const
const rowOf = async (response: Response) =>
  (await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`))[0]
const sockets = async () =>
  ((await (await fetch(new URL('/__sockets', gateway.simulator.url))).json()) as { open: number }).open

const schema = { type: 'object', additionalProperties: false, required: ['a'], properties: { a: { type: 'integer' } } }
const lanes: [string, string, object, string][] = [
  ['chat, forwarded', ...chat('openai', 'hang-end'), '[DONE]'],
  ['chat by Messages', ...chat('claude', 'hang-end'), '[DONE]'],
  ['chat by Cohere', ...chat('command', 'hang-end'), '[DONE]'],
  ['chat by Ollama', ...chat('llama', 'hang-end'), '[DONE]'],
  ['Messages, forwarded', '/v1/messages', { model: 'claude/sim#hang-end', max_tokens: 50, messages }, 'message_stop'],
  ['Messages by chat', '/v1/messages', { model: 'openai/sim#hang-end', max_tokens: 50, messages }, 'message_stop'],
  [
    'Responses by chat',
    '/v1/responses',
    { model: 'openai/sim#hang-end', input: 'say: all of it' },
    'response.completed',
  ],
  [
    'a completion of several prompts',
    '/v1/completions',
    { model: 'claude/sim#hang-end', max_tokens: 50, prompt: ['say: one', 'say: two', 'say: all of it'] },
    '[DONE]',
  ],
]

describe('an upstream that is done, but keeps its connection open', () => {
  for (const [name, path, body, mark] of lanes)
    test(`${name}: the client's body ends at once, the call is a success with its usage`, async () => {
      const response = await post(path, body)
      const text = await response.text()
      expect([response.status, text.includes(mark), /"error":\s*\{/.test(text)]).toEqual([200, true, false])
      expect(await rowOf(response)).toMatchObject({ outcome: 'success', status: 200, usage_source: 'upstream' })
    })

  test('is left after a second', async () => {
    await (await post(...chat('openai', 'hang-end'))).text()
    expect(await sockets()).toBeGreaterThan(0)
    await until(async () => (await sockets()) === 0, 'it is left')
  })

  test('judged against a schema: asked again and answered at once', async () => {
    gateway.simulator.script({ model: 'plain' }, { text: '{"a":1}' })
    gateway.simulator.script({ model: 'plain' }, { text: 'no', times: 1 })
    const response = await post('/v1/chat/completions', {
      model: 'plain/plain#hang-end',
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
    })
    const text = await response.text()
    expect([text.includes('{\\"a\\":1}'), text.endsWith('data: [DONE]\n\n')]).toEqual([true, true])
    const [first, second] = gateway.simulator.truth.entries.slice(-2)
    const row = await rowOf(response)
    expect(row).toMatchObject({
      outcome: 'success',
      input_tokens: first!.billable.inputTokens + second!.billable.inputTokens,
    })
  })

  test('a body that ends soon after gives the connection back', async () => {
    await until(async () => (await sockets()) === 0, 'those before are left')
    for (let at = 0; at < 3; at++) {
      await (await post(...chat('openai', 'hang-end;ms=600'))).text()
      await Bun.sleep(750)
      expect(await sockets()).toBe(1)
    }
  })

  test('a dialect without a word for the end is over some seconds later', async () => {
    const asked = [
      post(...chat('gemini', 'hang-end')),
      post('/v1beta/models/gemini%2Fsim%23hang-end:streamGenerateContent?alt=sse', {
        contents: [{ role: 'user', parts: [{ text: 'say: all of it' }] }],
      }),
    ]
    for (const response of await Promise.all(asked)) {
      const text = await response.text()
      expect([text.includes('all'), text.includes('error')]).toEqual([true, false])
      expect(await rowOf(response)).toMatchObject({ outcome: 'success', usage_source: 'upstream' })
    }
  })
})

describe('a stream that cannot be read', () => {
  for (const name of ['openai', 'claude', 'command', 'llama'])
    test(`${name}: broken JSON is an error event or an error, never garbage`, async () => {
      const response = await post(...chat(name, 'truncated-json;token-ms=5'))
      const text = await response.text()
      expect([text.includes('[DONE]'), text.includes('error')]).toEqual([false, true])
      for (const line of text.split('\n')) if (line.startsWith('data: ')) JSON.parse(line.slice('data: '.length))
      expect((await rowOf(response))?.outcome).toBe(response.status === 200 ? 'upstream_cut' : 'error')
    })

  test('nothing but [DONE] is an error of the upstream', async () => {
    gateway.simulator.script(
      { model: 'empty' },
      { raw: { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'data: [DONE]\n\n' } },
    )
    const response = await post('/v1/chat/completions', { model: 'openai/empty', messages })
    expect([response.status, (await response.text()).includes('without an answer')]).toEqual([502, true])
    expect(await rowOf(response)).toMatchObject({ outcome: 'error', status: 502 })
  })
})
