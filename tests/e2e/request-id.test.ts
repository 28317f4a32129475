/** The client's `x-request-id`: kept where it is safe to repeat, beside the gateway's own id. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
beforeAll(async () => void (gateway = await startGateway()))
afterAll(() => gateway?.stop())

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const chat = (model: string, more: object = {}) => ({
  model,
  max_tokens: 5,
  messages: [{ role: 'user', content: 'say: hi' }],
  ...more,
})

async function send(path: string, sent: string | undefined, body?: object, key = masterKey) {
  const response = await fetch(`${gateway.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key}`, ...(sent !== undefined && { 'x-request-id': sent }) },
    body: body && JSON.stringify(body),
  })
  const header = (name: string) => response.headers.get(name)
  return { shown: header('x-request-id'), named: header('request-id'), own: header('x-proxy-call-id'), response }
}

test("the client's id comes back from every path, whole or streamed, success or error; ours stays the call id", async () => {
  const id = 'trace:01J/abc.DEF_9-~@host=1+2'
  for (const stream of [false, true]) {
    const { shown, own } = await send('/v1/chat/completions', id, chat('chat-model', { stream }))
    expect([shown, own]).toEqual([id, expect.stringMatching(uuid)])
    const [row] = await gateway.rows(`&request_id=${own}`)
    expect(row).toMatchObject({ request_id: own, model: 'chat-model' })
  }
  expect(await send('/v1/messages', id, chat('claude-model'))).toMatchObject({ shown: id, named: id })
  for (const [path, body, key] of [
    ['/v1/chat/completions', chat('no-such-model'), masterKey],
    ['/v1/chat/completions', chat('chat-model'), 'sk-wrong'],
    ['/v1/no-such-path', undefined, masterKey],
    ['/chat/completions', undefined, masterKey],
  ] as const)
    expect((await send(path, id, body, key)).shown).toBe(id)
  const refused = await send('/v1/messages', id, chat('no-such-model'))
  expect(await refused.response.json()).toMatchObject({ request_id: id })
})

test('without one, or with one that is too long or has other characters, ours is shown', async () => {
  for (const sent of [undefined, '', 'x'.repeat(129), 'a b', 'a"b', '<script>', 'ä']) {
    const { shown, own } = await send('/v1/chat/completions', sent, chat('chat-model'))
    expect([shown, shown === own]).toEqual([expect.stringMatching(uuid), true])
  }
  expect((await send('/v1/chat/completions', 'x'.repeat(128), chat('chat-model'))).shown).toBe('x'.repeat(128))
})
