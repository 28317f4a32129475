/** Start, end and shared state of the gateway as one process or two: keys, limits, master key, health. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSimulator } from '../../simulator/index.ts'
import { startServer } from '../../src/app/index.ts'
import { Secret } from '../../src/lib/secret.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import type { TcpProxy } from '../support/network/tcp-proxy.ts'
import { backends, masterKey, standardConfig } from './harness.ts'
import { until } from '../support/until.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

let folder: string
const cleanups: (() => Promise<unknown>)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-shared-'))
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  rmSync(folder, { recursive: true, force: true })
})

/** `modelgate serve` as a process of its own. */
function serve(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const child = Bun.spawn([process.execPath, gatewayProgram, 'serve', '--data-dir', join(folder, 'data'), ...words], {
    env: { PATH: process.env.PATH, HOME: folder, MODELGATE_DISCOVER: '0', ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let output = ''
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const piece of stream) output += decoder.decode(piece, { stream: true })
  }
  const ended = Promise.all([read(child.stdout), read(child.stderr), child.exited])
  cleanups.push(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    output: () => output,
    masterKeys: () => [...output.matchAll(/^ {2}(sk-\S+)$/gm)].map(match => match[1]!),
    async url() {
      await until(() => /serves \d+ model/.test(output), `it serves:\n${output}`)
      return / on (http:\S+)/.exec(output)![1]!
    },
    /** The exit code. */
    async end(signal?: 'SIGTERM' | 'SIGKILL') {
      if (signal) child.kill(signal)
      return (await ended)[2]
    },
  }
}

const status = async (url: string, key: string, path = '/models') =>
  (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).status

test('a first start that cannot listen stores no master key; the next one shows it, and only that one', async () => {
  const other = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const failed = serve(['--port', String(other.port)])
  expect(await failed.end()).toBe(1)
  expect(failed.output()).toContain('cannot listen on port')
  expect(failed.masterKeys()).toEqual([])
  other.stop(true)
  const first = serve(['--port', '0'])
  const url = await first.url()
  const [shown, ...more] = first.masterKeys()
  expect(more).toEqual([])
  expect(await status(url, shown!)).toBe(200)
  await first.end('SIGKILL')
  const second = serve(['--port', '0'])
  expect(await status(await second.url(), shown!)).toBe(200)
  expect(second.masterKeys()).toEqual([])
}, 120_000)

test('SIGTERM: clients, the log and the ledger are told what was cut', async () => {
  const simulator = await startSimulator({ seed: 1 })
  cleanups.push(() => simulator.stop())
  const config = join(folder, 'config.yaml')
  writeFileSync(config, standardConfig.replaceAll('{simulator}', simulator.url.replace(/\/$/, '')))
  const gateway = serve(['--port', '0', '--config', config], {
    MODELGATE_MASTER_KEY: masterKey,
    MODELGATE_DRAIN_MS: '300',
  })
  const url = await gateway.url()
  const ask = (model: string, stream: boolean) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'tokens: 40' }] }),
    })
  const whole = ask('fault/x#hang', false)
  const streamed = await ask('fault/x#hang-mid;at=5', true)
  expect(streamed.status).toBe(200)
  const reading = streamed.text()
  await until(() => simulator.truth.entries.length === 2, 'both calls are under way')
  expect(await gateway.end('SIGTERM')).toBe(0)
  const events = (await reading).trim().split('\n\n')
  expect(events.length).toBeGreaterThan(3)
  expect(JSON.parse(events.at(-1)!.replace('data: ', ''))).toMatchObject({
    error: { code: 'overloaded', message: expect.stringContaining('is stopping') },
  })
  expect([(await whole).status, (await whole).headers.get('retry-after')]).toEqual([503, '1'])
  const lines = gateway
    .output()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Record<string, unknown>)
  const named = (text: string) => lines.filter(line => String(line.message).includes(text))
  expect(named('the gateway stops')).toEqual([
    expect.objectContaining({ open_requests: 2, upstream_calls: 2, drain_ms: 300 }),
  ])
  expect(named('are cut')).toEqual([expect.objectContaining({ level: 'warn', cut_requests: 2 })])
  expect(lines.at(-1)).toMatchObject({ message: 'the gateway has stopped', cut_requests: 2 })
  const next = serve(['--port', '0', '--config', config], { MODELGATE_MASTER_KEY: masterKey })
  const listed = await fetch(`${await next.url()}/spend/logs/v2`, { headers: { authorization: `Bearer ${masterKey}` } })
  const rows = ((await listed.json()) as { data: { outcome: string; http_status: number; stream: boolean }[] }).data
  expect(rows.map(row => [row.outcome, row.http_status, row.stream]).sort()).toEqual([
    ['interrupted', 200, true],
    ['interrupted', 503, false],
  ])
}, 120_000)

