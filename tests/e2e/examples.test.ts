/** Each example starts and offers what it says; the hosted one keeps its promises. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { configSchema } from '../../src/config/schema.ts'
import { startGateway } from './harness.ts'

const folder = join(import.meta.dir, '../../examples')
const example = (name: string) => readFileSync(join(folder, name), 'utf8')

const models = {
  'minimal.yaml': ['gpt-4.1-mini', 'claude'],
  'hosted.yaml': [
    'acme/instruct-v4-27b-it', 'acme/instruct-v3-70b-it', 'acme/reasoning-v3.5-70b-R', 'acme/instruct-v4.5-27b-it',
    'acme/guard', 'acme/embedding',
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
  const ask = () =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'local/simulated-chat', messages: [{ role: 'user', content: 'hi' }], stream: true }),
    })
  for (let at = 0; at < 10; at++) {
    const response = await ask()
    expect(response.status).toBe(200)
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe(String(9 - at))
    await response.text()
  }
  const refused = await ask()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
  expect(((await refused.json()) as { error: { name: string } }).error.name).toBe('RateLimitError')
  await gateway.stop()
})

test('the schema for editors is current', () => {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' })
  expect(JSON.parse(example('modelgate.schema.json'))).toEqual(JSON.parse(JSON.stringify(schema)))
})
