/**
 * Postgres and Redis go away under load and come back: known keys keep working, every call is in the ledger exactly
 * once afterwards, readiness tells. Each is reached through a wire that the test cuts or holds still.
 */
import { SQL } from 'bun'
import { afterEach, describe, expect, test } from 'bun:test'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import type { TcpProxy } from '../support/network/tcp-proxy.ts'
import { backends, standardConfig, startGateway } from './harness.ts'
import type { Backend, Gateway } from './harness.ts'
import { until } from '../support/until.ts'

const real = backends().find(one => one.name !== 'SQLite')

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Wired {
  readonly gateway: Gateway
  /** Beside the wire. */
  readonly databaseUrl: string
  readonly postgres: TcpProxy
  readonly redis: TcpProxy
}

async function wire(url: string): Promise<{ proxy: TcpProxy; url: string }> {
  const there = new URL(url)
  const proxy = await startTcpProxy(there.hostname, Number(there.port || (there.protocol === 'redis:' ? 6379 : 5432)))
  cleanups.push(() => proxy.close())
  there.hostname = '127.0.0.1'
  there.port = String(proxy.port)
  return { proxy, url: there.href }
}

async function startWired(config = standardConfig): Promise<Wired> {
  let postgres: TcpProxy | undefined
  let redis: TcpProxy | undefined
  let databaseUrl = ''
  const backend: Backend = {
    name: 'wired',
    async open() {
      const opened = await real!.open()
      databaseUrl = opened.databaseUrl!
      const database = await wire(opened.databaseUrl!)
      const limiter = await wire(opened.redisUrl!)
      postgres = database.proxy
      redis = limiter.proxy
      return { databaseUrl: database.url, redisUrl: limiter.url, close: () => opened.close() }
    },
  }
  const gateway = await startGateway({ backend, config })
  cleanups.push(() => gateway.stop())
  return { gateway, databaseUrl, postgres: postgres!, redis: redis! }
}

const call = (gateway: Gateway, key: string, stream = false) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'chat-model', stream, messages: [{ role: 'user', content: 'tokens: 4' }] }),
  })
const readiness = async (gateway: Gateway) => {
  const response = await fetch(`${gateway.url}/health/readiness`)
  return { ...((await response.json()) as { db: string; ledger: string }), status: response.status }
}

/** What was open before is read-only once it is opened anew. */
async function setReadOnly({ databaseUrl, postgres }: Wired, state: 'on' | 'off'): Promise<void> {
  const sql = new SQL(databaseUrl, { max: 1 })
  await sql.begin('read write', tx =>
    tx.unsafe(`alter database ${new URL(databaseUrl).pathname.slice(1)} set default_transaction_read_only = ${state}`),
  )
  await sql.close()
  postgres.cut()
  postgres.restore()
}

/** Clients that call without a pause; a call counts once its answer was read to its end. */
function load(gateway: Gateway, key: string, clients = 8) {
  const complete = new Set<string>()
  const wrong: string[] = []
  let slowestMs = 0
  let running = true
  const client = async (stream: boolean) => {
    while (running) {
      const from = performance.now()
      const response = await call(gateway, key, stream)
      const text = await response.text()
      if (response.status === 200 && (!stream || text.endsWith('data: [DONE]\n\n')))
        complete.add(response.headers.get('x-request-id')!)
      else wrong.push(`${response.status} ${text.slice(0, 200)}`)
      slowestMs = Math.max(slowestMs, performance.now() - from)
      await Bun.sleep(20)
    }
  }
  const done = Promise.all(Array.from({ length: clients }, (_, at) => client(at % 2 === 0)))
  const stop = async () => {
    running = false
    await done
  }
  cleanups.push(stop)
  return {
    complete,
    wrong,
    slowestMs: () => slowestMs,
    stop,
  }
}

/** Rows of the key, once the ledger can be read again. */
async function ledgerIds(gateway: Gateway, route: string): Promise<string[]> {
  await until(async () => (await gateway.admin('/spend/logs/v2?page_size=1')).status === 200, 'the ledger can be read')
  return (await gateway.rows()).filter(row => row.route === route).map(row => row.request_id)
}

