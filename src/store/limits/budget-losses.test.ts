/**
 * Random histories of budgets over three replicas, of which some are idle, with losses of Redis at any moment: emptied,
 * set back to an older state, replaced by an empty server or by one that lacks the last writes. A budget is never
 * exceeded, and its room is found again to the last nano-dollar. `SEEDS=2000` for more.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { RedisClient } from 'bun'
import { freePort } from '../../../tests/faults/servers.ts'
import { newSeedsOf, Random } from '../../../tests/property/random.ts'
import { openReplica } from '../../../tests/support/redis-replicas.ts'
import type { Replica } from '../../../tests/support/redis-replicas.ts'
import { until } from '../../../tests/support/until.ts'
import type { LimitReservation } from '../../core/tenancy/limits.ts'
import type { BudgetScope } from './budget-counters.ts'
import { budgetOf, TestLedger } from './budget-fixture.ts'

const isThere = Bun.which('redis-server') !== null
if (!isThere) console.log('skipped: losses of Redis (redis-server is not in the path)')

const writers = ['one', 'two', 'three']
/** Histories at a time. */
const together = 200
const stepsMax = 30
/** In so long after a loss of Redis a call may be refused though there is room: see docs/replicas.md. */
const settledMs = 10_000

/**
 * Each replica is heard in so long: one process is set back by hand, to a state that lacks something of each. What a
 * process lacks of the last second it lacks after its start, over new connections.
 */
const heardMs = 2500

interface Server {
  readonly port: number
  readonly admin: RedisClient
}

/** Hashes by key; lists of mail are hints, and not kept. */
type Snapshot = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Replaces what an installation has by what it had, in one step. */
const restoring = `
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end
for key, fields in pairs(cjson.decode(ARGV[2])) do
  for field, value in pairs(fields) do redis.call('HSET', key, field, value) end
end`

const reading = `
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  if redis.call('TYPE', key).ok == 'hash' then
    local fields, all = {}, redis.call('HGETALL', key)
    for f = 1, #all, 2 do fields[all[f]] = all[f + 1] end
    found[key] = fields
  end
end
return cjson.encode(found)`

interface Running {
  readonly at: number
  readonly bound: number
  readonly taken: LimitReservation
}

class History {
  readonly #servers: readonly Server[]
  readonly #random: Random
  readonly #installation: string
  readonly #ledger = new TestLedger()
  readonly #scopes: readonly BudgetScope[]
  readonly #opened: { close(): unknown }[] = []
  #replicas: Replica[] = []
  /** The replicas that are called at present; the others are idle. */
  #active: readonly number[] = [0]
  #server: number
  #snapshot: Snapshot = {}
  #snapshotMs = -Infinity
  #running: Running[] = []
  /** Asked for by calls that are not decided. */
  #asked = 0
  #lostMs = -Infinity
  readonly done = { admitted: 0, refused: 0, losses: 0 }

  constructor(servers: readonly Server[], seed: number) {
    this.#servers = servers
    this.#random = new Random(seed)
    this.#installation = `history-${seed}`
    this.#server = this.#random.int(servers.length - 1)
    const max = 1000 + this.#random.int(9000)
    const team = budgetOf(max + this.#random.int(2000), { id: `team:${seed}` })
    this.#scopes = [budgetOf(max, { id: `key:${seed}` }), ...(this.#random.chance(0.3) ? [team] : [])]
  }

  get #pattern(): string {
    return `{modelgate}:${this.#installation}:*`
  }

