/** The cache of answers over Redis: replicas share it, and without Redis every call goes its way. */
import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test'
import { RedisClient } from 'bun'
import { CountingUpstream } from '../support/upstreams/counting-upstream.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const redisUrl = process.env.TEST_REDIS_URL
const whereRedis = test.skipIf(redisUrl === undefined)
if (redisUrl === undefined) console.log('skipped: the cache over Redis (set TEST_REDIS_URL)')

const upstream = new CountingUpstream()
const opened: { stop(): unknown }[] = []
afterAll(() => upstream.stop())
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
})
let namespace: string
beforeEach(() => {
  upstream.clear()
  namespace = `test-${crypto.randomUUID()}`
})

/** Of one installation: they have one secret. `socketTimeoutS` is long, because the machine may be busy. */
async function replica(url: string, socketTimeoutS = 30): Promise<{ gateway: Gateway; key: string }> {
  const gateway = await startGateway({
    config: `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/up, api_base: "${upstream.url}", api_key: k, input_cost_per_token: 0.001, output_cost_per_token: 0.002 }
    model_info: { id: one }
router_settings: { num_retries: 0 }
litellm_settings:
  cache: true
  cache_params: { type: redis, url: "${url}", namespace: ${namespace}, scope: all, socket_timeout: ${socketTimeoutS} }
`,
    keyPepper: 'a pepper that all replicas of this test have',
  })
  opened.push(gateway)
  return { gateway, key: await gateway.key() }
}

const chat = ({ gateway, key }: { gateway: Gateway; key: string }, text: string, stream = false, more: object = {}) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'chat', stream, messages: [{ role: 'user', content: text }], ...more }),
  })

whereRedis('50 equal calls at once over 3 replicas reach the upstream once', async () => {
  const replicas = [await replica(redisUrl!), await replica(redisUrl!), await replica(redisUrl!)]
  upstream.hold()
  const calls = Array.from({ length: 50 }, (_, at) => chat(replicas[at % 3]!, 'what?', at % 4 === 0))
  await until(() => upstream.count > 0, 'the first has arrived')
  upstream.release()
  for (const call of calls) {
    const response = await call
    expect([response.status, await response.text()]).toEqual([200, expect.stringMatching(/answer 1|"1"/)])
  }
  expect(upstream.count).toBe(1)
})

whereRedis(
  'what one replica keeps the others give, encrypted in Redis, until it is deleted or all is flushed',
  async () => {
    const [one, two] = [await replica(redisUrl!), await replica(redisUrl!)]
    const first = await chat(one, 'a secret question')
    const key = first.headers.get('x-proxy-cache-key')!
    expect(await first.text()).toContain('answer 1')
    const client = new RedisClient(redisUrl!)
    const stored = () => client.get(`modelgate:${namespace}:answer:${key}`)
    await until(async () => (await stored()) !== null, 'it is stored')
    expect(await stored()).toStartWith('v1:')
    expect(await stored()).not.toContain('answer')
    const isHit = async (text: string) => (await chat(two, text)).headers.get('x-proxy-cache-hit')
    expect(await isHit('a secret question')).toBe('true')
    expect((await one.gateway.admin('/cache/delete', { keys: [key] })).status).toBe(200)
    expect(await isHit('a secret question')).toBeNull()
    await until(async () => (await stored()) !== null, 'it is stored again')
    await client.set(`modelgate-test:${namespace}`, 'of another program')
    expect((await one.gateway.admin('/cache/flushall', {})).status).toBe(200)
    expect(await stored()).toBeNull()
    expect(await client.getdel(`modelgate-test:${namespace}`)).toBe('of another program')
    client.close()
    const ping = (await (await one.gateway.admin('/cache/ping')).json()) as object
    expect(ping).toMatchObject({ status: 'healthy', cache_type: 'redis', ping_response: true })
    const info = (await (await one.gateway.admin('/cache/redis/info')).json()) as { num_clients: number; info: object }
    expect(info.num_clients).toBeGreaterThan(0)
    expect(info.info).toHaveProperty('redis_version')
  },
)

whereRedis('a failure on one replica lets the others go, and no right is left behind', async () => {
  const [one, two] = [await replica(redisUrl!), await replica(redisUrl!)]
  upstream.hold()
  const calls = [chat(one, 'fail'), chat(two, 'fail')]
  await until(() => upstream.count > 0, 'the first has arrived')
  upstream.release()
  for (const call of calls) expect((await call).status).toBe(500)
  expect(upstream.count).toBe(2)
})

whereRedis('Redis away: no cache and no failed call, and the cache again when it is back', async () => {
  const there = new URL(redisUrl!)
  const wire = await startTcpProxy(there.hostname, Number(there.port || 6379))
  opened.push({ stop: () => wire.close() })
  const one = await replica(`redis://127.0.0.1:${wire.port}`, 0.05)
  const ask = async () => {
    const response = await chat(one, 'what?')
    await response.text()
    return [response.status, response.headers.get('x-proxy-cache-hit')]
  }
  await until(async () => (await ask())[1] === 'true', 'a hit')
  wire.cut()
  const before = upstream.count
  for (let at = 0; at < 5; at++) expect(await ask()).toEqual([200, null])
  expect(upstream.count).toBe(before + 5)
  expect((await one.gateway.admin('/cache/ping')).status).toBe(503)
  wire.restore()
  await until(async () => (await ask())[1] === 'true', 'a hit again')
})

test('without a cache, and without a Redis, the routes say what to do', async () => {
  const gateway = await startGateway()
  opened.push(gateway)
  for (const [path, body] of [['/cache/ping'], ['/cache/redis/info'], ['/cache/flushall', {}]] as const) {
    const response = await gateway.admin(path, body)
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('cache: true')])
  }
})