describe.skipIf(!real)('Postgres goes away and comes back', () => {
  for (const [how, outageMs] of [
    ['cut', 1500],
    ['stall', 3000],
  ] as const)
    test(`${how}: known keys keep working, no call is lost or doubled`, async () => {
      const wired = await startWired()
      const { gateway, postgres } = wired
      const key = await gateway.key()
      const unknown = await gateway.key()
      expect((await call(gateway, key)).status).toBe(200)
      expect(await readiness(gateway)).toMatchObject({ status: 200, db: 'connected', ledger: 'ok' })
      const clients = load(gateway, key)
      await until(() => clients.complete.size > 20, 'clients are answered')

      postgres[how]()
      const before = clients.complete.size
      // What needs the database fails with the reason, and does not hang.
      const answers = await Promise.all([
        call(gateway, unknown),
        gateway.admin('/key/generate', {}),
        gateway.admin('/spend/logs'),
        gateway.admin('/v1/threads', {}),
        gateway.admin('/v1/responses/resp_1'),
        gateway.admin('/v1/batches'),
      ])
      for (const refused of answers) {
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
        const { error } = (await refused.json()) as { error: { message: string } }
        expect(error.message).toMatch(/cannot be (reached|read)/)
        expect(JSON.stringify(error)).not.toMatch(/postgres|ECONN|127\.0\.0\.1|ERR_/i)
      }
      await until(async () => (await readiness(gateway)).db === 'disconnected', 'readiness shows it')
      await Bun.sleep(outageMs)
      // Ready all the same: calls work.
      expect((await readiness(gateway)).status).toBe(200)
      await until(() => clients.complete.size > before + 100, 'clients are answered meanwhile')
      expect((await readiness(gateway)).db).toBe('disconnected')

      postgres.restore()
      await until(async () => (await readiness(gateway)).db === 'connected', 'readiness shows it')
      await until(async () => (await gateway.admin('/key/generate', {})).status === 200, 'keys can be made')
      await until(async () => (await call(gateway, unknown)).status === 200, 'the other key works')
      const back = clients.complete.size
      await until(() => clients.complete.size > back + 20, 'clients are answered after it')
      await clients.stop()
      expect(clients.wrong).toEqual([])
      const ids = await ledgerIds(gateway, '/v1/chat/completions')
      const lost = [...clients.complete].filter(id => !ids.includes(id))
      console.log(
        `Postgres ${how}: ${clients.complete.size} calls, ${ids.length} rows, ${lost.length} lost, ` +
          `slowest call ${clients.slowestMs().toFixed(0)} ms`,
      )
      expect([lost, new Set(ids).size]).toEqual([[], ids.length])
      if (how === 'stall') return

      await setReadOnly(wired, 'on')
      await until(async () => (await readiness(gateway)).db === 'read-only', 'readiness shows it')
      expect([(await readiness(gateway)).status, (await call(gateway, key)).status]).toEqual([200, 200])
      await setReadOnly(wired, 'off')
      await until(async () => (await readiness(gateway)).db === 'connected', 'readiness shows it')
    }, 120_000)

  test('a key that was revoked just before the cut stays revoked', async () => {
    const { gateway, postgres } = await startWired()
    const key = await gateway.key()
    expect((await call(gateway, key)).status).toBe(200)
    await gateway.admin('/key/block', { key })
    postgres.cut()
    expect([401, 503]).toContain((await call(gateway, key)).status)
    await Bun.sleep(1500)
    expect([401, 503]).toContain((await call(gateway, key)).status)
    postgres.restore()
    await until(async () => (await call(gateway, key)).status === 401, 'it is known again')
  }, 120_000)
})

describe.skipIf(!real)('Redis goes away and comes back', () => {
  for (const how of ['cut', 'stall'] as const)
    test(`${how}: each replica admits the configured part of a limit by itself, and its count survives`, async () => {
      const alone = `${standardConfig}general_settings: { limits_without_redis: 0.5 }\n`
      const { gateway, redis } = await startWired(alone)
      const free = await gateway.key({ rpm_limit: 100_000 })
      expect((await call(gateway, free)).status).toBe(200)
      const clients = load(gateway, free)
      await until(() => clients.complete.size > 20, 'clients are answered')
      const reported = async () =>
        ((await (await fetch(`${gateway.url}/health/readiness`)).json()) as { redis: string }).redis
      redis[how]()
      const limited = await gateway.key({ rpm_limit: 10 })
      await until(async () => (await reported()) === 'disconnected', 'readiness shows it')
      const statuses: number[] = []
      for (let at = 0; at < 8; at++) statuses.push((await call(gateway, limited)).status)
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
      await Bun.sleep(1500)
      redis.restore()
      await until(async () => (await reported()) === 'connected', 'Redis decides again')
      // What was spent meanwhile is reported before anything is granted.
      const after: number[] = []
      for (let at = 0; at < 7; at++) after.push((await call(gateway, limited)).status)
      expect(after).toEqual([200, 200, 200, 200, 200, 429, 429])
      await clients.stop()
      console.log(`Redis ${how}: ${clients.complete.size} calls, slowest ${clients.slowestMs().toFixed(0)} ms`)
      expect(clients.wrong).toEqual([])
      const ids = await ledgerIds(gateway, '/v1/chat/completions')
      expect([...clients.complete].filter(id => !ids.includes(id))).toEqual([])
    }, 120_000)
})
