/** The exchange between workers of one machine decides, grants and keeps what the script in Redis does. */
import { afterAll, describe, expect, test } from 'bun:test'
import { RedisClient } from 'bun'
import { Keyspace } from '../redis/keyspace.ts'
import { exchangeScript, limitKeys, parametersOf, readExchange } from './grant-script.ts'
import type { CallReport, CounterKind, CounterReport } from './exchange-terms.ts'
import type { Exchange, ExchangeAnswer } from './grant-script.ts'
import { redisDatabase } from '../../../tests/support/redis-replicas.ts'

const url = redisDatabase('exchanges')
if (url === undefined) console.log('skipped: the local exchange beside that of Redis (set TEST_REDIS_URL)')

const startMs = 1_800_000_000_000
/** By the clock of the history, which is behind the keys and values of an exchange. */
const text = exchangeScript.text.replace(
  "redis.call('TIME')",
  '{math.floor(ARGV[11] / 1000), (ARGV[11] % 1000) * 1000}',
)

class TimedKeyspace extends Keyspace {
  atMs = startMs
  override get nowMs(): number {
    return this.atMs
  }
}

function randomOf(seed: number) {
  let state = seed
  const next = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648
  return { next, whole: (below: number) => Math.floor(next() * below) }
}

const kinds: readonly CounterKind[] = ['requests', 'tokens', 'parallel_requests', 'budget']
const limits = { requests: 12, tokens: 900, parallel_requests: 5, budget: 5000 }
const amounts = { requests: 1, tokens: 150, parallel_requests: 1, budget: 700 }

/** What a replica of the history remembers: what it was answered. */
interface Told {
  readonly id: string
  number: number
  answered: number
  generation: number
  others: readonly string[]
}

describe.if(url !== undefined)('beside Redis', () => {
  const redis = new RedisClient(url ?? 'redis://127.0.0.1:1')
  afterAll(() => redis.close())

  /** One history; both are asked the same at each step. */
  async function history(seed: number, steps: number): Promise<string[]> {
    const { next, whole } = randomOf(seed)
    const names = limitKeys(`exchange-${seed}-${crypto.randomUUID()}`)
    const keyspace = new TimedKeyspace()
    const replicas: Told[] = ['a', 'b', 'c'].map(id => ({ id, number: 0, answered: 0, generation: 0, others: [] }))
    keyspace.hashSet(names.replicas, 'generation', '1 1')
    await redis.send('HSET', [names.replicas, 'generation', '1 1'])
    const states: string[] = []
    for (let step = 0; step < steps; step++) {
      keyspace.atMs += next() < 0.9 ? whole(400) : whole(9000)
      const told = replicas[whole(replicas.length)]!
      const exchange = exchangeOf(told, random => randomCounters(random, names.counter), { next, whole })
      const { keys, values } = parametersOf(names, exchange)
      const all = [...values, '0', String(keyspace.atMs)]
      const there = await redis.send('EVAL', [text, String(keys.length), ...keys, ...all])
      const here = exchangeScript.local(keyspace, keys, all)
      expect({ step, answer: here }).toEqual({ step, answer: there as typeof here })
      remember(told, exchange, readExchange(here))
      for (const key of keys.slice(2, 2 + exchange.keys.length))
        expect({ step, key, kept: Object.fromEntries(keyspace.hash(key)) }).toEqual({
          step,
          key,
          kept: { ...((await redis.send('HGETALL', [key])) as Record<string, string>) },
        })
      states.push(JSON.stringify(here))
    }
    return states
  }

  test('random histories of three replicas: the same answers, the same state', async () => {
    const decisions = new Map<string, number>()
    for (let seed = 1; seed <= 40; seed++)
      for (const state of await history(seed, 120)) {
        const answer = readExchange(JSON.parse(state))
        const seen: string[] = answer?.calls.map(call => call.decision) ?? ['dropped']
        for (const one of seen) decisions.set(one, (decisions.get(one) ?? 0) + 1)
      }
    // The histories reach every decision.
    for (const one of ['taken', 'refused', 'later', 'dropped'])
      expect([one, decisions.get(one) ?? 0]).not.toEqual([one, 0])
  }, 60_000)
})

interface Random {
  readonly next: () => number
  readonly whole: (below: number) => number
}

function exchangeOf(
  told: Told,
  counters: (random: Random) => { keys: string[]; reports: CounterReport[] },
  random: Random,
): Exchange {
  const { keys, reports } = counters(random)
  const repeats = random.next() < 0.03
  if (!repeats) told.number++
  const standing =
    told.answered === 0 ? 'new' : random.next() < 0.04 ? 'overspent' : random.next() < 0.03 ? 'leaving' : 'known'
  return {
    replica: told.id,
    number: told.number,
    standing,
    answeredNumber: told.answered,
    generation: random.next() < 0.01 ? told.generation + 5000 : told.generation,
    reportedGeneration: random.next() < 0.9 ? told.generation : 0,
    keys,
    reports,
    calls: Array.from({ length: random.whole(4) }, () => callOf(reports, random)),
    others: told.others,
  }
}

function remember(told: Told, exchange: Exchange, answer: ExchangeAnswer | undefined): void {
  if (!answer) return
  told.answered = exchange.standing === 'leaving' ? 0 : exchange.number
  told.generation = answer.generation
  told.others = answer.others
}

function randomCounters(random: Random, nameOf: (kind: CounterKind, scope: string) => string) {
  const chosen = kinds.filter(() => random.next() < 0.6)
  const reports = chosen.map((kind): CounterReport => {
    const kept = random.whole(3) * Math.ceil(amounts[kind] / 2)
    const ahead = random.next() < 0.5 ? random.whole(limits[kind] / 2) : 0
    const eager = random.next() < 0.2 ? 1000 : 0
    const spent = Array.from({ length: random.whole(3) }, () => [random.whole(70_000), random.whole(amounts[kind]) + 1])
    if (kind === 'requests' || kind === 'tokens')
      return [kind, limits[kind], kept, ahead, eager, JSON.stringify(spent.flat())]
    const running = random.whole(2) * amounts[kind]
    if (kind === 'parallel_requests') return [kind, limits[kind], kept, ahead, eager, running]
    const base = random.next() < 0.4 ? ['p1', random.whole(900), 'p2', -random.whole(300)] : 0
    const database = random.next() < 0.2 ? '' : random.next() < 0.9 ? 'd1' : 'd2'
    const generation = random.next() < 0.8 ? 1 : 0
    return [
      kind,
      limits[kind],
      kept,
      ahead,
      eager,
      running,
      `p${random.whole(3)}`,
      random.whole(1500),
      base,
      generation,
      database,
    ]
  })
  return { keys: chosen.map(kind => nameOf(kind, 'key:1')), reports }
}

function callOf(reports: readonly CounterReport[], { next, whole }: Random): CallReport {
  const pairs = reports.flatMap((report, at) => (next() < 0.8 ? [at + 1, 1 + whole(amounts[report[0]])] : []))
  return [next() < 0.5 ? 0 : startMs + whole(60_000), ...pairs]
}
