/** Files and batches of the built-in models: the whole way of a user without any provider key. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

let gateway: Gateway
let client: OpenAI

beforeAll(async () => {
  gateway = await startGateway({ seed: 3 })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: await gateway.key(), maxRetries: 0 })
})
afterAll(() => gateway.stop())

const line = (custom_id: string, url: string, body: object) => JSON.stringify({ custom_id, method: 'POST', url, body })
const chat = (id: string, content: string) =>
  line(id, '/v1/chat/completions', { model: 'local/simulated-chat', messages: [{ role: 'user', content }] })
const upload = async (text: string, purpose: 'batch' | 'user_data' = 'batch') =>
  client.files.create(
    { file: await toFile(Buffer.from(text), 'in.jsonl'), purpose },
    { query: { model: 'local/simulated-chat' } },
  )
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: { status: number; message: string }) => error,
  )

const ended = (id: string) =>
  until(async () => {
    const batch = await client.batches.retrieve(id)
    return batch.status !== 'in_progress' && batch
  }, 'the batch ends')

test('a batch is answered, its results are files, and the ledger has it once', async () => {
  const lines = [
    ...Array.from({ length: 50 }, (_, at) => chat(`c${at}`, `Hello ${at}`)),
    line('e', '/v1/embeddings', { model: 'local/simulated-embedding', input: 'x' }),
    line('r', '/v1/responses', { model: 'local/simulated-chat', input: 'x' }),
  ]
  const input = await upload(lines.join('\n'))
  expect(input).toMatchObject({ object: 'file', filename: 'in.jsonl', purpose: 'batch' })
  const begun = await client.batches.create({
    input_file_id: input.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    metadata: { a: 'b' },
  })
  const batch = await ended(begun.id)
  expect(batch).toMatchObject({
    status: 'completed',
    request_counts: { total: 52, completed: 51, failed: 1 },
    metadata: { a: 'b' },
    input_file_id: input.id,
  })
  const output = (await (await client.files.content(batch.output_file_id!)).text())
    .trim()
    .split('\n')
    .map(one => JSON.parse(one))
  expect(output.map(one => one.custom_id)).toEqual([...Array.from({ length: 50 }, (_, at) => `c${at}`), 'e'])
  const direct = await client.chat.completions.create({
    model: 'local/simulated-chat',
    messages: [{ role: 'user', content: 'Hello 7' }],
  })
  expect(output[7].response).toMatchObject({
    status_code: 200,
    body: { choices: [{ message: { content: direct.choices[0]!.message.content! } }] },
  })
  const errors = (await (await client.files.content(batch.error_file_id!)).text())
    .trim()
    .split('\n')
    .map(one => JSON.parse(one))
  expect(errors).toMatchObject([{ custom_id: 'r', response: { status_code: 400 } }])
  await ended(begun.id)
  const usage = output.reduce((sum, one) => sum + one.response.body.usage.prompt_tokens, 0)
  const rows = (await gateway.rows()).filter(row => row.operation === 'batches')
  expect(rows).toMatchObject([{ status: 200, input_tokens: usage }])
})

test('files come back byte for byte, and are gone when they are deleted', async () => {
  const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(700_000)))
  const file = await client.files.create(
    { file: await toFile(bytes, 'ü.bin'), purpose: 'user_data' },
    { query: { custom_llm_provider: 'local' } },
  )
  expect(file).toMatchObject({ bytes: bytes.length, filename: 'ü.bin' })
  expect(Buffer.from(await (await client.files.content(file.id)).arrayBuffer()).equals(bytes)).toBe(true)
  const other = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: await gateway.key(), maxRetries: 0 })
  expect((await failure(other.files.retrieve(file.id)))?.status).toBe(404)
  expect(await client.files.delete(file.id)).toMatchObject({ deleted: true })
  expect((await failure(client.files.content(file.id)))?.status).toBe(404)
  expect(
    (
      await failure(
        client.files.create(
          { file: await toFile(Buffer.alloc(17 * 1024 * 1024), 'large'), purpose: 'user_data' },
          { query: { model: 'local/simulated-chat' } },
        ),
      )
    )?.message,
  ).toContain('up to 16777216 bytes')
})

test('a batch can be cancelled, once; its input must be there', async () => {
  const input = await upload(Array.from({ length: 3000 }, (_, at) => chat(`c${at}`, 'Hello')).join('\n'))
  const begun = await client.batches.create({
    input_file_id: input.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  })
  const cancelled = await client.batches.cancel(begun.id)
  expect(['cancelled', 'completed']).toContain(cancelled.status)
  expect((await failure(client.batches.cancel(begun.id)))?.status).toBe(409)
  await client.files.delete(input.id)
  expect(
    (
      await failure(
        client.batches.create({ input_file_id: input.id, endpoint: '/v1/chat/completions', completion_window: '24h' }),
      )
    )?.status,
  ).toBe(404)
})

test('without a word a real upstream is meant, never a built-in model', async () => {
  const error = await failure(client.files.create({ file: await toFile(Buffer.from('x'), 'x'), purpose: 'user_data' }))
  expect(error).toBeDefined()
  expect(error?.message).not.toContain('local/')
})
