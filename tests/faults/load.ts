/** Clients of a fleet, and the comparison of what they saw with the upstream's truth, the ledger and the budgets. */
import { callUsd } from './servers.ts'
import type { Fleet, Replica } from './fleet.ts'
import { until } from '../support/until.ts'

const callNanoUsd = Math.round(callUsd * 1e9)

interface LoadOptions {
  readonly clients: number
  /** Between two calls of a client. */
  readonly pauseMs: number
}

/** Calls without an end, spread over the replicas that are in rotation; each call has a `user` of its own. */
export class Load {
  /** `user` of the calls that were answered whole. */
  readonly complete = new Set<string>()
  /** `user` of the calls that a budget refused. */
  readonly refused = new Set<string>()
  /** What else happened; calls at a replica that was killed meanwhile are not in it. */
  readonly wrong: string[] = []
  /** The `user` of each of its calls begins so. */
  readonly name = crypto.randomUUID()
  /** Replicas that are asked. */
  readonly rotation: Set<Replica>
  readonly #killed = new Set<Replica>()
  readonly #key: string
  readonly #done: Promise<unknown>
  #running = true
  #next = 0

  constructor(fleet: Fleet, key: string, { clients, pauseMs }: LoadOptions) {
    this.#key = key
    this.rotation = new Set(fleet.replicas)
    this.#done = Promise.all(Array.from({ length: clients }, (_, at) => this.#client(at, pauseMs)))
  }

  /** Kills a replica and takes it out of rotation: its open calls may fail. */
  async kill(replica: Replica): Promise<void> {
    this.rotation.delete(replica)
    this.#killed.add(replica)
    replica.signal('SIGKILL')
    await replica.ended()
  }

  /** It serves again. */
  revive(replica: Replica): void {
    this.#killed.delete(replica)
    this.rotation.add(replica)
  }

  /** Resolves when so many more calls were answered whole. */
  async more(calls: number, msMax = 60_000): Promise<void> {
    const wanted = this.complete.size + calls
    await until(() => this.complete.size >= wanted, `${calls} more calls are answered`, msMax)
  }

  /** Resolves when every open call has ended. */
  async stop(): Promise<void> {
    this.#running = false
    await this.#done
  }

  async #client(at: number, pauseMs: number): Promise<void> {
    while (this.#running) {
      const replicas = [...this.rotation]
      const replica = replicas[this.#next++ % replicas.length]!
      const user = `${this.name}-${crypto.randomUUID()}`
      try {
        await this.#call(replica, user, at % 2 === 0)
      } catch (error) {
        if (!this.#killed.has(replica)) this.wrong.push(`${replica.name}: ${String(error)}`)
      }
      await Bun.sleep(pauseMs)
    }
  }

  async #call(replica: Replica, user: string, stream: boolean): Promise<void> {
    const answer = await fetch(`${replica.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#key}` },
      body: JSON.stringify({ model: 'm', user, stream, max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }),
    })
    const text = await answer.text()
    if (answer.status === 200 && (!stream || text.endsWith('data: [DONE]\n\n'))) this.complete.add(user)
    else if (answer.status === 429 && text.includes('budget_exceeded')) this.refused.add(user)
    else this.wrong.push(`${replica.name}: ${answer.status} ${text.slice(0, 300)}`)
  }
}

/** What the books say of the key of a load at the end. Nano-dollars. */
export interface Books {
  /** Calls that the upstream was asked for. */
  readonly asked: number
  /** Of these: neither settled in a row, nor interrupted with their replica. */
  readonly lost: number
  /** Rows of a call beyond its first. */
  readonly doubled: number
  /** Calls that a client saw whole, and that have no row with their cost. */
  readonly unpriced: number
  /** What the calls cost that the upstream was asked for. */
  readonly truthNanoUsd: number
  /** The sum of the rows' costs, of what they were charged in budgets, and what the books of both say. */
  readonly costNanoUsd: number
  readonly summedNanoUsd: number
  readonly chargedNanoUsd: number
  readonly spentNanoUsd: number
}

interface Row {
  readonly request_id: string
  readonly end_user: string | null
  readonly outcome: string
  readonly cost: string | null
  readonly charged: string | null
}

/** Without a further row. */
const bookedMsMax = 60_000

/**
 * Compares the books with the truth, once every call is stored, or no further one was for a minute: what was journalled
 * in a long outage takes a while.
 */
export async function booksOf({ sql, truth }: Fleet, keyId: string, load: Load): Promise<Books> {
  const asked = [...truth.asked.keys()].filter(user => user.startsWith(load.name))
  let rows: readonly Row[] = []
  const read = async () => {
    rows =
      (await sql`select request_id, end_user, outcome, cost_nano_usd::text as cost, budget_nano_usd::text as charged
      from ledger where key_id = ${keyId}`) as Row[]
    const settled = new Set(rows.map(row => row.end_user))
    const interrupted = rows.filter(row => row.outcome === 'interrupted' && row.end_user === null).length
    // An interrupted call may have not reached the upstream yet: it stands for none that a client has seen whole.
    const unseen = [...load.complete].filter(user => !settled.has(user)).length
    return Math.max(asked.filter(user => !settled.has(user)).length - interrupted, unseen, 0)
  }
  let lost = await read()
  for (let [least, sinceMs] = [lost, performance.now()]; lost > 0; lost = await read()) {
    if (lost < least) [least, sinceMs] = [lost, performance.now()]
    if (performance.now() - sinceMs > bookedMsMax) break
    // A hundred thousand rows are not read ten times a second.
    await Bun.sleep(Math.max(100, asked.length / 50))
  }
  const sumOf = (pick: (row: Row) => string | null) => rows.reduce((sum, row) => sum + Number(pick(row) ?? 0), 0)
  const totalOf = async (text: string) => Number(((await sql.unsafe(text, [keyId])) as { total: string }[])[0]!.total)
  const settled = rows.flatMap(row => (row.end_user === null ? [] : [row.end_user]))
  const priced = new Set(rows.filter(row => Number(row.cost) === callNanoUsd).map(row => row.end_user))
  return {
    asked: asked.length,
    lost,
    doubled: settled.length - new Set(settled).size,
    unpriced: [...load.complete].filter(user => !priced.has(user)).length,
    truthNanoUsd: asked.length * callNanoUsd,
    costNanoUsd: sumOf(row => row.cost),
    chargedNanoUsd: sumOf(row => row.charged),
    summedNanoUsd: await totalOf(
      `select coalesce(sum(cost_nano_usd), 0)::text as total from (select scope, key_id, cost_nano_usd from ledger_daily
        union all select scope, key_id, cost_nano_usd from ledger_pending_sums) as sums
        where scope = 'key' and key_id = $1`,
    ),
    spentNanoUsd: await totalOf(
      `select coalesce(sum(spent_nano_usd), 0)::text as total from budget_spend where scope = 'key:' || $1`,
    ),
  }
}
