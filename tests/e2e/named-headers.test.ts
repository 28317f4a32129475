/** Headers that the configuration names: the end user of a call, and its tags. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

let gateway: Gateway
let key: string
beforeAll(async () => {
  gateway = await startGateway({
    config:
      `${standardConfig}general_settings: { user_header_name: X-Chat-User }\n` +
      'settings: { extra_spend_tag_headers: [X-Chat-Room, x-chat-none] }\n',
  })
  key = await gateway.key()
})
afterAll(() => gateway?.stop())

async function rowOf(headers: Readonly<Record<string, string>>, body: object = {}) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'say: hi' }], ...body }),
  })
  await response.arrayBuffer()
  expect(response.status).toBe(200)
  const rows = await gateway.rows()
  const { end_user: endUser, request_tags: tags } = rows.toSorted(
    (one, other) => other.started_at_ms - one.started_at_ms,
  )[0]!
  return { endUser, tags }
}

test('the end user and tags of a call come from the headers that the configuration names', async () => {
  const headers = { 'x-chat-user': 'ann@example.com', 'x-chat-room': 'blue' }
  expect(await rowOf(headers, { user: 'other' })).toEqual({ endUser: 'ann@example.com', tags: ['x-chat-room: blue'] })
  await Bun.sleep(2)
  expect(
    await rowOf({ ...headers, 'x-litellm-end-user-id': 'bob', 'x-litellm-tags': 'own' }, { tags: ['two'] }),
  ).toEqual({
    endUser: 'bob',
    tags: ['own', 'two', 'x-chat-room: blue'],
  })
  await Bun.sleep(2)
  expect(await rowOf({}, { user: 'other' })).toMatchObject({ endUser: 'other' })
})
