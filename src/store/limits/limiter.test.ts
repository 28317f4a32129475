/** Limits: never more than allowed in any 60 seconds, all scopes or none, across replicas with Redis. */
import { afterEach, describe, expect, test } from 'bun:test'
import { RedisClient } from 'bun'
import { connect, createServer } from 'node:net'
import type { Limiter, LimitScope, LimitVerdict } from '../../core/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import { systemClock } from '../../lib/clock.ts'
import { MemoryLimiter } from './limiter-memory.ts'
import { RedisLimiter } from './limiter-redis.ts'
import { refusalOfRedis } from './redis-refusal.ts'

class TestClock implements Clock {
  nowMs = 1_000_000
  epochMs = () => this.nowMs
  monotonicMs = () => this.nowMs
}

const scope = (id: string, more: Partial<LimitScope> = {}): LimitScope => ({
  id,
  requestsPerMinute: null,
  tokensPerMinute: null,
  parallelRequests: null,
  ...more,
})
const release = (verdict: LimitVerdict, tokens = 0) => verdict.allowed && verdict.release(tokens)

test('never more than the limit in any 60 s, and all of it when asked steadily', () => {
  let seed = 11
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648
  for (const limit of [1, 3, 10, 57]) {
    const clock = new TestClock()
    const limiter = new MemoryLimiter(clock)
    const taken: number[] = []
    for (let at = 0; at < 4000; at++) {
      clock.nowMs += random() * (random() < 0.05 ? 20_000 : 300)
      const verdict = limiter.take([scope('key:a', { requestsPerMinute: limit })], 0)
      if (verdict.allowed) taken.push(clock.nowMs)
      release(verdict)
    }
    let from = 0
    for (const [at, now] of taken.entries()) {
      while (taken[from]! <= now - 60_000) from++
      expect(at - from + 1).toBeLessThanOrEqual(limit)
    }
    expect(taken.length).toBeGreaterThan(limit * 3)
  }
})

test('retry-after is the time after which a request passes', () => {
  const clock = new TestClock()
  const limiter = new MemoryLimiter(clock)
  const ask = () => limiter.take([scope('key:a', { requestsPerMinute: 2 })], 0)
  ask()
  clock.nowMs += 7_000
  ask()
  const refused = ask()
  if (refused.allowed) throw new Error('a third request passed')
  expect(refused.retryAfterMs).toBeWithin(52_000, 53_501)
  clock.nowMs += refused.retryAfterMs - 300
  expect(ask().allowed).toBe(false)
  clock.nowMs += 300
  expect(ask().allowed).toBe(true)
})

test('retry-after and reset are never above the window, at whatever moment the limit was used up', () => {
  for (let phaseMs = 0; phaseMs < 500; phaseMs += 10) {
    const clock = new TestClock()
    clock.nowMs += phaseMs
    const limiter = new MemoryLimiter(clock)
    const scopes = [scope('key:a', { requestsPerMinute: 1, tokensPerMinute: 10 })]
    const ask = (limit: object) => limiter.take([scope('key:a', limit)], 5)
    limiter.take(scopes, 10)
    for (const refused of [ask({ requestsPerMinute: 1 }), ask({ tokensPerMinute: 10 })]) {
      if (refused.allowed) throw new Error('a second request passed')
      expect(refused.retryAfterMs).toBeWithin(59_000, 60_001)
      expect(refused.state.resetMs).toBeWithin(59_000, 60_001)
    }
  }
})

test('requests and tokens of one scope may be taken one after the other: each is booked once', async () => {
  await expectSeparateTakes(new MemoryLimiter(new TestClock()), 'key:a')
})

