/** Limits across replicas: exact over any distance to Redis and through its failures, with few round trips. */
import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { RedisClient } from 'bun'
import type { LimitScope, LimitVerdict } from '../../core/tenancy/limits.ts'
import { exchangeScript, limitKeys, parametersOf, readExchange } from './grant-script.ts'
import type { CounterKind } from './exchange-terms.ts'
import type { Exchange } from './grant-script.ts'
import {
  emptied,
  installation,
  openReplica,
  openReplicas,
  redisDatabase,
} from '../../../tests/support/redis-replicas.ts'
import type { Replica } from '../../../tests/support/redis-replicas.ts'
import { until } from '../../../tests/support/until.ts'

const inRedis = limitKeys(installation)

const url = redisDatabase('limiter')
if (url === undefined) console.log('skipped: limits across replicas (set TEST_REDIS_URL)')

type Allowed = Extract<LimitVerdict, { allowed: true }>
type Refused = Extract<LimitVerdict, { allowed: false }>

const newKey = (more: Partial<LimitScope>): LimitScope[] => [
  {
    id: `key:${crypto.randomUUID()}`,
    requestsPerMinute: null,
    tokensPerMinute: null,
    parallelRequests: null,
    ...more,
  },
]
const release = (verdict: LimitVerdict, tokens = 0) => verdict.allowed && verdict.release(tokens)
const allowedOf = (verdicts: LimitVerdict[]) => verdicts.filter((one): one is Allowed => one.allowed)
const refusedOf = (verdicts: LimitVerdict[]) => verdicts.filter((one): one is Refused => !one.allowed)

