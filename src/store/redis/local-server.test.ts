/** What stands in for Redis between workers answers as Redis does, to the clients of this program. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KeyRing } from '../../lib/encryption.ts'
import { Secret } from '../../lib/secret.ts'
import type { LedgerRow } from '../../core/ledger/ledger-columns.ts'
import { RedisAnswers } from '../answers/redis-answers.ts'
import { RedisTail } from '../ledger/tail/redis-tail.ts'
import { createRunLeases } from '../objects/run-leases.ts'
import { openDirectly, redisDatabase } from '../../../tests/support/redis-replicas.ts'
import { until } from '../../../tests/support/until.ts'
import { serveLocalRedis } from './local-server.ts'
import { RedisConnection } from './redis-connection.ts'
import { createTroubleClaims } from './trouble-claims.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-local-redis-'))
const path = join(folder, 'workers.sock')
const local = serveLocalRedis({ path, textBytesMax: 100_000 })
afterAll(() => {
  local.close()
  rmSync(folder, { recursive: true, force: true })
})

const keys = new KeyRing([new Secret('a secret of at least thirty-two characters')])
const places: [name: string, url: string][] = [['workers', local.url]]
const redis = redisDatabase('exchanges')
if (redis === undefined) console.log('skipped: the same beside Redis (set TEST_REDIS_URL)')
else places.push(['Redis', redis])

test('others of the machine cannot connect', () => {
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
})

describe.each(places)('%s', (_name, url) => {
  const installation = `local-${crypto.randomUUID()}`
  const open = (prefix = `${crypto.randomUUID()}:`) =>
    new RedisAnswers({ url, prefix, deadlineMs: 2000, keys, report: () => {} })

  test('answers: one leads, the others are told; what is kept is found, until it is deleted', async () => {
    const prefix = `${crypto.randomUUID()}:`
    const [one, other] = [open(prefix), open(prefix)]
    expect(await one.ask('k', '')).toEqual({ state: 'made-elsewhere' })
    expect(await one.ask('k', 'call-1')).toEqual({ state: 'leads' })
    expect(await other.ask('k', 'call-2')).toEqual({ state: 'made-elsewhere' })
    one.renew('k', 'call-1')
    await other.release('k', 'call-2')
    expect(await other.ask('k', 'call-2')).toEqual({ state: 'made-elsewhere' })
    await one.release('k', 'call-1')
    expect(await other.ask('k', 'call-2')).toEqual({ state: 'leads' })
    await other.keep('k', 'call-2', { text: 'kept: ünïcode\r\n', ttlMs: 60_000 })
    expect(await one.ask('k', 'call-3')).toEqual({ state: 'found', text: 'kept: ünïcode\r\n' })
    await one.keepMany(
      [
        { key: 'a', text: '1' },
        { key: 'b', text: '2' },
      ],
      80,
    )
    expect(await other.readMany(['a', 'x', 'b'])).toEqual(['1', undefined, '2'])
    await Bun.sleep(120)
    expect(await other.readMany(['a', 'b'])).toEqual([undefined, undefined])
    expect(await one.delete(['k', 'x'])).toBe(1)
    await one.keepMany([{ key: 'c', text: '3' }], 60_000)
    expect(await one.clear()).toBe(true)
    expect(await other.readMany(['c'])).toEqual([undefined])
    await one.ping()
    expect((await one.info()).info.redis_version).toMatch(/^\d/)
    one.close()
    other.close()
  })

  test('prompts: each reader goes on behind what it has read', async () => {
    const store = open()
    for (const text of ['one', 'two', 'three']) await store.addPrompt('list', text, { promptsMax: 100, ttlMs: 60_000 })
    const first = await store.promptsAfter('list', '')
    expect(first).toMatchObject({ texts: ['one', 'two', 'three'], isMore: false })
    await store.addPrompt('list', 'four', { promptsMax: 100, ttlMs: 60_000 })
    expect((await store.promptsAfter('list', first!.last))?.texts).toEqual(['four'])
    expect((await store.promptsAfter('another', ''))?.texts).toEqual([])
    store.close()
  })

  test('leases of runs end, and claims of troubles are reported once', async () => {
    const leases = createRunLeases({ redisUrl: url, installation })
    await leases.keep(['run-1', 'run-2'])
    expect([await leases.isKept('run-1'), await leases.isKept('run-3')]).toEqual([true, false])
    leases.close()
    const database = { sql: undefined as never }
    const claims = () => createTroubleClaims({ redisUrl: url, installation, database, clock: { epochMs: Date.now } })
    const [one, other] = [claims(), claims()]
    const trouble = { trouble: 'disk full', sinceMs: 5 }
    expect([await one.began(trouble), await other.began(trouble)]).toEqual([true, false])
    await one.lasts('disk full')
    expect(await one.ended('disk full')).toBe(false)
    expect(await other.ended('disk full')).toBe(true)
    expect(await other.began({ trouble: 'another one', sinceMs: 7 })).toBe(true)
    one.close()
    other.close()
  })

  test('rows of one are seen by those who follow', async () => {
    const [one, other] = [new RedisTail({ url, keys }), new RedisTail({ url, keys })]
    const seen: LedgerRow[] = []
    await other.open(rows => void seen.push(...(rows ?? [])))
    await until(() => one.hasFollowers, 'it is known that another follows')
    one.send([{ request_id: 'row-1' } as LedgerRow])
    await until(() => seen.length === 1, 'the row arrives')
    expect(seen[0]!.request_id).toBe('row-1')
    one.stop()
    other.stop()
  })

  test('an unknown script, an unknown command and a wrong type are errors, and the connection goes on', async () => {
    const connection = new RedisConnection({ url, answerMs: 2000 })
    const refused = (command: string, parameters: string[]) =>
      connection.send(command, parameters).then(
        () => 'answered',
        (error: Error) => error.message.split(' ')[0],
      )
    expect(await refused('EVALSHA', ['0'.repeat(40), '0'])).toBe('NOSCRIPT')
    expect(await refused('NOSUCHCOMMAND', [])).toBe('ERR')
    expect(await connection.send('BLPOP', ['empty', '0.05'])).toBeNull()
    expect(await connection.send('PING', [])).toBe('PONG')
    connection.close()
  })
})

test('limits of three are exact, and what one runs short of comes back from the others', async () => {
  const opened: { close(): unknown }[] = []
  const replicas = await Promise.all([1, 2, 3].map(() => openDirectly(opened, local.url)))
  await until(() => replicas.every(({ limiter }) => limiter.replicas === 3), 'they know of each other')
  const limits = (more: object) => [
    {
      id: `key:${crypto.randomUUID()}`,
      requestsPerMinute: null,
      tokensPerMinute: null,
      parallelRequests: null,
      ...more,
    },
  ]
  const burst = async (of: ReturnType<typeof limits>, tokens = 0) => {
    const calls = Array.from({ length: 300 }, (_, at) => replicas[at % 3]!.take(of, tokens))
    return (await Promise.all(calls)).filter(one => one.allowed)
  }
  expect((await burst(limits({ requestsPerMinute: 70 }))).length).toBe(70)
  expect((await burst(limits({ tokensPerMinute: 2000 }), 25)).length).toBe(80)
  const parallel = limits({ parallelRequests: 11 })
  const running = await burst(parallel)
  expect(running.length).toBe(11)
  for (const one of running) if (one.allowed) one.release(0)
  expect((await burst(parallel)).length).toBe(11)
  await Promise.all(opened.map(one => one.close()))
}, 30_000)

test('kept answers push out the oldest, and nothing else', () => {
  const { keyspace } = local
  keyspace.hashSet('a hash', 'field', 'x'.repeat(1000))
  for (let at = 0; at < 20; at++) keyspace.set(`text-${at}`, 'x'.repeat(9000))
  expect([keyspace.get('text-0'), keyspace.get('text-19')?.length]).toEqual([undefined, 9000])
  expect(keyspace.hash('a hash').size).toBe(1)
  expect(() => keyspace.get('a hash')).toThrow('WRONGTYPE')
})
