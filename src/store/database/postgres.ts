/**
 * The connections to Postgres. A server that vanishes without closing them (a failover whose packets are dropped, a
 * host that lost its network) leaves connections that never answer: TCP notices after a quarter of an hour, and
 * Bun.SQL has no timeout for queries. The server ends each statement after ten seconds: what has no answer by then has
 * none, and where a new connection gets one the pool is replaced.
 */
import { SQL } from 'bun'

const statementTimeoutMs = 10_000
/** Longer than the server lets a statement run. */
const silentMsDefault = 12_000
/** So often in this time it is looked whether something waits. */
const looks = 12
/** A new connection has to answer within this time. */
const probeMs = 3000
const connectTimeoutS = 5
/** What still runs on a pool that was replaced has so long to end. */
const leaveTimeoutS = 30

interface Pool {
  readonly sql: SQL
  close(timeoutS: number): Promise<void>
}

/**
 * Connects when it is used. `sql` stays valid when the connections behind it are replaced: where a statement has no
 * answer for `silentMs`, and a new connection has.
 */
export function openPool(url: string, connectionsMax: number, silentMs: number = silentMsDefault): Pool {
  const pool = new PostgresPool(url, connectionsMax, silentMs)
  return { sql: facade(pool), close: timeoutS => pool.close(timeoutS) }
}

/** The part of `SQL` that the stores use. */
function facade(pool: PostgresPool): SQL {
  const call = (first: unknown, ...rest: unknown[]): unknown => {
    const apply = (sql: SQL) => (sql as unknown as (...all: unknown[]) => unknown)(first, ...rest)
    const isStatement = Array.isArray(first) && 'raw' in first
    // Otherwise it is a helper, `sql(row)`, a part of a statement.
    return isStatement ? pool.use(async sql => await apply(sql)) : apply(pool.current)
  }
  return Object.defineProperties(call, {
    unsafe: { value: (text: string, values?: unknown[]) => pool.use(async sql => await sql.unsafe(text, values)) },
    begin: { value: (...parameters: BeginParameters) => pool.begin(parameters) },
    close: { value: ({ timeout }: { timeout?: number } = {}) => pool.close(timeout) },
  }) as unknown as SQL
}

type Work = (tx: unknown) => Promise<unknown>
/** The words behind BEGIN may be left out. */
type BeginParameters = readonly [...words: string[], work: Work]

class PostgresPool {
  readonly #url: string
  readonly #connectionsMax: number
  readonly #silentMs: number
  #sql: SQL
  /** Since when the statements of the present pool wait, in the order in which they began. */
  #waiting = new Set<{ readonly sinceMs: number }>()
  #timer: ReturnType<typeof setInterval> | undefined
  #isProbing = false
  #closed = false

  constructor(url: string, connectionsMax: number, silentMs: number) {
    this.#url = url
    this.#silentMs = silentMs
    this.#connectionsMax = connectionsMax
    this.#sql = this.#connect(connectionsMax)
  }

  get current(): SQL {
    return this.#sql
  }

  async use<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    const answered = this.#waits()
    try {
      return await work(this.#sql)
    } finally {
      answered()
    }
  }

  /** BEGIN is waited for; how long the transaction takes is up to it. */
  async begin(parameters: BeginParameters): Promise<unknown> {
    const answered = this.#waits()
    const work = parameters.at(-1) as Work
    const run: Work = tx => {
      answered()
      return work(tx)
    }
    try {
      return await (this.#sql.begin as (...all: unknown[]) => Promise<unknown>)(...parameters.slice(0, -1), run)
    } finally {
      answered()
    }
  }

  close(timeoutS?: number): Promise<void> {
    this.#closed = true
    this.#rest()
    return this.#sql.close(timeoutS === undefined ? {} : { timeout: timeoutS })
  }

  #connect(max: number): SQL {
    return new SQL(this.#url, {
      max,
      connectionTimeout: connectTimeoutS,
      // Bun pipelines queries onto busy connections, where one that hangs blocks those behind it.
      connection: { statement_timeout: statementTimeoutMs, lock_timeout: 5000, application_name: 'modelgate' },
    })
  }

  /** To be called when it is answered. */
  #waits(): () => void {
    const waiting = this.#waiting
    const one = { sinceMs: performance.now() }
    waiting.add(one)
    if (!this.#timer && !this.#closed) {
      this.#timer = setInterval(() => void this.#look(), this.#silentMs / looks)
      this.#timer.unref()
    }
    return () => void waiting.delete(one)
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #look(): Promise<void> {
    const [oldest] = this.#waiting
    if (!oldest) return this.#rest()
    if (this.#isProbing || performance.now() - oldest.sinceMs < this.#silentMs) return
    this.#isProbing = true
    if ((await this.#answersAnew()) && this.#waiting.has(oldest) && !this.#closed) this.#replace()
    this.#isProbing = false
  }

  async #answersAnew(): Promise<boolean> {
    const probe = this.#connect(1)
    const isThere = await Promise.race([
      probe`select 1`.then(
        () => true,
        () => false,
      ),
      Bun.sleep(probeMs).then(() => false),
    ])
    void probe.close({ timeout: 0 }).catch(() => {})
    return isThere
  }

  #replace(): void {
    const left = this.#sql
    this.#sql = this.#connect(this.#connectionsMax)
    this.#waiting = new Set()
    void left.close({ timeout: leaveTimeoutS }).catch(() => {})
  }
}