describe.if(url !== undefined)('on Redis', () => {
  const opened: { close(): unknown }[] = []
  let admin: RedisClient
  beforeAll(async () => {
    admin = new RedisClient(url!)
    await emptied(admin)
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(one => one.close()))
    await emptied(admin)
  })

  const open = openReplica(opened, url!)
  const openThree = openReplicas(open)
  const burst = (replicas: readonly Replica[], limits: readonly LimitScope[], { calls = 500, tokens = 0 } = {}) =>
    Promise.all(Array.from({ length: calls }, (_, at) => replicas[at % replicas.length]!.take(limits, tokens)))
  const nowMs = async () => {
    const [second, micros] = (await admin.send('TIME', [])) as [string, string]
    return Number(second) * 1000 + Math.floor(Number(micros) / 1000)
  }
  /** What Redis knows as spent by all replicas. */
  const spentIn = async (limits: readonly LimitScope[], kind: 'requests' | 'tokens') => {
    const leases = (await admin.send('HGETALL', [inRedis.counter(kind, limits[0]!.id)])) as Record<string, string>
    const pairs = Object.values(leases).flatMap(value => JSON.parse(value.split(' ')[4]!) as number[])
    return pairs.reduce((sum, value, at) => sum + (at % 2 === 1 ? value : 0), 0)
  }
  /** As if these replicas had been heard last `ago` milliseconds ago, all reports included. */
  const silence = async (limits: readonly LimitScope[], kind: CounterKind, agoMs: number) => {
    const at = (await nowMs()) - agoMs
    const key = inRedis.counter(kind, limits[0]!.id)
    const leases = (await admin.send('HGETALL', [key])) as Record<string, string>
    for (const [replica, value] of Object.entries(leases)) {
      const heard = (await admin.send('HGET', [inRedis.replicas, replica])) as string
      await admin.send('HSET', [inRedis.replicas, replica, heard.replace(/^\d+/, String(at))])
      await admin.send('HSET', [key, replica, value.replace(/ \d+/, ` ${at}`)])
    }
  }

  test('bursts over three replicas at 5, 50 and 200 ms let through the limit: no more, and no less', async () => {
    const replicas = await openThree()
    for (let round = 0; round < 3; round++) {
      const requests = newKey({ requestsPerMinute: 100 })
      const tokens = newKey({ tokensPerMinute: 3000 })
      const parallel = newKey({ parallelRequests: 20 })
      const [byRequests, byTokens, byCalls] = await Promise.all([
        burst(replicas, requests),
        burst(replicas, tokens, { tokens: 10 }),
        burst(replicas, parallel),
      ])
      const counts = [byRequests, byTokens, byCalls].map(one => allowedOf(one).length)
      expect(counts).toEqual([100, 300, 20])
      for (const one of [...byRequests, ...byTokens, ...byCalls]) release(one, 10)
      // All slots come back, wherever they were.
      expect(allowedOf(await burst([...replicas].reverse(), parallel, { calls: 60 })).length).toBe(20)
      expect(allowedOf(await burst(replicas, requests, { calls: 30 })).length).toBe(0)
    }
    expect(replicas.flatMap(one => one.changes)).toEqual([])
  })

  test('all scopes of a call are taken or none, also when they come from grants and from Redis', async () => {
    const replicas = await openThree([0, 10, 20])
    const [user] = newKey({ requestsPerMinute: 60 })
    const keys = Array.from({ length: 4 }, () => newKey({ requestsPerMinute: 10, parallelRequests: 100 })[0]!)
    const verdicts = await Promise.all(
      Array.from({ length: 200 }, (_, at) => replicas[at % 3]!.take([keys[at % 4]!, user!])),
    )
    expect(allowedOf(verdicts).length).toBe(40)
    // What the keys refused took nothing from the user.
    const rest = newKey({ requestsPerMinute: 100 })[0]!
    expect(allowedOf(await burst(replicas, [rest, user!], { calls: 60 })).length).toBe(20)
  })

  test('random traffic never takes more than a limit, for all amounts that calls reserve and use, and all durations', async () => {
    let seed = 7
    const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648
    const replicas = await openThree([0, 20, 60])
    const limits = newKey({ requestsPerMinute: 400, tokensPerMinute: 20_000, parallelRequests: 15 })
    let [running, calls, tokens, most] = [0, 0, 0, 0]
    const excess: string[] = []
    const call = async (replica: Replica) => {
      await Bun.sleep(random() * 1500)
      const reserved = Math.ceil(random() * 200)
      const verdict = await replica.take(limits, reserved)
      if (!verdict.allowed) return
      running++
      calls++
      tokens += reserved
      most = Math.max(most, running)
      if (running > 15 || calls > 400 || tokens > 20_000) excess.push(`${running} ${calls} ${tokens}`)
      await Bun.sleep(random() * 100)
      const used = Math.floor(random() * reserved)
      running--
      tokens -= reserved - used
      verdict.release(used)
    }
    await Promise.all(Array.from({ length: 1500 }, (_, at) => call(replicas[at % 3]!)))
    expect(excess).toEqual([])
    // A busy machine runs fewer at once; that the last slot is given is shown above.
    expect(most).toBeGreaterThan(7)
    expect(calls).toBeGreaterThan(100)
  })

  test('at a steady load calls are decided from grants, with less than a round trip for ten', async () => {
    const replicas = await openThree([50, 50, 50])
    const limits = newKey({ requestsPerMinute: 60_000, tokensPerMinute: 1e7, parallelRequests: 1000 })
    const run = async (rounds: number) => {
      let [calls, waited] = [0, 0]
      for (let round = 0; round < rounds; round++, await Bun.sleep(10))
        for (const { limiter } of replicas) {
          const taken = limiter.take(limits, 100)
          calls++
          if (taken instanceof Promise) waited++
          const verdict = await taken
          expect(verdict.allowed).toBe(true)
          setTimeout(() => release(verdict, 60), 20)
        }
      return { calls, waited }
    }
    await run(150)
    const before = replicas.reduce((sum, { limiter }) => sum + limiter.roundTrips, 0)
    const { calls, waited } = await run(250)
    const roundTrips = replicas.reduce((sum, { limiter }) => sum + limiter.roundTrips, 0) - before
    expect(roundTrips / calls).toBeLessThan(0.1)
    expect(waited / calls).toBeLessThan(0.2)
  })

  test('what a replica holds and does not use comes to one that runs short: no call is refused while there is room', async () => {
    const [near, far] = await Promise.all([open(0), open(100)])
    await until(() => far.limiter.replicas === 2 && near.limiter.replicas === 2, 'they know of each other')
    const limits = newKey({ requestsPerMinute: 200, tokensPerMinute: 20_000, parallelRequests: 30 })
    // One call after the other makes the far replica ask ahead.
    for (let at = 0; at < 40; at++) release(await far.take(limits, 100), 100)
    for (const calls of [30, 26, 26, 26, 26, 26]) {
      const allowed = allowedOf(await burst([near], limits, { calls, tokens: 100 }))
      expect(allowed.length).toBe(calls)
      allowed.forEach(one => one.release(100))
    }
    const [refused] = refusedOf([await near.take(limits, 100)])
    expect(refused).toMatchObject({ kind: 'requests', state: { limit: 200, remaining: 0 } })
  })

  test('a refusal that is certain costs no further round trip, and a raised limit ends it', async () => {
    const { limiter, take } = await open()
    const limits = newKey({ requestsPerMinute: 5 })
    await burst([{ take } as Replica], limits, { calls: 6 })
    const before = limiter.roundTrips
    const verdicts = Array.from({ length: 1000 }, () => limiter.take(limits, 0))
    expect(verdicts.some(one => one instanceof Promise || one.allowed)).toBe(false)
    expect((verdicts[0] as Refused).retryAfterMs).toBeWithin(55_000, 60_001)
    expect(limiter.roundTrips).toBe(before)
    expect((await take([{ ...limits[0]!, requestsPerMinute: 6 }])).allowed).toBe(true)
    expect((await take(limits)).allowed).toBe(false)
  })

  test('tokens are booked as used on every replica: fewer make room, more than were reserved are counted', async () => {
    const [one, two] = [await open(), await open(20)]
    const limits = newKey({ tokensPerMinute: 1000 })
    const first = await one.take(limits, 600)
    expect(first).toMatchObject({ tokens: { limit: 1000, remaining: 400 } })
    expect((await two.take(limits, 500)).allowed).toBe(false)
    release(first, 100)
    const second = await two.take(limits, 500)
    expect(second).toMatchObject({ tokens: { remaining: 400 } })
    release(second, 850.4)
    release(second, 850.4)
    expect(await two.take(limits, 0)).toMatchObject({ tokens: { remaining: 50 } })
    // What goes beyond the reservation is reported at once.
    await until(async () => (await spentIn(limits, 'tokens')) === 950, 'it is reported')
    expect(await one.take(limits, 51)).toMatchObject({ allowed: false, kind: 'tokens' })
    expect((await one.take(limits, 50)).allowed).toBe(true)
  })

  test('a call above its token limit is let through when nothing else counts', async () => {
    const { take } = await open()
    const limits = newKey({ tokensPerMinute: 100 })
    expect([(await take(limits, 500)).allowed, (await take(limits, 1)).allowed]).toEqual([true, false])
  })

  test('requests and tokens of one scope may be taken one after the other: each is booked once', async () => {
    const { take } = await open()
    const [{ id }] = newKey({}) as [LimitScope]
    const head = [{ ...newKey({ requestsPerMinute: 2, parallelRequests: 1 })[0]!, id }]
    const tokens = [{ ...newKey({ tokensPerMinute: 100 })[0]!, id }]
    const [first, second] = [await take(head), await take(tokens, 60)]
    expect([first.allowed, second.allowed, (await take(head)).allowed]).toEqual([true, true, false])
    release(first, 10)
    release(second, 10)
    expect(await take(head)).toMatchObject({ allowed: true, requests: { remaining: 0 } })
    expect(await take(tokens, 90)).toMatchObject({ allowed: true, tokens: { remaining: 0 } })
    expect((await take(tokens, 1)).allowed).toBe(false)
  })

  test('a lower limit holds at once, for grants and slots that were given before', async () => {
    const { take } = await open()
    const limits = newKey({ requestsPerMinute: 1000, parallelRequests: 10 })
    const held = await burst([{ take } as Replica], limits, { calls: 10 })
    const lower = [{ ...limits[0]!, requestsPerMinute: 12, parallelRequests: 2 }]
    held.slice(0, 8).forEach(one => release(one))
    expect(await take(lower)).toMatchObject({ allowed: false, kind: 'parallel_requests' })
    release(held[8]!)
    expect((await take(lower)).allowed).toBe(true)
    held.forEach(one => release(one))
    const verdicts = [await take(lower), await take(lower)]
    expect(verdicts).toMatchObject([{ allowed: true }, { allowed: false }])
  })

  test('a parallel limit that changes while calls run holds at once on every replica, lower and higher', async () => {
    const [one, two] = [await open(), await open(50)]
    const [scope] = newKey({ parallelRequests: 6 })
    const limit = (parallelRequests: number) => [{ ...scope!, parallelRequests }]
    const held = [...(await burst([one], limit(6), { calls: 4 })), ...(await burst([two], limit(6), { calls: 2 }))]
    expect(allowedOf(held).length).toBe(6)
    // Six run: none begins until only one is left.
    for (const next of held.slice(0, 4)) {
      for (const replica of [two, one])
        expect(await replica.take(limit(2))).toMatchObject({ allowed: false, kind: 'parallel_requests' })
      release(next)
    }
    expect(allowedOf(await burst([two, one], limit(2), { calls: 4 })).length).toBe(0)
    release(held[4]!)
    const begun = allowedOf(await burst([two, one], limit(2), { calls: 4 }))
    expect(begun.length).toBe(1)
    // Two run: a higher limit lets the difference through, wherever it is asked first.
    expect(allowedOf(await burst([one, two], limit(5), { calls: 12 })).length).toBe(3)
  })

  test('a replica that ends gives back what it holds at once, and what it spent goes on counting', async () => {
    const [ending, staying] = [await open(50), await open()]
    const limits = newKey({ requestsPerMinute: 100, parallelRequests: 3 })
    for (let at = 0; at < 20; at++) release(await ending.take(limits))
    await ending.limiter.close()
    const verdicts = await burst([staying], limits, { calls: 4 })
    expect([allowedOf(verdicts).length, staying.limiter.replicas]).toEqual([3, 1])
    verdicts.forEach(one => release(one))
    const rest = [{ ...limits[0]!, parallelRequests: null }]
    expect(allowedOf(await burst([staying], rest, { calls: 100 })).length).toBe(100 - 20 - 3)
  })

  test('slots of a killed replica are free after 45 s, and until then a refusal says how long', async () => {
    const [killed, living] = [await open(), await open()]
    const limits = newKey({ parallelRequests: 2 })
    expect(allowedOf(await burst([killed], limits, { calls: 2 })).length).toBe(2)
    // While its replica lives, a call may end at any moment.
    expect(await living.take(limits)).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    killed.wire.cut()
    await silence(limits, 'parallel_requests', 10_000)
    const [refused] = refusedOf([await living.take(limits)])
    expect(refused!.retryAfterMs).toBeWithin(34_000, 35_001)
    await silence(limits, 'parallel_requests', 45_000)
    expect(allowedOf(await burst([living], limits, { calls: 3 })).length).toBe(2)
  })

  test('what a killed replica held may have been spent: it counts until its lease is over, and a minute more', async () => {
    const [killed, living] = [await open(), await open()]
    const limits = newKey({ requestsPerMinute: 100 })
    for (let at = 0; at < 20; at++) await killed.take(limits)
    const key = inRedis.counter('requests', limits[0]!.id)
    const kept = async () => {
      const leases = (await admin.send('HGETALL', [key])) as Record<string, string>
      return Object.values(leases).map(value => Number(value.split(' ')[2]))[0]
    }
    expect(await kept()).toBeGreaterThan(0)
    killed.wire.cut()
    await silence(limits, 'requests', 69_000)
    // What it spent is past, what it held is not.
    const first = allowedOf(await burst([living], limits, { calls: 200 })).length
    expect(first).toBeWithin(50, 100)
    await silence(limits, 'requests', 0)
    const rest = newKey({ requestsPerMinute: 100 })
    expect(allowedOf(await burst([living], rest, { calls: 200 })).length).toBe(100)
  })

  test('Redis that stands still for a second and a half is waited for; nothing is refused or let through by guess', async () => {
    const replicas = await openThree([0, 10, 20], 1)
    const limits = newKey({ requestsPerMinute: 100 })
    for (const { wire } of replicas) wire.hold()
    const verdicts = burst(replicas, limits)
    let decided = 0
    void verdicts.then(all => (decided = all.length))
    await Bun.sleep(1500)
    expect(decided).toBe(0)
    for (const { wire } of replicas) wire.restore()
    expect(allowedOf(await verdicts).length).toBe(100)
    expect(replicas.flatMap(one => one.changes)).toEqual([])
  })

  test('a connection that is reset in a burst is opened anew, and the calls are decided once', async () => {
    const replicas = await openThree([20, 20, 20], 1)
    const limits = newKey({ requestsPerMinute: 100, parallelRequests: 300 })
    const verdicts = burst(replicas, limits)
    // Once before the script has run, once behind it.
    await Bun.sleep(5)
    replicas[0]!.wire.reset()
    await Bun.sleep(10)
    replicas[1]!.wire.reset()
    expect(allowedOf(await verdicts).length).toBe(100)
    expect(replicas.flatMap(one => one.changes)).toEqual([])
    expect(allowedOf(await burst(replicas, limits, { calls: 30 })).length).toBe(0)
  })

  test('a Redis that forgot its scripts is told them again by the next call', async () => {
    const { take, changes } = await open()
    const limits = newKey({ parallelRequests: 20 })
    await admin.send('SCRIPT', ['FLUSH'])
    expect(allowedOf(await burst([{ take } as Replica], limits, { calls: 40 })).length).toBe(20)
    expect(changes).toEqual([])
  })

  test('a Redis that restarted empty learns what was spent, held and is running, before it grants anything', async () => {
    const replicas = await openThree([0, 20, 50])
    const limits = newKey({ requestsPerMinute: 100, tokensPerMinute: 10_000, parallelRequests: 50 })
    const before = allowedOf(await burst(replicas, limits, { calls: 45, tokens: 100 }))
    expect(before.length).toBe(45)
    await admin.send('FLUSHDB', [])
    const after = allowedOf(await burst(replicas, limits, { calls: 300, tokens: 100 }))
    expect(after.length).toBe(5)
    for (const one of [...before, ...after]) one.release(100)
    expect(allowedOf(await burst(replicas, limits, { calls: 300, tokens: 100 })).length).toBe(50)
    expect(replicas.flatMap(one => one.changes)).toEqual([])
  })

  test('away, refuse: what is held is spent, then calls get 503 at once', async () => {
    const { limiter, take, wire, changes } = await open(0, 'refuse')
    const limits = newKey({ requestsPerMinute: 1000 })
    for (let at = 0; at < 30; at++) await take(limits)
    const others = newKey({ requestsPerMinute: 1000 })
    wire.cut()
    const ends = await Promise.allSettled([take(others)])
    expect(ends[0]).toMatchObject({ status: 'rejected', reason: { kind: 'overloaded', retryAfterMs: 1000 } })
    expect(limiter.reachable).toBe(false)
    await until(() => changes.length === 1, 'the reason is known')
    expect(limiter.withoutRedis).toBe('calls of limited keys are refused: limits_without_redis is `refuse`')
    let spent = 0
    const spendAll = () => {
      for (; spent < 1000; spent++) expect(limiter.take(limits, 0)).toMatchObject({ allowed: true })
    }
    expect(spendAll).toThrow('Redis does not answer')
    expect(spent).toBeWithin(1, 1000)
    wire.restore()
    await until(() => limiter.reachable, 'Redis answers')
    // What was spent meanwhile is counted.
    const rest = allowedOf(await burst([{ take } as Replica], limits, { calls: 1100 })).length
    expect(rest).toBe(1000 - 30 - spent)
  })

  test('away, share: each replica admits its part of a limit, and what it spent is counted when Redis is back', async () => {
    const replicas = await openThree([0, 0, 0], 'share')
    const limits = newKey({ requestsPerMinute: 100, parallelRequests: 40 })
    const before = allowedOf(await burst(replicas, limits, { calls: 30 }))
    before.forEach(one => one.release(0))
    for (const { wire } of replicas) wire.stall()
    const first = await Promise.all(replicas.map(one => one.take(newKey({ requestsPerMinute: 1 }))))
    // A third of 1 is none: no replica may take it by itself.
    expect(first.every(one => !one.allowed)).toBe(true)
    expect(replicas[0]!.limiter.withoutRedis).toBe('this replica admits 33.3 % of each limit by itself')
    const running = allowedOf(await burst(replicas, limits, { calls: 120 }))
    expect(running.length).toBe(3 * 13)
    running.forEach(one => one.release(0))
    const more = allowedOf(await burst(replicas, limits, { calls: 300 }))
    more.forEach(one => one.release(0))
    expect(before.length + running.length + more.length).toBe(3 * 33)
    for (const { wire } of replicas) wire.restore()
    await until(() => replicas.every(({ limiter }) => limiter.reachable), 'Redis answers')
    for (const { changes } of replicas)
      expect([changes[0], changes.at(-1)]).toEqual(['timeout: Redis gave no answer within 5000 ms', true])
    expect(allowedOf(await burst(replicas, limits, { calls: 30 })).length).toBe(1)
  })

  test('a replica that Redis has not answered since its start refuses, unless a share is configured', async () => {
    const share = await open(0, 'share', 'redis://127.0.0.1:1')
    expect([share.limiter.reachable, share.changes]).toEqual([false, ['ECONNREFUSED']])
    expect(() => share.limiter.take(newKey({ requestsPerMinute: 10 }), 0)).toThrow(
      'it has not answered since the start',
    )
    expect(await share.take(newKey({}))).toMatchObject({ allowed: true })
    const half = await open(0, 0.5, 'redis://127.0.0.1:1')
    const limits = newKey({ requestsPerMinute: 10 })
    const verdicts = await burst([half], limits, { calls: 10 })
    expect(allowedOf(verdicts).length).toBe(5)
    expect(refusedOf(verdicts)[0]!.retryAfterMs).toBeWithin(50_000, 60_001)
  })

  test('an exchange that arrives after a later one does nothing; one whose answer was lost is undone by the next', async () => {
    const ask = async (exchange: Partial<Exchange>) => {
      const { keys, values } = parametersOf(inRedis, {
        replica: 'one',
        number: 1,
        standing: 'new',
        ...{ answeredNumber: 0, generation: 1, reportedGeneration: 1 },
        keys: [inRedis.counter('requests', 'key:x')],
        reports: [['requests', 10, 0, 0, 0, '[]']],
        calls: [],
        others: [],
        ...exchange,
      })
      return readExchange(await admin.send('EVAL', [exchangeScript.text, String(keys.length), ...keys, ...values, '0']))
    }
    const lost = await ask({ number: 1, calls: Array.from({ length: 10 }, () => [0, 1, 1]) })
    expect(lost!.calls.every(one => one.decision === 'taken')).toBe(true)
    const next = await ask({ number: 3, reports: [['requests', 10, 0, 8, 0, '[100,4]']] })
    expect(next!.counters).toEqual([{ granted: 3, spent: 4, heldByOthers: 0, needsBase: false }])
    expect(await ask({ number: 2, calls: [[0, 1, 1]] })).toBeUndefined()
    const other = await ask({ replica: 'two', calls: Array.from({ length: 5 }, () => [0, 1, 1]) })
    expect(other!.calls.map(one => one.decision)).toEqual(['taken', 'taken', 'taken', 'later', 'later'])
    expect(other!.others).toEqual(['one'])
    // Ages are those at arrival: what is a minute old has left the window.
    const full = await ask({ number: 4, reports: [['requests', 10, 0, 0, 0, '[59700,6,10,1]']], calls: [[0, 1, 1]] })
    expect(full!.calls[0]).toMatchObject({ decision: 'refused', isCertain: true })
    expect(full!.calls[0]!.waitMs).toBeWithin(200, 301)
    await Bun.sleep(full!.calls[0]!.waitMs)
    const free = await ask({ number: 5, reports: [['requests', 10, 0, 0, 0, '[10,1]']], calls: [[0, 1, 1]] })
    expect(free!.calls[0]!.decision).toBe('taken')
  })

  test('installations that share one Redis share no limits, and are no replicas of each other', async () => {
    const [one, other] = [await open(), await open(0, 'refuse', undefined, undefined, 'another')]
    const limits = newKey({ requestsPerMinute: 10 })
    for (const { take } of [one, other])
      expect(allowedOf(await Promise.all(Array.from({ length: 12 }, () => take(limits)))).length).toBe(10)
    expect([one.limiter.replicas, other.limiter.replicas]).toEqual([1, 1])
  })

  test('memory and Redis keep only what counts: idle counters are forgotten, and keys expire', async () => {
    const { limiter, take } = await open()
    const keys = Array.from({ length: 300 }, () => newKey({ parallelRequests: 5 }))
    const held = await Promise.all(keys.map(limits => take(limits)))
    expect(limiter.size).toBe(300)
    held.forEach(one => release(one))
    await until(() => limiter.size === 0, 'they are forgotten')
    const names = (await admin.send('KEYS', ['*'])) as string[]
    expect(names.filter(name => !name.startsWith(inRedis.mail('')))).toEqual([inRedis.replicas])
    expect(await admin.send('PTTL', [inRedis.replicas])).toBeGreaterThan(0)
  })

  test('a refused password and a Redis that takes no writes are named; both are noticed without a call', async () => {
    const name = `user-${crypto.randomUUID()}`
    const own = new URL(url!)
    own.username = name
    own.password = 'pass:w@rd'
    const { limiter, changes, take } = await open(0, 'refuse', own.href)
    expect([limiter.reachable, changes]).toEqual([false, [expect.stringMatching(/^WRONGPASS /)]])
    expect(changes.join()).not.toContain('w@rd')
    await admin.send('ACL', ['SETUSER', name, 'on', '>pass:w@rd', '~{modelgate}:*', '+@all'])
    try {
      await until(() => limiter.reachable, 'it is let in')
      expect((await take(newKey({ requestsPerMinute: 1 }))).allowed).toBe(true)
      await admin.send('ACL', ['SETUSER', name, '-hset'])
      await until(() => !limiter.reachable, 'it is noticed')
      await admin.send('ACL', ['SETUSER', name, '+hset'])
      await until(() => limiter.reachable, 'it is back')
      expect(changes.slice(1)).toEqual([true, expect.stringContaining("can't run this command"), true])
    } finally {
      await admin.send('ACL', ['DELUSER', name])
    }
  })
})
