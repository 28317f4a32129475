/**
 * Random interleavings of all that moves money: calls, fallbacks to other models, batches, refunds, resets, raises and
 * crashes, over a real database. The rows of the ledger, what is spent, the daily sums and what a limiter lets through
 * say the same in every scope.
 */
import { afterEach, describe, expect, test } from 'bun:test'
import { chargeList } from '../../core/tenancy/budget-charge.ts'
import type { LedgerRow } from '../../core/ledger/ledger-columns.ts'
import type { ChargedAmount } from '../../core/tenancy/budget-charge.ts'
import type { BudgetAmount, LimitReservation } from '../../core/tenancy/limits.ts'
import { openDatabase } from '../database/open.ts'
import { openLedgerDatabase } from '../ledger/ledger-database.ts'
import { exampleRow, makePlace } from '../ledger/ledger-fixture.ts'
import { decodeRecord, encodeSettlement } from '../ledger/journal/ledger-record.ts'
import { daysWithin, rollupDifferences } from '../ledger/sums/rollup-check.ts'
import type { FileRecord } from '../../core/objects/file-records.ts'
import { batchRecords } from '../objects/batch-records.ts'
import { Random, seedsOf } from '../../../tests/property/random.ts'
import { BudgetCounters } from './budget-counters.ts'
import type { BudgetScope } from './budget-counters.ts'
import { budgetOf, TestClock } from './budget-fixture.ts'
import { openBudgetSpend } from './budget-table.ts'
import { MemoryLimiter } from './limiter-memory.ts'
import { until } from '../../../tests/support/until.ts'
import { dayMs } from '../../lib/clock.ts'

const servers = [
  { name: 'SQLite', url: undefined },
  ...(process.env.TEST_DATABASE_URL ? [{ name: 'Postgres', url: process.env.TEST_DATABASE_URL }] : []),
]

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const raised = 3000
/** The last two are those of single models of the key, which count what these models cost. */
const ids = ['key:key-1', 'team:team-1', 'user:user-1', 'key:key-1:model:one', 'key:key-1:model:two']

interface Running {
  readonly taken: LimitReservation
  readonly scopes: readonly BudgetScope[]
  readonly bound: number
  /** Of the model that it was passed on to, if it was. */
  readonly next?: { readonly taken: LimitReservation; readonly scopes: readonly BudgetScope[] }
}

interface OpenBatch {
  readonly id: string
  readonly amounts: readonly (BudgetAmount & { readonly model: null })[]
}

/** One process after the other over one database; a journal outlives its process. */
async function openBooks(url: string | undefined) {
  const place = await makePlace(url)
  cleanups.push(() => place.remove())
  const [database, ledger] = [await openDatabase(place.databaseUrl), await openLedgerDatabase(place.databaseUrl)]
  cleanups.push(
    () => database.close(),
    () => ledger.close(),
  )
  const clock = new TestClock()
  const rows: LedgerRow[] = []
  const journal: LedgerRow[] = []
  let storing = Promise.resolve(true)
  // One after the other: what another one has taken from the journal is waited for.
  const store = () =>
    (storing = storing.then(async () => {
      const records = journal.splice(0).map(row => decodeRecord(encodeSettlement(row)))
      const values = records.map(one => (one?.kind === 'settlement' ? one.values : []))
      // SQLite has one writer, and a transaction of batches may be open on this thread.
      for (;;)
        try {
          await ledger.insert(values)
          return true
        } catch (error) {
          if (!String(error).includes('database is locked')) throw error
          await Bun.sleep(1)
        }
    }))
  const guard = { check: async () => {}, admit: async () => {} }
  const start = () => {
    const writer = crypto.randomUUID()
    const spend = openBudgetSpend({ database, ledger: { flush: store, isReplayed: true }, writer })
    return {
      writer,
      limiter: new MemoryLimiter(clock, new BudgetCounters({ spend, clock })),
      batches: batchRecords({ database, guard, writer }),
    }
  }
  return {
    start,
    store,
    clock,
    rows,
    /** As a process journals it. */
    settle(writer: string, amounts: readonly ChargedAmount[], cost: number) {
      const row = exampleRow({
        started_at_ms: 20_000 * dayMs + rows.length * 3_600_000,
        cost_nano_usd: String(cost),
        budget_nano_usd: String(cost),
        budget_scopes: [...chargeList(writer, amounts, cost)],
      })
      rows.push(row)
      journal.push(row)
    },
    /** What the table says of all periods of a scope, and of one. */
    async spent({ id, budget }: BudgetScope): Promise<number> {
      const found = (await database.sql`select spent_nano_usd from budget_spend
        where scope = ${id} and window_start_ms = ${budget.startMs}`) as { spent_nano_usd: unknown }[]
      return found.reduce((sum, row) => sum + Number(row.spent_nano_usd), 0)
    },
    async wrongSums() {
      const days = await daysWithin(ledger, { firstDay: 0, lastDay: 100_000 })
      return (await Promise.all(days.map(day => rollupDifferences(ledger, day)))).flat()
    },
    async daily(): Promise<number> {
      const [row] = (await database.sql`select sum(cost_nano_usd) as sum from ledger_daily where scope = 'key'`) as {
        sum: unknown
      }[]
      return Number(row?.sum ?? 0)
    },
  }
}

