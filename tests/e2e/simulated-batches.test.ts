/** Batches from the client to the simulator and back, and an upstream that has files but no batches. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

/** Keeps one file, and knows no path of batches. */
const filesOnly = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname } = new URL(request.url)
    const file = { id: 'file-1', object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'batch' }
    if (pathname === '/v1/files' || (pathname === '/v1/files/file-1' && !isGone)) return Response.json(file)
    return Response.json({ error: { message: `Invalid URL (${request.method} ${pathname})` } }, { status: 404 })
  },
})
let isGone = false
let gateway: Gateway
let client: OpenAI
beforeAll(async () => {
  gateway = await startGateway({
    config: JSON.stringify({
      model_list: [
        { model_name: 'batches', proxy_params: { model: 'openai/gpt-4o', api_base: '{simulator}/v1', api_key: 'k' } },
        {
          model_name: 'files-only',
          proxy_params: { model: 'openai/gpt-4o', api_base: `http://127.0.0.1:${filesOnly.port}/v1`, api_key: 'k' },
        },
      ],
      router_settings: { num_retries: 0 },
    }),
  })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: await gateway.key(), maxRetries: 0 })
})
afterAll(async () => {
  await gateway?.stop()
  await filesOnly.stop(true)
})

const url = '/v1/chat/completions'
async function upload(model: string, ...bodies: object[]): Promise<OpenAI.FileObject> {
  const lines = bodies.map((body, at) =>
    JSON.stringify({ custom_id: `line-${at}`, method: 'POST', url, body: { model, ...body } }),
  )
  const file = await toFile(Buffer.from(lines.join('\n')), 'lines.jsonl')
  // The gateway's own field: several upstreams take files.
  const named = { file, purpose: 'batch' as const, model }
  return client.files.create(named)
}
const start = (input: OpenAI.FileObject) =>
  client.batches.create({ input_file_id: input.id, endpoint: url, completion_window: '24h' })

test('each line is answered as a request of its own, refusals apart', async () => {
  const say = (content: string) => ({ messages: [{ role: 'user', content }] })
  const lone = { messages: [{ role: 'tool', tool_call_id: 'x', content: 'orphan' }] }
  const batch = await start(await upload('batches', say('say: one'), lone, say('say: two')))
  expect(batch.status).toBe('validating')
  const done = await client.batches.retrieve(batch.id)
  expect(done).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 2, failed: 1 } })
  const texts = async (id: string | undefined) =>
    (await (await client.files.content(id!)).text())
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
  const good = await texts(done.output_file_id)
  expect(good.map(one => [one.custom_id, one.response.body.choices[0].message.content])).toEqual([
    ['line-0', 'one'],
    ['line-2', 'two'],
  ])
  const [bad] = await texts(done.error_file_id)
  expect(bad.custom_id).toBe('line-1')
  expect(bad.response.body.error.message).toContain('preceeding message')
})

test('an upstream without batches is said as such, and a file that is gone as a missing file', async () => {
  const file = await upload('files-only', { messages: [{ role: 'user', content: 'x' }] })
  const refusal = await start(file).catch((error: unknown) => error as InstanceType<typeof OpenAI.APIError>)
  expect(String((refusal as Error).message)).toContain('the upstream that keeps the file runs no batches')
  isGone = true
  const missing = await start(file).catch((error: unknown) => error as InstanceType<typeof OpenAI.APIError>)
  expect(missing).toMatchObject({ status: 404, param: 'input_file_id' })
})

test('the built-in chat does not say that no model is configured', async () => {
  const answer = await client.chat.completions.create({
    model: 'local/simulated-chat',
    messages: [{ role: 'user', content: 'hello there' }],
  })
  const text = answer.choices[0]!.message.content!
  expect([text.includes('[simulated]'), text.includes('hello there'), /configured/.test(text)]).toEqual([
    true,
    true,
    false,
  ])
})

test('no batch is started where a budget is spent, and none that was started is hidden then', async () => {
  const file = await upload('batches', { messages: [{ role: 'user', content: 'say: one' }] })
  const running = await start(file)
  const stored = await gateway.admin('/key/update', { key: client.apiKey, max_budget: 0 })
  expect(stored.status).toBe(200)
  const refusal: unknown = await start(file).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ status: 429, type: 'budget_exceeded' })
  expect((await client.batches.retrieve(running.id)).status).toBe('completed')
  await gateway.admin('/key/update', { key: client.apiKey, max_budget: 1 })
  expect((await start(file)).status).toBe('validating')
})

test('a batch that a person starts in a session is charged to that user', async () => {
  const password = 'a password of its own'
  await gateway.admin('/user/new', { user_id: 'ann', auto_create_key: false })
  await gateway.admin('/sign-in/password', { user_id: 'ann', new_password: password })
  const login = await fetch(`${gateway.url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'ann', password }),
  })
  const cookie = login.headers.getSetCookie().map(line => line.split(';', 1)[0]!)
  const browser = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: 'none',
    maxRetries: 0,
    defaultHeaders: {
      Authorization: null,
      cookie: cookie.join('; '),
      origin: gateway.url,
      'sec-fetch-site': 'same-origin',
    },
  })
  const line = {
    custom_id: '1',
    method: 'POST',
    url,
    body: { model: 'batches', messages: [{ role: 'user', content: 'hi' }] },
  }
  const file = await toFile(Buffer.from(JSON.stringify(line)), 'lines.jsonl')
  const named = { file, purpose: 'batch' as const, model: 'batches' }
  const input = await browser.files.create(named)
  const batch = await browser.batches.create({ input_file_id: input.id, endpoint: url, completion_window: '24h' })
  expect((await browser.batches.retrieve(batch.id)).status).toBe('completed')
  await until(async () => {
    const logs = await (await gateway.admin('/spend/logs/v2?user_id=ann&page_size=100')).json()
    const { data } = logs as { data: { operation: string; cost_nano_usd: string | null }[] }
    const { user_info: user } = (await (await gateway.admin('/user/info?user_id=ann')).json()) as {
      user_info: { spend: number }
    }
    const isCharged = data.some(row => row.operation === 'batches' && BigInt(row.cost_nano_usd ?? 0) > 0n)
    return isCharged && user.spend > 0
  }, 'the row and the spend of the user')
}, 60_000)