async function expectSeparateTakes(limiter: Limiter, id: string): Promise<void> {
  const head = scope(id, { requestsPerMinute: 2, parallelRequests: 1 })
  const tokens = scope(id, { tokensPerMinute: 100 })
  const first = await limiter.take([head], 0)
  const second = await limiter.take([tokens], 60)
  expect([first.allowed, second.allowed]).toEqual([true, true])
  expect((await limiter.take([head], 0)).allowed).toBe(false)
  release(first, 10)
  release(second, 10)
  // The releases of a far limiter arrive later.
  const deadlineMs = performance.now() + 5000
  let next = await limiter.take([head], 0)
  while (!next.allowed && performance.now() < deadlineMs) {
    await Bun.sleep(5)
    next = await limiter.take([head], 0)
  }
  expect(next).toMatchObject({ allowed: true, requests: { remaining: 0 } })
  let held = await limiter.take([tokens], 90)
  while (!held.allowed && performance.now() < deadlineMs) {
    await Bun.sleep(5)
    held = await limiter.take([tokens], 90)
  }
  expect(held).toMatchObject({ allowed: true, tokens: { remaining: 0 } })
  expect((await limiter.take([tokens], 1)).allowed).toBe(false)
}

test('a refusal in one scope takes nothing from the others', () => {
  const limiter = new MemoryLimiter(new TestClock())
  const user = scope('user:u', { requestsPerMinute: 5 })
  for (let at = 0; at < 3; at++) limiter.take([scope('key:a', { requestsPerMinute: 2 }), user], 0)
  const other = limiter.take([scope('key:b', { requestsPerMinute: 9 }), user], 0)
  expect(other).toMatchObject({ allowed: true, requests: { limit: 5, remaining: 2 } })
})

test('tokens are booked as used, and the difference is given back', () => {
  const limiter = new MemoryLimiter(new TestClock())
  const limits = [scope('key:a', { tokensPerMinute: 100 })]
  release(limiter.take(limits, 60), 10)
  const second = limiter.take(limits, 60)
  expect(second).toMatchObject({ allowed: true, tokens: { remaining: 30 } })
  release(second, 95)
  expect(limiter.take(limits, 1)).toMatchObject({ allowed: false, kind: 'tokens' })
})

test('parallel slots come back once, however often they are released', () => {
  const limiter = new MemoryLimiter(new TestClock())
  const limits = [scope('key:a', { parallelRequests: 2 })]
  const [a, b] = [limiter.take(limits, 0), limiter.take(limits, 0)]
  expect(limiter.take(limits, 0)).toMatchObject({ allowed: false, kind: 'parallel_requests' })
  release(a)
  release(a)
  expect(limiter.take(limits, 0).allowed).toBe(true)
  expect(limiter.take(limits, 0).allowed).toBe(false)
  release(b)
})

test('who does not call any more is forgotten', () => {
  const clock = new TestClock()
  const limiter = new MemoryLimiter(clock)
  for (let at = 0; at < 1000; at++) release(limiter.take([scope(`key:${at}`, { requestsPerMinute: 1 })], 0))
  clock.nowMs += 120_000
  limiter.take([scope('key:x', { requestsPerMinute: 1 })], 0)
  expect(limiter.size).toBe(1)
})

