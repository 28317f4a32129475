/** Each answer to a call has the gateway's headers: refusals of calls about files, and responses in the background. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Policy } from '../../src/core/policy.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

/** Answers by itself what asks for it, as a stream with a status of its own. */
const streaming: Policy = {
  name: 'streaming',
  stage: 'body',
  admit(call) {
    if (call.endUser !== 'stream') return undefined
    const body = {
      pipe(sink: { write(piece: string): void; end(): void }) {
        sink.write('{}')
        sink.end()
      },
      resume() {},
      cancel() {},
    }
    return { status: 203, contentType: 'application/json', body }
  },
}

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ policies: [streaming] })
})
afterAll(() => gateway.stop())

async function ask(key: string, path: string, body?: object) {
  const answer = await fetch(`${gateway.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  await answer.text()
  const header = (name: string) => answer.headers.get(name)
  return [
    answer.status,
    header('x-ratelimit-limit-requests'),
    header('x-ratelimit-remaining-requests'),
    header('x-proxy-call-id') === header('x-request-id') && header('x-request-id') !== null,
  ]
}

test('refused calls about files and batches have the headers of limits and calls', async () => {
  for (const [path, body, status] of [
    ['/v1/batches', undefined, 200],
    ['/v1/batches/batch_no', undefined, 404],
    ['/v1/files/file-no', undefined, 404],
    ['/v1/batches', {}, 422],
    ['/v1/files', {}, 415],
  ] as const) {
    const key = await gateway.key({ rpm_limit: 1 })
    expect(await ask(key, path, body)).toEqual([status, '1', '0', true])
    expect(await ask(key, path, body)).toEqual([429, '1', '0', true])
  }
})

test('a response in the background has them as well', async () => {
  const key = await gateway.key({ rpm_limit: 5 })
  const body = { model: 'chat-model', input: 'hi', background: true }
  expect(await ask(key, '/v1/responses', body)).toEqual([200, '5', '4', true])
})

test('the stream that a policy answers with is settled with its own status', async () => {
  const key = await gateway.key({ key_alias: 'streamed' })
  const body = { model: 'chat-model', messages: [{ role: 'user', content: 'hi' }], user: 'stream' }
  expect((await ask(key, '/v1/chat/completions', body))[0]).toBe(203)
  const [row] = (await gateway.rows()).filter(one => one.key_alias === 'streamed')
  expect([row!.outcome, row!.status, row!.attempts]).toEqual(['success', 203, 0])
})
