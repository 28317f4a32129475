/** Tags made by API: their limits hold for every call that carries them, from the moment that they change. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway({ config: `${standardConfig}general_settings: { unowned_limits: allow }\n` })
})
afterAll(() => gateway?.stop())

const post = async (path: string, body: object): Promise<{ status: number; body: Json }> => {
  const response = await gateway.admin(path, body)
  return { status: response.status, body: (await response.json()) as Json }
}
const tagged = async (key: string, tag: string): Promise<number> => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'x-litellm-tags': tag },
    body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'say: hi' }] }),
  })
  await response.arrayBuffer()
  return response.status
}

test('a tag is made, shown with what it has spent, changed and deleted', async () => {
  const made = await post('/tag/new', { name: 'nightly', description: 'batch work', max_budget: 5 })
  expect(made.body).toMatchObject({
    message: 'Tag nightly created successfully',
    tag: { name: 'nightly', description: 'batch work', models: [], spend: 0, created_by: 'master' },
  })
  const key = await gateway.key()
  expect(await tagged(key, 'nightly')).toBe(200)
  await gateway.rows()
  const { nightly } = (await post('/tag/info', { names: ['nightly', 'none'] })).body as Record<string, Json>
  expect(nightly!.spend).toBeGreaterThan(0)
  expect(nightly!.litellm_budget_table).toMatchObject({ max_budget: 5 })
  const changed = await post('/tag/update', { name: 'nightly', max_budget: 7.25 })
  expect(changed.body.tag).toMatchObject({ description: 'batch work', max_budget: 7.25 })
  const stale = await post('/tag/update', { name: 'nightly', max_budget: 1, version: 1 })
  expect(stale.status).toBe(409)
  const list = (await (await gateway.admin('/tag/list')).json()) as Json[]
  expect(list.map(one => one.name)).toEqual(['nightly'])
  expect((await post('/tag/delete', { name: 'nightly' })).body).toEqual({ message: 'Tag nightly deleted successfully' })
  expect((await post('/tag/delete', { name: 'nightly' })).status).toBe(404)
  expect(await tagged(key, 'nightly')).toBe(200)
})

test('the limit of a tag holds over all keys, and ends with the tag', async () => {
  await post('/tag/new', { name: 'bounded', rpm_limit: 2 })
  const [one, two] = [await gateway.key(), await gateway.key()]
  expect([await tagged(one, 'bounded'), await tagged(two, 'bounded')]).toEqual([200, 200])
  expect([await tagged(one, 'bounded'), await tagged(two, 'bounded')]).toEqual([429, 429])
  expect(await tagged(one, 'other')).toBe(200)
  await post('/tag/delete', { name: 'bounded' })
  expect(await tagged(one, 'bounded')).toBe(200)
})

test('keys without rights change nothing', async () => {
  const key = await gateway.key()
  for (const path of ['/tag/new', '/tag/update', '/tag/delete', '/tag/info']) {
    const answer = await fetch(gateway.url + path, { method: 'POST', headers: { authorization: `Bearer ${key}` } })
    expect([path, answer.status]).toEqual([path, 403])
  }
})

test('a body whose tags are too large to be read is refused: a spent tag in it would count nowhere', async () => {
  const key = await gateway.key()
  const before = gateway.simulator.truth.totals().requests
  const padding = 'x'.repeat(70_000)
  for (const [field, value] of [
    ['metadata', { padding, tags: ['spent'] }],
    ['tags', ['spent', padding]],
  ] as const) {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'x' }], [field]: value }),
    })
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(`"param":"${field}"`)])
  }
  expect(gateway.simulator.truth.totals().requests).toBe(before)
})