  get #max(): number {
    return this.#scopes[0]!.budget.maxNanoUsd
  }

  /** Neither settled nor reserved by calls under way. */
  get #room(): number {
    return this.#max - this.#ledger.sum(this.#scopes[0]!) - this.#running.reduce((sum, { bound }) => sum + bound, 0)
  }

  async run(): Promise<void> {
    const open = openReplica(this.#opened, `redis://127.0.0.1:${this.#servers[this.#server]!.port}`)
    try {
      const spends = writers.map(writer => this.#ledger.spendOf(writer))
      const opening = spends.map(one => open(this.#random.int(8), 'refuse', undefined, one, this.#installation))
      this.#replicas = await Promise.all(opening)
      await until(() => this.#replicas.every(({ limiter }) => limiter.replicas === 3), 'they know of each other')
      // The first start is one where nothing is there.
      this.#lostMs = performance.now()
      for (let step = this.#random.int(stepsMax); step >= 0; step--) await this.#step()
      await this.#lose()
      await this.#end()
    } finally {
      await Promise.all(this.#opened.map(one => one.close()))
      await this.#restore(this.#servers[this.#server]!, {})
    }
  }

  async #step(): Promise<void> {
    const what = this.#random.int(99)
    if (what < 40) await this.#burst()
    else if (what < 52) await this.#spendMost()
    else if (what < 72) for (const call of this.#running.splice(0, 1 + this.#random.int(5))) this.#settle(call)
    else if (what < 80) this.#ledger.store(this.#random.pick([undefined, ...writers]))
    else if (what < 86) await Bun.sleep(this.#random.int(1500))
    else if (what < 91) await this.#remember()
    else if (what < 97) this.#active = [0, 1, 2].filter(() => this.#random.chance(0.5))
    else await this.#lose()
  }

  #replica(): number {
    return this.#active.length === 0 ? this.#random.int(2) : this.#random.pick(this.#active)
  }

  async #burst(): Promise<void> {
    const calls = Array.from({ length: 1 + this.#random.int(7) }, () => 1 + this.#random.int(this.#max / 8))
    await Promise.all(calls.map(bound => this.#call(this.#replica(), bound)))
  }

  /** One replica spends nearly all of what is left. */
  async #spendMost(): Promise<void> {
    const at = this.#replica()
    for (let left = 12; left > 0 && this.#room > this.#max / 50; left--) {
      const call = await this.#call(at, Math.max(Math.floor(this.#room / 3), 1))
      if (!call) return
      this.#running.splice(this.#running.indexOf(call), 1)
      this.#settle(call, call.bound)
    }
  }

  async #call(at: number, bound: number): Promise<Running | undefined> {
    const before = this.#room - this.#asked
    this.#asked += bound
    try {
      const verdict = await this.#replicas[at]!.take(this.#scopes, 0, bound)
      if (verdict.allowed) {
        const call = { at, bound, taken: verdict }
        this.#running.push(call)
        this.done.admitted++
        for (const scope of this.#scopes) this.#expectWithin(scope)
        return call
      }
      this.done.refused++
      const isFalse = Math.min(before, this.#room) >= this.#asked && this.#scopes.length === 1
      if (isFalse && performance.now() - this.#lostMs > settledMs)
        throw new Error(`refused ${bound} with a room of ${Math.min(before, this.#room)}`)
    } catch (error) {
      // Redis is away, and no share is configured.
      if ((error as { kind?: string }).kind !== 'overloaded') throw error
    } finally {
      this.#asked -= bound
    }
    return undefined
  }

  #expectWithin(scope: BudgetScope): void {
    const reserved = this.#running.reduce((sum, { bound }) => sum + bound, 0)
    const excess = this.#ledger.sum(scope) + reserved - scope.budget.maxNanoUsd
    if (excess > 0) throw new Error(`${scope.id} of ${scope.budget.maxNanoUsd} is exceeded by ${excess}`)
  }

  #settle({ at, bound, taken }: Running, cost = this.#random.int(bound)): void {
    this.#ledger.settle({ writer: writers[at]!, scopes: this.#scopes, nanoUsd: cost })
    taken.release(0, cost)
  }

  async #read(): Promise<Snapshot> {
    const { admin } = this.#servers[this.#server]!
    return JSON.parse((await admin.send('EVAL', [reading, '0', this.#pattern])) as string) as Snapshot
  }

  async #remember(): Promise<void> {
    this.#snapshot = await this.#read()
    this.#snapshotMs = performance.now()
  }

  async #restore({ admin }: Server, snapshot: Snapshot): Promise<void> {
    await admin.send('EVAL', [restoring, '0', this.#pattern, JSON.stringify(snapshot)])
  }

  async #lose(): Promise<void> {
    this.done.losses++
    const kind = this.#random.pick(['emptied', 'set back', 'restarted', 'restarted late', 'another', 'a late copy'])
    if (kind === 'a late copy') {
      // It lacks the writes of the last moments.
      await this.#remember()
      await this.#burst()
    }
    const during = this.#random.chance(0.4) ? this.#burst() : undefined
    if (kind === 'emptied') await this.#restore(this.#servers[this.#server]!, {})
    else if (kind === 'set back' && performance.now() - this.#snapshotMs > heardMs)
      await this.#restore(this.#servers[this.#server]!, this.#snapshot)
    else await this.#move(kind === 'restarted' || kind === 'another' ? {} : this.#snapshot)
    this.#lostMs = performance.now()
    await during
    this.#lostMs = performance.now()
  }

  /** Another process serves, first for one replica, then for the others. */
  async #move(snapshot: Snapshot): Promise<void> {
    for (const { wire } of this.#replicas) wire.cut()
    await this.#restore(this.#servers[this.#server]!, {})
    this.#server = (this.#server + 1) % this.#servers.length
    const { port } = this.#servers[this.#server]!
    await this.#restore(this.#servers[this.#server]!, snapshot)
    for (const { wire } of this.#replicas.toSorted(() => this.#random.next() - 0.5)) {
      wire.moveTo(port)
      wire.restore()
      if (this.#random.chance(0.5)) await Bun.sleep(this.#random.int(150))
    }
  }

  /** Whoever is asked finds all that is left, and no more. */
  async #end(): Promise<void> {
    for (const call of this.#running.splice(0)) this.#settle(call)
    const lefts = this.#scopes.map(one => one.budget.maxNanoUsd - this.#ledger.sum(one))
    const left = Math.min(...lefts)
    for (const at of [0, 1, 2].toSorted(() => this.#random.next() - 0.5)) {
      const more = await until(() => this.#verdict(at, left + 1), 'Redis answers')
      if (more.allowed) throw new Error(`${left + 1} of ${left} were let through`)
      if (left === 0) continue
      await until(async () => {
        const all = await this.#verdict(at, left)
        if (all?.allowed) all.release(0, 0)
        return all?.allowed
      }, `all of ${left} can be spent`)
    }
  }

  async #verdict(at: number, amount: number) {
    try {
      return await this.#replicas[at]!.take(this.#scopes, 0, amount)
    } catch (error) {
      if ((error as { kind?: string }).kind !== 'overloaded') throw error
      return undefined
    }
  }
}

describe.if(isThere)('on Redis', () => {
  const children: Bun.Subprocess[] = []
  const servers: Server[] = []
  beforeAll(async () => {
    for (let count = 0; count < 3; count++) {
      const port = freePort()
      const words = ['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
      children.push(Bun.spawn(words, { stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' }))
      const admin = await until(async () => {
        const client = new RedisClient(`redis://127.0.0.1:${port}`, { autoReconnect: false })
        return client.connect().then(
          () => client,
          () => undefined,
        )
      }, 'Redis serves')
      servers.push({ port, admin })
    }
  })
  afterAll(() => {
    for (const { admin } of servers) admin.close()
    for (const child of children) child.kill()
  })

  test('no loss of Redis, at any moment, lets a budget be exceeded or its room be lost', async () => {
    const seeds = [...newSeedsOf(24)]
    const total = { histories: 0, admitted: 0, refused: 0, losses: 0 }
    const failures: string[] = []
    const work = async () => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const history = new History(servers, seed)
        await history.run().catch((error: unknown) => failures.push(`seed ${seed}: ${String(error)}`))
        total.histories++
        for (const kind of ['admitted', 'refused', 'losses'] as const) total[kind] += history.done[kind]
      }
    }
    await Promise.all(Array.from({ length: together }, work))
    console.log(`losses of Redis: ${Object.entries(total).flat().join(' ')}`)
    expect(failures).toEqual([])
    expect(Math.min(...Object.values(total))).toBeGreaterThan(0)
  }, 3_600_000)
})