const real = backends().find(one => one.name !== 'SQLite')

describe.skipIf(!real)('two replicas on Postgres and Redis', () => {
  const newKey = `${masterKey}-new`

  async function wire(url: string, portDefault: number, roundTripMs = 0): Promise<{ proxy: TcpProxy; url: string }> {
    const there = new URL(url)
    const proxy = await startTcpProxy(there.hostname, Number(there.port || portDefault), { roundTripMs })
    cleanups.push(() => proxy.close())
    there.host = `127.0.0.1:${proxy.port}`
    return { proxy, url: there.href }
  }

  /** `distances` = of each replica to Redis and back, in milliseconds. */
  async function openStore(distances: readonly number[] = [0]) {
    const store = await real!.open()
    cleanups.push(() => store.close())
    const postgres = await wire(store.databaseUrl!, 5432)
    const wires = await Promise.all(distances.map(ms => wire(store.redisUrl!, 6379, ms)))
    let opened = 0
    const replica = async (name: string, key: string, configFile?: string) => {
      const server = await startServer({
        host: '127.0.0.1',
        port: 0,
        dataDirectory: join(folder, name),
        masterKey: new Secret(key),
        databaseUrl: postgres.url,
        redisUrl: wires[opened++ % wires.length]!.url,
        configFile,
        environment: { MODELGATE_LOG_LEVEL: 'off', MODELGATE_DISCOVER: '0', MODELGATE_DRAIN_DELAY_MS: '0' },
      })
      let stopped: Promise<void> | undefined
      const stop = () => (stopped ??= server.stop())
      cleanups.push(stop)
      return { url: server.url.replace(/\/$/, ''), stop }
    }
    const urls = { postgres: postgres.url, redis: wires[0]!.url }
    return { replica, urls, postgres: postgres.proxy, redis: wires[0]!.proxy }
  }

  test('a master key given to one of them is valid on the other within a second, and the old one refused', async () => {
    const { replica } = await openStore()
    const one = await replica('one', masterKey)
    expect([await status(one.url, masterKey), await status(one.url, newKey)]).toEqual([200, 401])
    const two = await replica('two', newKey)
    await until(async () => (await status(one.url, newKey)) === 200, 'the first has learned it')
    for (const { url } of [one, two])
      expect([await status(url, masterKey), await status(url, newKey)]).toEqual([401, 200])
    // A restart with the old environment wins: on both.
    await one.stop()
    const again = await replica('one', masterKey)
    await until(async () => (await status(two.url, newKey)) === 401, 'the second has learned it')
    for (const { url } of [again, two])
      expect([await status(url, masterKey), await status(url, newKey)]).toEqual([200, 401])
  }, 120_000)

  test('a change of a team or a user on one holds on the other within a second', async () => {
    const { replica } = await openStore()
    const [one, two] = [await replica('one', masterKey), await replica('two', masterKey)]
    const change = async (path: string, body: object) => {
      const answer = await fetch(`${one.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${masterKey}` },
        body: JSON.stringify(body),
      })
      expect([path, answer.status]).toEqual([path, 200])
      return (await answer.json()) as { key: string }
    }
    await change('/team/new', { team_id: 't' })
    await change('/user/new', { user_id: 'u', auto_create_key: false })
    const { key } = await change('/key/generate', { team_id: 't', user_id: 'u' })
    const models = async () => {
      const answer = await fetch(`${two.url}/models`, { headers: { authorization: `Bearer ${key}` } })
      return ((await answer.json()) as { data?: { id: string }[] }).data?.map(one => one.id) ?? []
    }
    const withinASecond = async (path: string, body: object, holds: () => Promise<boolean>) => {
      expect(await holds()).toBe(false)
      await change(path, body)
      await until(holds, `${path} on the other`)
    }
    await withinASecond('/team/update', { team_id: 't', models: ['local/simulated-chat'] }, async () => {
      return (await models()).join() === 'local/simulated-chat'
    })
    await withinASecond('/team/block', { team_id: 't' }, async () => (await status(two.url, key)) === 401)
    await withinASecond('/team/unblock', { team_id: 't' }, async () => (await status(two.url, key)) === 200)
    await withinASecond('/user/delete', { user_ids: ['u'] }, async () => (await status(two.url, key)) === 401)
  }, 120_000)

  test('the master key works while the database is away, at once', async () => {
    const { replica, postgres } = await openStore()
    const { url } = await replica('one', masterKey)
    postgres.stall()
    expect(await status(url, masterKey)).toBe(200)
    const called = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify({ model: 'local/simulated-chat', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    expect(called.status).toBe(200)
    expect(await status(url, 'sk-unknown-to-this-gateway-at-present')).toBe(503)
    postgres.restore()
  }, 120_000)

  test('a database that stands still does not hold a gateway that stops', async () => {
    const { replica, postgres } = await openStore()
    const { stop, url } = await replica('one', masterKey)
    postgres.stall()
    // Something is asked, so that queries are under way.
    void fetch(`${url}/key/list`, { headers: { authorization: `Bearer ${masterKey}` } }).catch(() => {})
    await Bun.sleep(600)
    await stop()
    postgres.restore()
  }, 120_000)

  test('readiness and metrics show whether Redis answers', async () => {
    const { replica, redis } = await openStore()
    const { url } = await replica('one', masterKey)
    const reported = async () => {
      const { redis: word, limits } = (await (await fetch(`${url}/health/readiness`)).json()) as Record<string, string>
      const [, value] = /^modelgate_redis_reachable (\d)$/m.exec(await (await fetch(`${url}/metrics`)).text())!
      return [word, value, limits]
    }
    expect(await reported()).toEqual(['connected', '1', undefined])
    redis.cut()
    await until(async () => (await reported())[0] === 'disconnected', 'it is reported')
    expect(await reported()).toEqual([
      'disconnected',
      '0',
      expect.stringMatching(/^this replica admits [\d.]+ % of each limit by itself$/),
    ])
    expect((await fetch(`${url}/health/readiness`)).status).toBe(200)
    redis.restore()
    await until(async () => (await reported())[0] === 'connected', 'it is back')
  }, 120_000)

  const keyOf = async (url: string, fields: object) => {
    const made = await fetch(`${url}/key/generate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      body: JSON.stringify(fields),
    })
    return ((await made.json()) as { key: string }).key
  }
  const ask = (url: string, key: string, model = 'local/simulated-chat') =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
    })
  const statuses = async (answers: Promise<Response>[]) => {
    const all = await Promise.all(answers)
    const counts: Record<string, number> = {}
    for (const answer of all) {
      counts[answer.status] = (counts[answer.status] ?? 0) + 1
      await answer.arrayBuffer()
    }
    return counts
  }

  test('three replicas at 5, 50 and 200 ms of Redis let through the limit of a key: no more, and no less', async () => {
    const { replica } = await openStore([5, 50, 200])
    const urls: string[] = []
    for (const name of ['one', 'two', 'three']) urls.push((await replica(name, masterKey)).url)
    for (let round = 0; round < 2; round++) {
      const key = await keyOf(urls[0]!, { rpm_limit: 60 })
      const counts = await statuses(Array.from({ length: 240 }, (_, at) => ask(urls[at % 3]!, key)))
      expect(counts).toEqual({ 200: 60, 429: 180 })
    }
  }, 120_000)

  test('refusals for slots of a killed replica say when they are free again, not 1 s', async () => {
    const { replica, urls } = await openStore()
    const simulator = await startSimulator({ seed: 1 })
    cleanups.push(() => simulator.stop())
    const config = join(folder, 'config.yaml')
    writeFileSync(config, standardConfig.replaceAll('{simulator}', simulator.url.replace(/\/$/, '')))
    const killed = serve(['--port', '0', '--config', config], {
      MODELGATE_MASTER_KEY: masterKey,
      DATABASE_URL: urls.postgres,
      REDIS_URL: urls.redis,
    })
    const there = await killed.url()
    const { url } = await replica('living', masterKey, config)
    const key = await keyOf(url, { max_parallel_requests: 1 })
    void ask(there, key, 'fault/x#hang').catch(() => {})
    await until(() => simulator.truth.entries.length === 1, 'it is under way')
    const living = await ask(url, key, 'chat-model')
    expect([living.status, living.headers.get('retry-after')]).toEqual([429, '1'])
    await killed.end('SIGKILL')
    const waitS = async () => Number((await ask(url, key, 'chat-model')).headers.get('retry-after'))
    await until(async () => (await waitS()) > 1, 'it is no longer waited for')
    expect(await waitS()).toBeWithin(25, 42)
  }, 120_000)

  test('with `refuse` a key with limits gets 503 while Redis is away, and keys without limits go on', async () => {
    const { replica, redis } = await openStore()
    const config = join(folder, 'refuse.yaml')
    writeFileSync(config, 'model_list: []\ngeneral_settings: { limits_without_redis: refuse }\n')
    const { url } = await replica('one', masterKey, config)
    const [limited, free] = [await keyOf(url, { rpm_limit: 100 }), await keyOf(url, {})]
    redis.cut()
    const refused = await ask(url, limited)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await refused.text()).toContain('limits_without_redis')
    expect((await ask(url, free)).status).toBe(200)
    const readiness = (await (await fetch(`${url}/health/readiness`)).json()) as Record<string, string>
    expect(readiness.limits).toBe('calls of limited keys are refused: limits_without_redis is `refuse`')
    redis.restore()
    await until(async () => (await ask(url, limited)).status === 200, 'it is shared again')
  }, 120_000)
})
