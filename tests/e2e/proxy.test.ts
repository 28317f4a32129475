/** A whole gateway that gets out through a proxy alone: calls, streams, files and tokens. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { answer, rawUpstream } from '../support/upstreams/raw-upstream.ts'
import type { RawUpstream } from '../support/upstreams/raw-upstream.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

/** Reads the requests itself and answers in the upstreams' place: their names lead nowhere. */
let proxy: RawUpstream
let gateway: Gateway
const lines: string[] = []

const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
const chunk = {
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'x',
  choices: [{ index: 0, delta: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
}

const file = {
  id: 'file-upstream1',
  object: 'file',
  bytes: 3,
  created_at: 1,
  filename: 'a.jsonl',
  purpose: 'user_data',
  status: 'processed',
}

function answerTo(request: string): string {
  if (request.startsWith('CONNECT')) return 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n'
  if (request.includes('/files')) return answer(JSON.stringify(file))
  if (!request.includes('"stream":true')) return answer(JSON.stringify(completion))
  return `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
}

beforeAll(async () => {
  proxy = await rawUpstream({
    onRequest(peer, request) {
      const [line = ''] = request.split('\r\n', 1)
      lines.push(`${line}${/^proxy-authorization: .*$/im.test(request) ? ' with a password' : ''}`)
      const said = answerTo(request)
      if (said.includes('event-stream')) peer.socket.end(said)
      else peer.socket.write(said)
    },
  })
  const entry = (name: string, params: string) => `  - model_name: ${name}\n    proxy_params: { ${params} }\n`
  gateway = await startGateway({
    config:
      'model_list:\n' +
      entry('environment', 'model: custom_openai/x, api_base: "http://models.invalid/v1", api_key: k') +
      entry(
        'own',
        `model: custom_openai/x, api_base: "http://own.invalid/v1", api_key: k, proxy: "http://user:hunter2hunter2@127.0.0.1:${proxy.port}"`,
      ) +
      entry('off', 'model: custom_openai/x, api_base: "http://off.invalid/v1", api_key: k, proxy: false') +
      entry('simulated', 'model: custom_openai/sim-chat, api_base: "{simulator}/v1", api_key: upstream-key-canary-1') +
      entry(
        'token',
        'model: azure/x, api_base: "http://azure.invalid", api_version: "2024-10-21", tenant_id: t, client_id: c, client_secret: s',
      ) +
      'router_settings: { num_retries: 0 }\n' +
      `environment_variables: { HTTP_PROXY: "${proxy.url}", HTTPS_PROXY: "${proxy.url}" }\n`,
  })
})
afterAll(async () => {
  await gateway.stop()
  proxy.stop()
})
beforeEach(() => void lines.splice(0))

const chat = (model: string, more = {}) =>
  gateway.admin('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hi' }], ...more })

test('whole answers and streams come through the proxy of the environment', async () => {
  expect(((await (await chat('environment')).json()) as typeof completion).choices[0]!.message.content).toBe('hello')
  const stream = await (await chat('environment', { stream: true })).text()
  expect(stream).toContain('"content":"hello"')
  expect(stream).toContain('data: [DONE]')
  expect(lines).toEqual(Array.from({ length: 2 }, () => 'POST http://models.invalid/v1/chat/completions HTTP/1.1'))
})

test('a deployment has a proxy of its own with a password, or none; loopback needs none', async () => {
  expect((await chat('own')).status).toBe(200)
  expect(lines.splice(0)).toEqual(['POST http://own.invalid/v1/chat/completions HTTP/1.1 with a password'])
  const off = await chat('off')
  expect([off.status, ((await off.json()) as { error: { message: string } }).error.message]).toEqual([
    503,
    expect.stringContaining('the upstream cannot be reached: its host name'),
  ])
  expect((await chat('simulated')).status).toBe(200)
  expect(lines).toEqual([])
})

test('files go the same way', async () => {
  const body = new FormData()
  body.set('purpose', 'user_data')
  body.set('model', 'own')
  body.set('file', new Blob(['{}\n']), 'a.jsonl')
  const made = await fetch(`${gateway.url}/v1/files`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${masterKey}` },
  })
  expect([made.status, await made.json()]).toMatchObject([200, { object: 'file', filename: 'a.jsonl' }])
  expect(lines).toEqual(['POST http://own.invalid/v1/files HTTP/1.1 with a password'])
})

test('so do tokens of a service that is not the upstream; a refusal names the proxy, not its password', async () => {
  const refused = await chat('token')
  const { error } = (await refused.json()) as { error: { message: string } }
  expect([refused.status, error.message]).toEqual([
    503,
    expect.stringContaining(
      `no credentials from Entra ID: the proxy 127.0.0.1:${proxy.port} does not allow connections to the upstream`,
    ),
  ])
  expect(lines).toEqual(['CONNECT login.microsoftonline.com:443 HTTP/1.1'])
})

test('nothing that is shown holds the password', async () => {
  for (const path of ['/v1/model/info', '/v1/models', '/spend/logs/v2?page_size=100', '/metrics', '/health/readiness'])
    expect([path, (await (await gateway.admin(path)).text()).includes('hunter2')]).toEqual([path, false])
})
