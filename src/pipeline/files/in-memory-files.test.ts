import { expect, test } from 'bun:test'
import type { FileCall } from '../../core/objects/files.ts'
import type { Upload } from '../../core/upload.ts'
import { providers } from '../../providers/index.ts'
import { KeptFiles } from './in-memory-files.ts'

const deployment = { target: { provider: providers.get('local')!, model: 'simulated-chat' } }
const ask = (kept: KeptFiles, call: Partial<FileCall>) => {
  const { status, pieces } = kept.answer({ method: 'GET', deployment, ...call } as FileCall)
  return { status, text: Buffer.concat(pieces.map(piece => Buffer.from(piece as string))).toString() }
}
const form = (content: Uint8Array, purpose = 'user_data'): Upload => ({
  parts: [
    {
      name: 'purpose',
      filename: undefined,
      contentType: undefined,
      content: [Buffer.from(purpose)],
      bytes: purpose.length,
    },
    {
      name: 'file',
      filename: 'f',
      contentType: undefined,
      content: [content.subarray(0, 3), content.subarray(3)],
      bytes: content.length,
    },
  ],
  close() {},
})
const upload = (kept: KeptFiles, content: Uint8Array) =>
  ask(kept, { method: 'POST', path: '/files', body: { upload: form(content), edits: [] } })
const idOf = ({ text }: { text: string }) => (JSON.parse(text) as { id: string }).id
const clock = { epochMs: () => 5000, monotonicMs: () => 0 }

test('memory is bounded: what is too much is refused, what is deleted makes room', () => {
  const kept = new KeptFiles(clock)
  const large = new Uint8Array(16 * 1024 * 1024)
  const ids = [1, 2, 3, 4].map(() => idOf(upload(kept, large)))
  expect(new Set(ids).size).toBe(4)
  expect(upload(kept, new Uint8Array(10))).toMatchObject({ status: 413, text: expect.stringContaining('delete some') })
  expect(ask(kept, { method: 'DELETE', path: `/files/${ids[0]}` }).status).toBe(200)
  expect(upload(kept, new Uint8Array(10)).status).toBe(200)
  expect(upload(kept, new Uint8Array(16 * 1024 * 1024 + 1))).toMatchObject({
    status: 413,
    text: expect.stringContaining('16777216'),
  })
})

test('what is not there is not found, by its own word', () => {
  const kept = new KeptFiles(clock)
  for (const path of ['/files/x', '/files/x/content', '/files/__proto__'])
    expect(ask(kept, { path })).toMatchObject({ status: 404, text: expect.stringContaining('no such file') })
  for (const path of ['/batches/x', '/batches/x/cancel'])
    expect(ask(kept, { path })).toMatchObject({ status: 404, text: expect.stringContaining('no such batch') })
})

test('a batch without room for its results has failed, and says what helps', async () => {
  const kept = new KeptFiles(clock)
  const line = JSON.stringify({
    custom_id: 'a',
    url: '/v1/chat/completions',
    body: { model: 'simulated-chat', messages: [{ role: 'user', content: 'hi' }] },
  })
  const input = idOf(upload(kept, Buffer.from(line)))
  for (let at = 0; at < 3; at++) upload(kept, new Uint8Array(16 * 1024 * 1024))
  upload(kept, new Uint8Array(16 * 1024 * 1024 - line.length))
  const begun = ask(kept, {
    method: 'POST',
    path: '/batches',
    body: { json: { input_file_id: input, endpoint: '/v1/chat/completions', completion_window: '24h' } },
  })
  await new Promise(resolve => setImmediate(resolve))
  expect(JSON.parse(ask(kept, { path: `/batches/${idOf(begun)}` }).text)).toMatchObject({
    status: 'failed',
    output_file_id: null,
    request_counts: { completed: 1 },
    completed_at: null,
    failed_at: 5,
    errors: {
      object: 'list',
      data: [{ code: 'no_room_for_results', message: expect.stringContaining('delete some') }],
    },
  })
})

test('a line that cannot be answered fails by itself, and only so many batches run at once', async () => {
  const kept = new KeptFiles(clock)
  const { provider } = deployment.target
  const answer: typeof provider.answer = (head, body) => {
    if ((body as { messages?: unknown }).messages === undefined) throw new TypeError('a request without messages')
    return provider.answer!(head, body)
  }
  const broken = {
    target: { ...deployment.target, provider: { ...provider, answer } },
  } as unknown as FileCall['deployment']
  const line = (custom_id: string, body: object) =>
    JSON.stringify({ custom_id, url: '/v1/chat/completions', body: { model: 'simulated-chat', ...body } })
  const input = idOf(
    upload(kept, Buffer.from([line('a', {}), line('b', { messages: [{ role: 'user', content: 'hi' }] })].join('\n'))),
  )
  const start = () =>
    ask(kept, {
      deployment: broken,
      method: 'POST',
      path: '/batches',
      body: { json: { input_file_id: input, endpoint: '/v1/chat/completions', completion_window: '24h' } },
    })
  const begun = Array.from({ length: 8 }, start)
  expect(start()).toMatchObject({ status: 429 })
  for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
  for (const one of begun) {
    const batch = JSON.parse(ask(kept, { path: `/batches/${idOf(one)}` }).text)
    expect(batch).toMatchObject({ status: 'completed', request_counts: { completed: 1, failed: 1 } })
    expect(ask(kept, { path: `/files/${batch.error_file_id}/content` }).text).toContain(
      '"custom_id":"a","response":{"status_code":400',
    )
  }
  expect(start().status).toBe(200)
})
