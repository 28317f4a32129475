/** Each example starts and offers what it says; the hosted one keeps its promises. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { editorSchema } from '../../src/cli/config-schema.ts'
import { startGateway } from './harness.ts'

const folder = join(import.meta.dir, '../../examples')
const example = (name: string) => readFileSync(join(folder, name), 'utf8')

const models = {
  'minimal.yaml': ['gpt-4.1-mini', 'claude'],
  'hosted.yaml': [
    'acme/instruct-v4-27b-it',
    'acme/instruct-v3-70b-it',
    'acme/reasoning-v3.5-70b-R',
    'acme/instruct-v4.5-27b-it',
    'acme/guard',
    'acme/embedding',
  ],
}

for (const [name, expected] of Object.entries(models))
  test(`${name} starts and lists its models`, async () => {
    const gateway = await startGateway({ config: example(name) })
    const listed = (await (await gateway.admin('/v1/models')).json()) as { data: { id: string }[] }
    expect(listed.data.map(one => one.id)).toEqual(expect.arrayContaining(expected))
    await gateway.stop()
  })

test('hosted.yaml: ten requests a minute a user, one key a user', async () => {
  const gateway = await startGateway({ config: example('hosted.yaml') })
  const key = await gateway.key({ user_id: 'ada' })
  const second = await gateway.admin('/key/generate', { user_id: 'ada' })
  expect(second.status).toBe(409)
  const ask = (differing: object = {}) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        model: 'local/simulated-chat',
        messages: [{ role: 'user', content: 'hi' }],
        stream: true,
        ...differing,
      }),
    })
  const get = (path: string) => fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
  // "The rate limit applies to all requests made with a user's key": calls, listing, mistakes.
  const asked: (() => Promise<Response>)[] = [
    ...Array.from({ length: 6 }, () => ask),
    () => get('/v1/models'),
    () => get('/v1/models/not-there'),
    () => get('/key/list'),
    () => ask({ messages: 7 }),
  ]
  const statuses: number[] = []
  for (const [at, request] of asked.entries()) {
    const response = await request()
    statuses.push(response.status)
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('10')
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe(String(9 - at))
    await response.text()
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 404, 403, 422])
  const refused = await ask()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
  expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0')
  expect(((await refused.json()) as { error: { name: string } }).error.name).toBe('RateLimitError')
  const listing = await get('/v1/models')
  expect(listing.status).toBe(429)
  expect(await listing.json()).toMatchObject({ error: { message: expect.stringContaining('10 requests per minute') } })
  const inBrowser = await fetch(`${gateway.url}/v1/models`, {
    headers: { authorization: `Bearer ${key}`, origin: 'https://chat.example' },
  })
  expect(inBrowser.headers.get('access-control-expose-headers')).toContain('x-ratelimit-remaining-requests')
  const inAnthropic = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key },
    body: '{}',
  })
  expect(inAnthropic.status).toBe(429)
  expect(await inAnthropic.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } })
  // The master key has no limits, and a wrong key uses up no limits of another.
  expect((await gateway.admin('/v1/models')).status).toBe(200)
  await gateway.stop()
})

test('the schema for editors is current', () => {
  expect(JSON.parse(example('modelgate.schema.json'))).toEqual(JSON.parse(JSON.stringify(editorSchema())))
})
