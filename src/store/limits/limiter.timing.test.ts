import { afterEach, describe, expect, test } from 'bun:test'
import { connect, createServer } from 'node:net'
import type { LimitScope } from '../../core/limits.ts'
import { systemClock } from '../../lib/clock.ts'
import { MemoryLimiter } from './limiter-memory.ts'
import { RedisLimiter } from './limiter-redis.ts'

const scope = (id: string, more: Partial<LimitScope> = {}): LimitScope => ({
  id,
  requestsPerMinute: null,
  tokensPerMinute: null,
  parallelRequests: null,
  ...more,
})

const url = process.env.TEST_REDIS_URL

/** A wire to Redis that can hold everything back and pass it on later, as a Redis does that stands still. */
async function openWire() {
  const there = new URL(url!)
  const [host, port] = [there.hostname, Number(there.port || 6379)]
  let held: (() => void)[] | undefined
  const pass = (deliver: () => void) => (held ? void held.push(deliver) : deliver())
  const server = createServer(client => {
    const redis = connect(port, host)
    client.on('data', bytes => pass(() => redis.write(bytes)))
    redis.on('data', bytes => pass(() => client.write(bytes)))
    for (const [one, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => pass(() => other.destroy()))
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  there.host = `127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    url: there.href,
    hold: () => void (held = []),
    passOn() {
      const waiting = held ?? []
      held = undefined
      for (const deliver of waiting) deliver()
    },
    close: () => void server.close(),
  }
}

describe.if(url !== undefined)('on Redis', () => {
  const opened: { close(): void }[] = []

  afterEach(() => opened.splice(0).forEach(one => one.close()))

  const open = async (address = url!, renewalMs?: number) => {
    const changes: (boolean | string)[] = []
    const limiter = new RedisLimiter({
      url: address,
      fallback: new MemoryLimiter(systemClock),
      reportReachable: (now, reason) => changes.push(now || reason!),
      ...(renewalMs !== undefined && { renewalMs }),
    })
    await limiter.start()
    opened.push(limiter)
    return { limiter, changes }
  }

  const newKey = (more: Partial<LimitScope>) => [scope(`key:${crypto.randomUUID()}`, more)]

  test('a burst that keeps this event loop busy is no stall of Redis; a stall is noticed within 50 ms', async () => {
    const wire = await openWire()
    opened.push(wire)
    const [direct, held] = [await open(), await open(wire.url)]
    const limits = newKey({ requestsPerMinute: 10_000 })
    const busy = (ms: number) => {
      for (const from = performance.now(); performance.now() - from < ms; );
    }
    const verdicts = Promise.all(Array.from({ length: 500 }, () => direct.limiter.take(limits, 0)))
    busy(80)
    await new Promise(resolve => setImmediate(resolve))
    busy(80)
    for (const verdict of await verdicts) expect(verdict.allowed).toBe(true)
    expect([direct.limiter.reachable, direct.changes]).toEqual([true, []])
    expect(await direct.limiter.take(limits, 0)).toMatchObject({ requests: { remaining: 10_000 - 501 } })
    wire.hold()
    const from = performance.now()
    expect((await held.limiter.take(limits, 0)).allowed).toBe(true)
    expect(performance.now() - from).toBeWithin(45, 120)
    expect(held.limiter.reachable).toBe(false)
  })

  test('without Redis each replica goes on by itself, within 100 ms', async () => {
    const { limiter, changes } = await open('redis://127.0.0.1:1')
    expect([limiter.reachable, changes]).toEqual([false, ['ECONNREFUSED']])
    const from = performance.now()
    const verdict = await limiter.take([scope('key:a', { requestsPerMinute: 1 })], 0)
    expect(verdict.allowed).toBe(true)
    expect(performance.now() - from).toBeLessThan(100)
    expect(changes).toHaveLength(1)
  })
})
