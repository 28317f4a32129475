/** Azure's paths, paths that are not there, and requests for another protocol. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { AzureOpenAI } from 'openai'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway()
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

describe("Azure's dated paths without a deployment, by its client", () => {
  const client = () =>
    new AzureOpenAI({ endpoint: gateway.url, apiKey: key, apiVersion: '2025-04-01-preview', maxRetries: 0 })

  test('responses are made, read and deleted', async () => {
    const made = await client().responses.create({ model: 'chat-model', input: 'say: hi' })
    expect(made.output_text).toBe('hi')
    expect((await client().responses.retrieve(made.id)).id).toBe(made.id)
    expect((await client().responses.inputItems.list(made.id)).data.length).toBe(1)
    await client().responses.delete(made.id)
  })

  test('files and batches are kept', async () => {
    const line = {
      custom_id: 'a',
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'chat-model', messages: [] },
    }
    const body = { ...line, body: { ...line.body, messages: [{ role: 'user', content: 'x' }] } }
    const file = await client().files.create({
      file: new File([JSON.stringify(body)], 'x.jsonl'),
      purpose: 'batch',
      // @ts-expect-error a field of this gateway
      model: 'chat-model',
    })
    expect((await client().files.retrieve(file.id)).id).toBe(file.id)
    expect((await client().files.list()).data.map(one => one.id)).toContain(file.id)
    expect((await client().batches.list()).data).toEqual([])
  })

  test('assistants and threads are kept', async () => {
    const { beta } = client()
    const assistant = await beta.assistants.create({ model: 'chat-model' })
    expect((await beta.assistants.list()).data.map(one => one.id)).toContain(assistant.id)
    const thread = await beta.threads.create({ messages: [{ role: 'user', content: 'say: hi' }] })
    const run = await beta.threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id }, { pollIntervalMs: 20 })
    expect(run.status).toBe('completed')
  })

  test('models are listed and one is read', async () => {
    expect((await client().models.list()).data.map(one => one.id)).toContain('chat-model')
    const one = await fetch(`${gateway.url}/openai/models/chat-model?api-version=2024-10-21`, {
      headers: { 'api-key': key },
    })
    expect(one.status).toBe(200)
  })
})

async function said(method: string, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(gateway.url + path, { method, headers })
  return { status: response.status, body: (await response.json()) as any, headers: response.headers }
}

describe('a path that is not there', () => {
  test.each([
    ['POST', '/v1/embedding', 'try POST /v1/embeddings'],
    ['POST', '/v1/chat/completion', 'try POST /v1/chat/completions'],
    ['GET', '/v1/model', 'try GET /v1/models'],
    ['POST', '/v1/thread/thread_1/messages', 'try POST or GET /v1/threads/thread_1/messages'],
    ['POST', '/api/v1/chat/completions', 'POST /v1/chat/completions is there: leave /api out of the base URL'],
    ['POST', '/v1/openai/chat/completions', 'is there: leave /v1/openai out of the base URL'],
    ['POST', '/v1/v1/embeddings', 'the path has /v1 twice'],
    ['POST', '/v1/messages/batches', 'batches are at /v1/batches'],
    ['POST', '/v1beta/models/m:batchGenerateContent', ''],
    ['POST', '/v1beta/cachedContents', 'send the content itself'],
    ['POST', '/upload/v1beta/files', 'POST /v1/files'],
    ['POST', '/v1/conversations', 'previous_response_id'],
    ['POST', '/v1/vector_stores', 'no vector stores'],
    ['POST', '/v1/fine_tuning/jobs', 'fine-tuned at their vendor'],
  ])('%s %s says what to do next', async (method, path, hint) => {
    const { status, body } = await said(method, path)
    expect(status).toBe(hint === '' ? 401 : 404)
    expect(body.error.message).toContain(hint)
  })

  test.each([
    ['POST', '/v1/videos'],
    ['POST', '/v1/projects/p/locations/l/publishers/google/models/gem:rawPredict'],
    ['DELETE', '/v1/model'],
    ['GET', '/v2/rerank-all/thing'],
    ['GET', '/favicon.png'],
    ['GET', '/ui2/keys/all'],
  ])('%s %s is told nothing where nothing is near', async (method, path) => {
    const { status, body } = await said(method, path)
    expect([status, body.error.message]).toEqual([404, `there is no ${method} ${path}; see /docs for the API`])
  })

  test('is refused in the dialect of the path or of the client', async () => {
    const gemini = { error: { code: 404, status: 'NOT_FOUND' } }
    const anthropic = { type: 'error', error: { type: 'not_found_error' } }
    const openai = { error: { type: 'invalid_request_error', code: 'not_found' } }
    for (const [path, expected, headers] of [
      ['/v1beta/cachedContents', gemini, {}],
      ['/gemini/v1beta/tunedModels', gemini, {}],
      ['/v1/tunedModels', gemini, { 'x-goog-api-key': key }],
      ['/v1/messages/batches', anthropic, {}],
      ['/anthropic/v1/organizations', anthropic, {}],
      ['/v1/skills', anthropic, { 'anthropic-version': '2023-06-01' }],
      ['/v1/vector_stores', openai, {}],
    ] as const)
      expect({ path, ...(await said('POST', path, headers)) }).toMatchObject({ path, status: 404, body: expected })
  })

  test('so is a method that is not there', async () => {
    expect(await said('GET', '/v1/messages')).toMatchObject({ status: 405, body: { type: 'error' } })
    expect(await said('DELETE', '/v1beta/models/m:generateContent')).toMatchObject({
      status: 405,
      body: { error: { code: 405, status: 'UNIMPLEMENTED' } },
    })
  })

  test('costs little, whatever it is', async () => {
    for (const path of [`/${'a/'.repeat(3000)}`, `/${'x'.repeat(7000)}`, `/v1/${'embeddings/'.repeat(9)}`])
      expect((await said('POST', path)).status).toBe(404)
  })
})

describe('a WebSocket', () => {
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }

  for (const path of ['/v1/chat/completions', '/v1/realtime', '/openai/v1/embeddings', '/no/such'])
    test(`at ${path} is answered with 426 at once, without a key`, async () => {
      const url = new URL(gateway.url)
      const status = Promise.withResolvers<string>()
      const socket = await Bun.connect({
        hostname: url.hostname,
        port: Number(url.port),
        socket: { data: (_socket, data) => status.resolve(data.toString('latin1')) },
      })
      const lines = Object.entries(upgrade).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join('')}\r\n`)
      const answer = await status.promise
      socket.end()
      expect(answer).toStartWith('HTTP/1.1 426 Upgrade Required\r\n')
      expect(answer).toMatch(/\r\nupgrade: HTTP\/1\.1\r\n/)
      expect(answer).toContain('send the same request as POST over HTTP')
    })

  test('other upgrades are ignored, as HTTP allows', async () => {
    const headers = { authorization: `Bearer ${key}`, connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' }
    expect((await said('GET', '/v1/models', headers)).status).toBe(200)
  })
})
