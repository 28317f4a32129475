/** When Redis may have lost data, by what it is told and what it has: then a new generation begins. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { RedisClient } from 'bun'
import { emptied, installation, redisDatabase } from '../../../tests/support/redis-replicas.ts'
import { exchangeScript, limitKeys, parametersOf, readExchange } from './grant-script.ts'
import type { Exchange, ExchangeAnswer } from './grant-script.ts'

const url = redisDatabase('generations')
if (url === undefined) console.log('skipped: generations of Redis (set TEST_REDIS_URL)')

const inRedis = limitKeys(installation)
const key = inRedis.counter('requests', 'key:x')

describe.if(url !== undefined)('on Redis', () => {
  let admin: RedisClient
  beforeAll(async () => {
    admin = new RedisClient(url!)
    await emptied(admin)
  })
  afterEach(() => emptied(admin))
  afterAll(() => admin.close())

  const ask = async (
    replica: string,
    exchange: Partial<Exchange> & { isFresh?: boolean; client?: RedisClient } = {},
  ): Promise<ExchangeAnswer> => {
    const { isFresh = false, client = admin, ...rest } = exchange
    const { keys, values } = parametersOf(inRedis, {
      ...{ replica, number: 1, standing: 'new', answeredNumber: 0, generation: 1, reportedGeneration: 1 },
      ...{ keys: [key], reports: [['requests', 100, 0, 0, 0, '[]']], calls: [[0, 1, 1]], others: [] },
      ...rest,
    })
    const parameters = [String(keys.length), ...keys, ...values, isFresh ? '1' : '0']
    const raw: unknown = await client.send('EVAL', [exchangeScript.text, ...parameters])
    return readExchange(raw)!
  }
  const known = (number: number, answeredNumber: number) => ({ standing: 'known' as const, number, answeredNumber })
  const decisionOf = ({ calls }: ExchangeAnswer) => calls[0]!.decision

  test('where nothing is there, nothing is granted until others had the time to report', async () => {
    await admin.send('FLUSHDB', [])
    const first = await ask('one', { generation: 0, reportedGeneration: 0 })
    expect([first.isSettling, decisionOf(first)]).toEqual([true, 'later'])
    expect(first.generation).toBeGreaterThan(1)
    await Bun.sleep(first.calls[0]!.waitMs)
    const { generation } = first
    expect(decisionOf(await ask('one', { number: 2, generation, reportedGeneration: generation }))).toBe('taken')
  })

  test('what is older than a replica has seen is a loss: by the number of its exchange, or by the generation', async () => {
    await ask('one')
    for (const number of [2, 3]) expect((await ask('one', known(number, number - 1))).generation).toBe(1)
    const field = (await admin.send('HGET', [inRedis.replicas, 'one'])) as string
    expect(await ask('one', known(4, 3))).toMatchObject({ generation: 1, isSettling: false })
    await admin.send('HSET', [inRedis.replicas, 'one', field])
    const { generation, isSettling } = await ask('one', known(5, 4))
    expect([generation > 1, isSettling]).toEqual([true, true])
    // The same once more, in the new generation.
    const next = await ask('two', { generation: generation + 5, reportedGeneration: 0 })
    expect(next.generation).toBeGreaterThan(generation + 5)
  })

  test('one that is behind learns the generation, and begins none', async () => {
    await admin.send('HSET', [inRedis.replicas, 'generation', '7 1'])
    expect((await ask('one', { ...known(3, 2), generation: 1 })).generation).toBe(7)
    expect((await ask('one', { ...known(4, 3), generation: 7 })).generation).toBe(7)
  })

  test('over a new connection another process is a loss, the same one is none', async () => {
    expect((await ask('one', { isFresh: true })).generation).toBe(1)
    expect((await ask('one', { ...known(2, 1), isFresh: true })).generation).toBe(1)
    await admin.send('HSET', [inRedis.replicas, 'run', 'another'])
    expect((await ask('one', known(3, 2))).generation).toBe(1)
    expect((await ask('one', { ...known(4, 3), isFresh: true })).generation).toBeGreaterThan(1)
  })

  test('a process that was emptied in its place is known by its id all the same', async () => {
    await ask('one', { isFresh: true })
    await admin.send('DEL', [inRedis.replicas])
    const { generation } = await ask('one', known(2, 1))
    await admin.send('HSET', [inRedis.replicas, 'run', 'another'])
    expect((await ask('one', { ...known(3, 2), generation, isFresh: true })).generation).toBeGreaterThan(generation)
    await admin.send('DEL', [inRedis.replicas])
    const next = (await ask('one', known(4, 3))).generation
    expect(await admin.send('HGET', [inRedis.replicas, 'run'])).toMatch(/^\w{20,}$/)
    expect((await ask('one', { ...known(5, 4), generation: next, isFresh: true })).generation).toBe(next)
  })

  test('where an access list hides the process, each new connection of a known replica is taken for a loss', async () => {
    const name = `user-${crypto.randomUUID()}`
    await admin.send('ACL', ['SETUSER', name, 'on', '>pass', '~{modelgate}:*', '+@all', '-info'])
    const own = new URL(url!)
    own.username = name
    own.password = 'pass'
    const client = new RedisClient(own.href)
    try {
      expect((await ask('one', { isFresh: true, client })).generation).toBe(1)
      expect((await ask('one', { ...known(2, 1), isFresh: true, client })).generation).toBeGreaterThan(1)
    } finally {
      client.close()
      await admin.send('ACL', ['DELUSER', name])
    }
  })

  test('replicas that were there are waited for until they have reported everything', async () => {
    for (const replica of ['one', 'two']) await ask(replica)
    await admin.send('FLUSHDB', [])
    const { generation, calls } = await ask('one', { ...known(2, 1), others: ['two'] })
    await Bun.sleep(calls[0]!.waitMs + 1)
    const seen = { generation, reportedGeneration: generation }
    expect((await ask('one', { ...known(3, 2), ...seen })).isSettling).toBe(true)
    expect(await ask('two', known(2, 1))).toMatchObject({ generation, isSettling: true })
    const two = await ask('two', { ...known(3, 2), ...seen })
    expect([two.generation, two.isSettling, decisionOf(two)]).toEqual([generation, false, 'taken'])
  })

  test('a replica that lived a moment ago is waited for, though an older state says that it was heard long ago', async () => {
    for (const replica of ['one', 'two']) await ask(replica)
    await admin.send('HSET', [inRedis.replicas, 'two', '1 7 1', 'one', '1 0 1'])
    const { generation, calls } = await ask('one', { ...known(2, 1), others: ['two'] })
    await Bun.sleep(calls[0]!.waitMs + 1)
    expect(await ask('one', { ...known(3, 2), generation, reportedGeneration: generation })).toMatchObject({
      generation,
      isSettling: true,
      others: ['two'],
    })
  })

  test('what a replica held before a loss is forgotten once it has reported everything', async () => {
    await admin.send('HSET', [inRedis.replicas, 'generation', '7 1'])
    const seen = { generation: 7, reportedGeneration: 7 }
    await ask('one', { ...seen, reports: [['requests', 100, 60, 0, 0, '[]']], calls: [] })
    expect((await ask('two', seen)).counters[0]).toMatchObject({ heldByOthers: 60 })
    await admin.send('HSET', [inRedis.replicas, 'generation', '8 1'])
    const next = { generation: 8, reportedGeneration: 8 }
    expect((await ask('two', { ...known(2, 1), ...next })).counters[0]).toMatchObject({ heldByOthers: 60 })
    await ask('one', { ...known(2, 1), ...next, keys: [], reports: [], calls: [] })
    expect((await ask('two', { ...known(3, 2), ...next })).counters[0]).toMatchObject({ heldByOthers: 0 })
  })
})