const url = process.env.TEST_REDIS_URL
if (!url) console.log('skipped: limits across replicas (set TEST_REDIS_URL)')

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
  const openAdmin = () => {
    const admin = new RedisClient(url!)
    opened.push(admin)
    return admin
  }
  const until = async (what: string, condition: () => unknown) => {
    const from = performance.now()
    while (!(await condition())) {
      if (performance.now() - from > 5000) throw new Error(`not within 5 s: ${what}`)
      await Bun.sleep(20)
    }
  }
  const newKey = (more: Partial<LimitScope>) => [scope(`key:${crypto.randomUUID()}`, more)]
  const countsOf = (limits: LimitScope[]) => `{modelgate}:limit-counts:${limits[0]!.id}`
  const slotsOf = (limits: LimitScope[]) => `{modelgate}:limit-slots:${limits[0]!.id}`
  const callOf = (id: string) => `{modelgate}:limit-call:${id}`
  const secondOf = async (admin: RedisClient) => Number(((await admin.send('TIME', [])) as string[])[0])
  /** Ids of calls that hold a slot, or did until it lapsed. */
  const slots = async (admin: RedisClient, limits: LimitScope[]) =>
    (await admin.send('ZRANGE', [slotsOf(limits), '0', '-1'])) as string[]
  const leaseEnd = async (admin: RedisClient, limits: LimitScope[], id: string) =>
    Number(await admin.send('ZSCORE', [slotsOf(limits), id]))
  /** As if the time of its lease had passed. */
  const lapse = async (admin: RedisClient, limits: LimitScope[]) => {
    const past = String((await secondOf(admin)) - 1)
    for (const id of await slots(admin, limits)) await admin.send('ZADD', [slotsOf(limits), 'XX', past, id])
  }

  test('two replicas together let through the limit and no more', async () => {
    const replicas = await Promise.all([open(), open()])
    const limits = newKey({ requestsPerMinute: 20, tokensPerMinute: 10_000 })
    const verdicts = await Promise.all(Array.from({ length: 60 }, (_, at) => replicas[at % 2]!.limiter.take(limits, 5)))
    expect(verdicts.filter(one => one.allowed).length).toBe(20)
    const refused = verdicts.find(one => !one.allowed)!
    expect(refused).toMatchObject({ allowed: false, kind: 'requests', state: { limit: 20, remaining: 0 } })
  })

  test('slots are shared and given back', async () => {
    const replicas = await Promise.all([open(), open()])
    const limits = newKey({ parallelRequests: 1 })
    const held = await replicas[0]!.limiter.take(limits, 0)
    expect((await replicas[1]!.limiter.take(limits, 0)).allowed).toBe(false)
    release(held)
    release(held)
    await Bun.sleep(50)
    expect((await replicas[1]!.limiter.take(limits, 0)).allowed).toBe(true)
    expect((await replicas[0]!.limiter.take(limits, 0)).allowed).toBe(false)
  })

  test('tokens are booked as used; too many go back to where they were taken, and make no room twice', async () => {
    const { limiter } = await open()
    const admin = openAdmin()
    const limits = newKey({ tokensPerMinute: 1000, parallelRequests: 5 })
    const first = await limiter.take(limits, 100)
    expect(first).toMatchObject({ tokens: { limit: 1000, remaining: 900 } })
    release(first, 30)
    const second = await limiter.take(limits, 100)
    expect(second).toMatchObject({ tokens: { remaining: 870 } })
    release(second, 250.4)
    expect(await limiter.take(limits, 0)).toMatchObject({ tokens: { remaining: 720 } })
    const old = await limiter.take(limits, 50)
    // A call longer than the window: what it took has left it.
    for (const name of (await admin.send('HKEYS', [countsOf(limits)])) as string[])
      if (name.startsWith('t')) await admin.send('HDEL', [countsOf(limits), name])
    const ids = await slots(admin, limits)
    for (const id of ids) await admin.send('SET', [callOf(id), '1000', 'XX', 'KEEPTTL'])
    release(old, 0)
    expect(await limiter.take(limits, 0)).toMatchObject({ tokens: { remaining: 1000 } })
  })

  test('what is released while Redis stands still is released once it answers, tokens and all', async () => {
    const wire = await openWire()
    opened.push(wire)
    const [one, two] = await Promise.all([open(wire.url), open()])
    const admin = openAdmin()
    const limits = newKey({ parallelRequests: 2, tokensPerMinute: 10_000 })
    expect(one.changes).toEqual([])
    const held = [await one.limiter.take(limits, 10), await one.limiter.take(limits, 10)]
    wire.hold()
    // Its script runs at the end of the stall, when no call waits for it any more.
    const alone = await one.limiter.take(limits, 10)
    expect([alone.allowed, one.limiter.reachable]).toEqual([true, false])
    release(held[0]!, 510)
    release(held[1]!, 1010)
    release(alone, 5)
    await Bun.sleep(1200)
    expect(await slots(admin, limits)).toHaveLength(2)
    wire.passOn()
    await until('it sees Redis again', () => one.limiter.reachable)
    expect(one.changes).toEqual(['timeout: Redis gave no answer in time', true])
    expect(await slots(admin, limits)).toEqual([])
    const [a, b, c] = [
      await two.limiter.take(limits, 0),
      await two.limiter.take(limits, 0),
      await two.limiter.take(limits, 0),
    ]
    expect([a.allowed, b.allowed, c.allowed]).toEqual([true, true, false])
    expect(a).toMatchObject({ tokens: { remaining: 10_000 - 510 - 1010 } })
  })

  test('the slots of a killed replica lapse within a minute; those of a living one are renewed', async () => {
    const [killed, living] = await Promise.all([open(), open(url, 100)])
    const admin = openAdmin()
    const limits = newKey({ parallelRequests: 2 })
    expect((await killed.limiter.take(limits, 0)).allowed).toBe(true)
    killed.limiter.close()
    const held = await living.limiter.take(limits, 0)
    expect((await living.limiter.take(limits, 0)).allowed).toBe(false)
    const second = await secondOf(admin)
    const ids = await slots(admin, limits)
    expect(ids).toHaveLength(2)
    for (const id of ids) expect((await leaseEnd(admin, limits, id)) - second).toBeWithin(30, 61)
    await lapse(admin, limits)
    await until('its leases are renewed', async () => {
      const ends = await Promise.all(ids.map(id => leaseEnd(admin, limits, id)))
      return ends.some(end => end > second)
    })
    expect((await living.limiter.take(limits, 0)).allowed).toBe(true)
    expect((await living.limiter.take(limits, 0)).allowed).toBe(false)
    expect(await slots(admin, limits)).toHaveLength(2)
    release(held)
    await until('it is given back', async () => (await slots(admin, limits)).length === 1)
    expect((await living.limiter.take(limits, 0)).allowed).toBe(true)
  })

  test("a call that ends after its slot lapsed books its tokens once, and frees no other call's slot", async () => {
    const [one, two] = await Promise.all([open(), open()])
    const admin = openAdmin()
    const limits = newKey({ parallelRequests: 1, tokensPerMinute: 1000 })
    const late = await one.limiter.take(limits, 100)
    await lapse(admin, limits)
    const next = await two.limiter.take(limits, 0)
    expect(next).toMatchObject({ allowed: true, tokens: { remaining: 900 } })
    release(late, 300)
    release(late, 300)
    await until('it is booked', async () => {
      const all = (await admin.send('HGETALL', [countsOf(limits)])) as Record<string, string>
      return (
        Object.entries(all).reduce((sum, [name, value]) => sum + (name.startsWith('t') ? Number(value) : 0), 0) === 300
      )
    })
    expect((await one.limiter.take(limits, 0)).allowed).toBe(false)
    release(next, 0)
    expect(await two.limiter.take(limits, 0)).toMatchObject({ allowed: true, tokens: { remaining: 700 } })
  })

  test('a release whose answer came too late is sent again and books once', async () => {
    const wire = await openWire()
    opened.push(wire)
    const { limiter } = await open(wire.url)
    const limits = newKey({ tokensPerMinute: 1000 })
    const [up, down] = [await limiter.take(limits, 100), await limiter.take(limits, 100)]
    wire.hold()
    release(up, 300)
    release(down, 40)
    await until('it gives up waiting', () => !limiter.reachable)
    wire.passOn()
    await until('it sees Redis again', () => limiter.reachable)
    expect(await limiter.take(limits, 0)).toMatchObject({ tokens: { remaining: 1000 - 300 - 40 } })
  })

  test('requests and tokens of one scope may be taken one after the other: each is booked once', async () => {
    const { limiter } = await open()
    await expectSeparateTakes(limiter, newKey({})[0]!.id)
  })

  test('running calls do not slow a take down: no slots where none are limited, else one', async () => {
    const { limiter } = await open()
    const admin = openAdmin()
    const user = newKey({ requestsPerMinute: 1000, tokensPerMinute: 1e6 })
    const key = newKey({ parallelRequests: 400, tokensPerMinute: 1e6 })
    const from = await secondOf(admin)
    const held: LimitVerdict[] = []
    for (let at = 0; at < 400; at++) held.push(await limiter.take([...user, ...key], 1))
    const secondsPassed = (await secondOf(admin)) - from + 1
    expect(held.every(one => one.allowed)).toBe(true)
    for (const limits of [user, key])
      expect(await admin.send('HLEN', [countsOf(limits)])).toBeLessThanOrEqual(2 * secondsPassed)
    expect(await admin.send('EXISTS', [slotsOf(user)])).toBe(0)
    const ids = await slots(admin, key)
    expect(ids).toHaveLength(400)
    expect(await limiter.take([...user, ...key], 1)).toMatchObject({ allowed: false, kind: 'parallel_requests' })
    // The counts of a call of hours are gone when it ends; what it books then must not stay for ever.
    await admin.send('DEL', [countsOf(user), countsOf(key)])
    for (const one of held) release(one, 2)
    await until('all are free', async () => (await slots(admin, key)).length === 0)
    for (const limits of [user, key]) expect(await admin.send('TTL', [countsOf(limits)])).toBeWithin(60, 121)
    expect(await admin.send('EXISTS', ids.map(callOf))).toBe(0)
  })

  test('very many lapsed slots and old counts stop no take, and go in pieces', async () => {
    const { limiter } = await open()
    const admin = openAdmin()
    const limits = newKey({ requestsPerMinute: 10, parallelRequests: 2 })
    const fill = `for i = 1, 20000 do
      redis.call('ZADD', KEYS[1], i, 'lapsed-' .. i)
      redis.call('HSET', KEYS[2], 'r' .. i, 5)
    end`
    await admin.send('EVAL', [fill, '2', slotsOf(limits), countsOf(limits)])
    const first = await limiter.take(limits, 0)
    // On a slow machine the script may end when no call waits for it any more: it must have run all the same.
    await until('old counts are gone', async () => Number(await admin.send('HLEN', [countsOf(limits)])) < 20)
    expect(await admin.send('ZCARD', [slotsOf(limits)])).toBe(19_001)
    await until('Redis decides', () => limiter.reachable)
    release(first)
    await until('it is given back', async () => (await admin.send('ZCARD', [slotsOf(limits)])) === 19_000)
    const verdicts = [await limiter.take(limits, 0), await limiter.take(limits, 0), await limiter.take(limits, 0)]
    expect(verdicts.map(one => one.allowed)).toEqual([true, true, false])
  })

  test('slots that Redis forgot come back, and those released meanwhile do not', async () => {
    const { limiter } = await open(url, 100)
    const admin = openAdmin()
    const limits = newKey({ parallelRequests: 2, tokensPerMinute: 1000 })
    const [kept, gone] = [await limiter.take(limits, 0), await limiter.take(limits, 0)]
    const ids = await slots(admin, limits)
    await admin.send('DEL', [slotsOf(limits), countsOf(limits), ...ids.map(callOf)])
    release(gone)
    await until('it is back', async () => (await slots(admin, limits)).length > 0)
    expect(await slots(admin, limits)).toHaveLength(1)
    expect(await admin.send('EXISTS', ids.map(callOf))).toBe(1)
    release(kept, 30)
    await until('all are free', async () => (await slots(admin, limits)).length === 0)
    // What the one that came back used is booked, too.
    expect(await limiter.take(limits, 0)).toMatchObject({ tokens: { remaining: 970 } })
  })

  test('a Redis that restarted empty between two probes gets the slots again within a second or two', async () => {
    const { limiter } = await open(url)
    const admin = openAdmin()
    const limits = newKey({ parallelRequests: 2 })
    const held = [await limiter.take(limits, 0), await limiter.take(limits, 0)]
    const ids = await slots(admin, limits)
    const probes = (await admin.send('KEYS', ['{modelgate}:limit-probe:*'])) as string[]
    expect(probes.length).toBeGreaterThan(0)
    await admin.send('DEL', [slotsOf(limits), ...ids.map(callOf), ...probes])
    await until('they are back', async () => (await slots(admin, limits)).length === 2)
    expect((await limiter.take(limits, 0)).allowed).toBe(false)
    for (const one of held) release(one)
  })

  test('a Redis that forgot its scripts is told them again by the next call', async () => {
    const { limiter, changes } = await open()
    const limits = newKey({ requestsPerMinute: 100, parallelRequests: 20 })
    await openAdmin().send('SCRIPT', ['FLUSH'])
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => limiter.take(limits, 0)))
    expect(verdicts.every(one => one.allowed)).toBe(true)
    expect(await limiter.take(limits, 0)).toMatchObject({ allowed: false, kind: 'parallel_requests' })
    expect(changes).toEqual([])
  })

  test('a refused password and a Redis that takes no writes are named; both are noticed without a call', async () => {
    const admin = openAdmin()
    const name = `user-${crypto.randomUUID()}`
    const own = new URL(url!)
    own.username = name
    own.password = 'pass:w@rd'
    const { limiter, changes } = await open(own.href)
    expect([limiter.reachable, changes]).toEqual([false, [expect.stringMatching(/^WRONGPASS /)]])
    expect(changes.join()).not.toContain('w@rd')
    await admin.send('ACL', ['SETUSER', name, 'on', '>pass:w@rd', '~{modelgate}:*', '+@all'])
    try {
      await until('it is let in', () => limiter.reachable)
      expect((await limiter.take(newKey({ requestsPerMinute: 1 }), 0)).allowed).toBe(true)
      await admin.send('ACL', ['SETUSER', name, '-set'])
      await until('it is noticed', () => !limiter.reachable)
      await Bun.sleep(1200)
      await admin.send('ACL', ['SETUSER', name, '+set'])
      await until('it is back', () => limiter.reachable)
      expect(changes.slice(1)).toEqual([true, expect.stringContaining("can't run this command"), true])
    } finally {
      await admin.send('ACL', ['DELUSER', name])
    }
  }, 15_000)
})