type Books = Awaited<ReturnType<typeof openBooks>>

/** What was charged and what open batches have reserved, counted in another way than by the program. */
class Truth {
  readonly #sums = new Map<string, number>()

  add(amounts: readonly BudgetAmount[], sign = 1): void {
    for (const { scope, startMs, nanoUsd } of amounts) {
      const key = `${scope}@${startMs}`
      this.#sums.set(key, (this.#sums.get(key) ?? 0) + sign * nanoUsd)
    }
  }

  of({ id, budget }: BudgetScope): number {
    return this.#sums.get(`${id}@${budget.startMs}`) ?? 0
  }
}

const batchLease = { owner: 'o', nowMs: 0, leaseMs: 1 }

const batchOf = (id: string, reserved: OpenBatch['amounts']): FileRecord => ({
  ...{ id, kind: 'batch', keyId: 'key-1', deploymentId: 'd', upstreamId: id, purpose: '', filename: '', bytes: 0 },
  ...{ models: ['one'], createdAtMs: 1, body: {}, recorded: false, owner: null, reserved },
})

const amountsOf = (scopes: readonly BudgetScope[], nanoUsd: number) =>
  scopes.map(({ id, budget }) => ({ scope: id, startMs: budget.startMs, nanoUsd }))

class Interleaving {
  readonly #books: Books
  readonly #random: (below: number) => number
  readonly #truth = new Truth()
  #process: ReturnType<Books['start']>
  #startMs = 5_000_000
  #raise = 0
  #running: Running[] = []
  #batches: OpenBatch[] = []
  /** How often each kind of step did something. */
  readonly done = { fallbacks: 0, batches: 0, ends: 0, crashes: 0 }

  constructor(books: Books, seed: number) {
    const random = new Random(seed)
    this.#random = below => random.int(below - 1)
    this.#books = books
    this.#process = books.start()
  }

  #current(): BudgetScope[] {
    const startMs = this.#startMs
    return ids.map((id, at) => budgetOf((at + 1) * 5000 + this.#raise, { id, startMs }))
  }

  /** undefined = it would wait for the end of others, which is not asked for here, or there is no room. */
  async #take(scopes: BudgetScope[], bound: number): Promise<LimitReservation | undefined> {
    const { limiter } = this.#process
    await limiter.prepare(scopes)
    if (scopes.some(one => limiter.budgetLeft(one) < bound)) return undefined
    const verdict = await limiter.take(scopes, 0, bound)
    return verdict.allowed ? verdict : undefined
  }