test('why Redis refuses a connection, for every answer and however its bytes are split', async () => {
  const answering = async (pieces: string[], pauseMs = 5) => {
    let asked = ''
    const server = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        async data(socket, bytes) {
          asked += bytes.toString()
          if (asked.length > bytes.length) return
          for (const piece of pieces) {
            socket.write(piece)
            await Bun.sleep(pauseMs)
          }
          if (pieces.length === 0) socket.end()
        },
      },
    })
    const reason = await refusalOfRedis(`redis://me:p%40ss@127.0.0.1:${server.port}`)
    server.stop(true)
    expect(asked).toBe('*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$4\r\np@ss\r\n*1\r\n$4\r\nPING\r\n')
    return reason
  }
  expect(await answering(['+OK\r\n+PONG\r\n'])).toBeUndefined()
  const refusal = '-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n'
  expect(await answering([refusal])).toBe('NOAUTH Authentication required.')
  expect(await answering([...refusal.slice(0, 40)])).toBe('NOAUTH Authentication required.')
  expect(await answering(['+OK\r\n', '-LOADING Redis is loading\r\n'])).toBe('LOADING Redis is loading')
  expect(await answering([])).toContain('closed the connection')
  expect(await answering(['+OK\r\n'], 700)).toContain('timeout')
  expect(await refusalOfRedis('redis+unix:///run/redis.sock')).toBeUndefined()
  expect(await refusalOfRedis('not a url')).toBeUndefined()
})