  async #call(): Promise<void> {
    const [whole, own] = [this.#current().slice(0, 3), this.#current().slice(3)]
    const bound = 2 + this.#random(1500)
    const scopes = [...whole.filter(() => this.#random(3) > 0), own[0]!]
    const taken = await this.#take(scopes, bound)
    if (!taken) return
    if (this.#random(3) > 0) return void this.#running.push({ taken, scopes, bound })
    const second = await this.#take([own[1]!], bound)
    if (!second) return void this.#running.push({ taken, scopes, bound })
    this.done.fallbacks++
    this.#running.push({ taken, scopes, bound, next: { taken: second, scopes: [own[1]!] } })
  }

  #end({ taken, scopes, bound, next }: Running): void {
    const half = Math.floor(bound / 2)
    const used = () => (this.#random(4) === 0 ? 0 : this.#random(half + 1))
    const [first, second] = [used(), next ? used() : 0]
    const cost = first + second
    const isFirst = ({ id }: BudgetScope) => id.endsWith(':one')
    const amounts = [
      ...scopes.flatMap(one => amountsOf([one], isFirst(one) ? first : cost)),
      ...amountsOf(next?.scopes ?? [], second),
    ]
    this.#truth.add(amounts)
    this.#books.settle(this.#process.writer, amounts, cost)
    const own = new Map(amounts.map(({ scope, nanoUsd }) => [scope, { tokens: 0, nanoUsd }]))
    taken.release(0, cost, own)
    next?.taken.release(0, 0, own)
  }

  async #startBatch(): Promise<void> {
    const scopes = this.#current().slice(0, 3)
    const bound = 1 + this.#random(1500)
    const taken = await this.#take(scopes, bound)
    if (!taken) return
    const id = `batch_${crypto.randomUUID()}`
    const amounts = amountsOf(scopes, bound).map(one => ({ ...one, model: null }))
    await this.#process.batches.begin(batchOf(id, amounts), batchLease)
    taken.keep()
    // Now and then it is not known whether it was stored.
    if (this.#random(4) === 0) this.#process.limiter.recount(scopes)
    this.#truth.add(amounts)
    this.#batches.push({ id, amounts })
    this.done.batches++
  }

  /** By the present process, whichever began it. */
  async #endBatch({ id, amounts }: OpenBatch): Promise<void> {
    const { batches, limiter, writer } = this.#process
    const isGivenUp = this.#random(4) === 0
    if (!isGivenUp) {
      const cost = this.#random(amounts[0]!.nanoUsd + 1)
      const charged = amounts.map(one => ({ ...one, nanoUsd: cost, returnedNanoUsd: one.nanoUsd }))
      this.#books.settle(writer, charged, cost)
      limiter.charge(charged, amounts)
      this.#truth.add(charged)
      if (this.#random(2) === 0) await this.#books.store()
      expect(await batches.settled(id, { status: 'completed' })).toBe(true)
    } else limiter.stored(await batches.giveUp(id))
    // Another look at it finds nothing to settle.
    expect(await batches.settled(id, {})).toBe(false)
    this.#truth.add(amounts, -1)
    this.done.ends++
  }

  async step(): Promise<void> {
    const what = this.#random(100)
    const [call] = what >= 45 && what < 75 ? this.#running.splice(this.#random(this.#running.length || 1), 1) : []
    const [batch] = what >= 80 && what < 88 ? this.#batches.splice(this.#random(this.#batches.length || 1), 1) : []
    if (what < 45) await this.#call()
    else if (call) this.#end(call)
    else if (what >= 75 && what < 80) await this.#startBatch()
    else if (batch) await this.#endBatch(batch)
    else if (what >= 88 && what < 91) this.#startMs += dayMs
    else if (what >= 91 && what < 93) this.#raise = this.#raise === 0 ? raised : 0
    else if (what >= 93 && what < 96) await this.#books.store()
    else if (what >= 96) {
      // The journal and the batches survive, reservations of calls do not.
      this.#process = this.#books.start()
      this.#running = []
      this.done.crashes++
    } else this.#books.clock.nowMs += 5000
    for (const one of this.#current()) expect(this.#truth.of(one)).toBeLessThanOrEqual(one.budget.maxNanoUsd + raised)
  }

  /** What the present process leaves of each budget, beside what its running calls have reserved. */
  async check(): Promise<void> {
    const { limiter } = this.#process
    for (const scope of this.#current()) {
      await limiter.prepare([scope])
      const isIn = (one: BudgetScope) => one.id === scope.id && one.budget.startMs === scope.budget.startMs
      const reserved = this.#running
        .filter(({ scopes, next }) => [...scopes, ...(next?.scopes ?? [])].some(isIn))
        .reduce((sum, { bound }) => sum + bound, 0)
      const expected = this.#truth.of(scope) + reserved
      // What is doubtful is read again in the background.
      await until(async () => {
        const counted = scope.budget.maxNanoUsd - limiter.budgetLeft(scope)
        // A doubt may count too much, never too little.
        expect(counted).toBeGreaterThanOrEqual(expected)
        this.#books.clock.nowMs += 100
        await limiter.prepare([scope])
        return counted === expected
      })
    }
  }

  async end(): Promise<void> {
    for (const call of this.#running.splice(0)) this.#end(call)
    await this.#books.store()
    for (const scope of this.#current())
      expect([scope.id, await this.#books.spent(scope)]).toEqual([scope.id, this.#truth.of(scope)])
    await this.check()
    this.#process = this.#books.start()
    await this.check()
    expect(await this.#books.wrongSums()).toEqual([])
    expect(await this.#books.daily()).toBe(this.#books.rows.reduce((sum, row) => sum + Number(row.cost_nano_usd), 0))
  }
}

for (const { name, url } of servers)
  describe(name, () => {
    test('random calls, fallbacks, batches, refunds, resets, raises and crashes keep all books equal', async () => {
      const done = { fallbacks: 0, batches: 0, ends: 0, crashes: 0 }
      for (const seed of seedsOf(url ? 1 : 4)) {
        const run = new Interleaving(await openBooks(url), seed)
        for (let step = 1; step <= 300; step++) {
          await run.step()
          if (step % 5 === 0) await run.check()
        }
        await run.end()
        for (const kind of Object.keys(done) as (keyof typeof done)[]) done[kind] += run.done[kind]
      }
      expect(Object.values(done).every(count => count > 3)).toBe(true)
    })

    for (const cost of [900, 400, 0])
      test(`a batch of 900 that cost ${cost}: no reader sees charge and reservation together, or neither`, async () => {
        const books = await openBooks(url)
        const scope = budgetOf(5000, { id: 'key:key-1', startMs: 5 })
        const [ending, beside] = [books.start(), books.start()]
        const left = async ({ limiter }: typeof ending) => {
          await limiter.prepare([scope])
          return 5000 - limiter.budgetLeft(scope)
        }
        const amounts = [{ scope: scope.id, startMs: 5, nanoUsd: 900, model: null }]
        await ending.batches.begin(batchOf('batch_1', amounts), batchLease)
        expect([await left(ending), await left(beside), await books.spent(scope)]).toEqual([900, 900, 900])
        const charged = [{ scope: scope.id, startMs: 5, nanoUsd: cost, returnedNanoUsd: 900 }]
        books.settle(ending.writer, charged, cost)
        ending.limiter.charge(charged, amounts)
        // The process that ends it counts both at once, and a database read at any moment has both or neither.
        expect(await left(ending)).toBe(cost)
        const seen = new Set<number>([await books.spent(scope)])
        let isStored = false
        const storing = books.store().then(() => (isStored = true))
        while (!isStored) seen.add(await books.spent(scope))
        await storing
        seen.add(await books.spent(scope))
        expect([...seen]).toEqual(cost === 900 ? [900] : [900, cost])
        // Killed here: the batch is not noted as settled, and a look of another process charges nothing again.
        const after = books.start()
        expect([await left(after), await after.batches.settled('batch_1', {})]).toEqual([cost, true])
        expect([await left(books.start()), await books.spent(scope)]).toEqual([cost, cost])
      })
  })
