/**
 * The connections to Postgres. A server that vanishes without closing them (a failover whose packets are dropped, a
 * host that lost its network) leaves connections that never answer: TCP notices after a quarter of an hour, and
 * Bun.SQL has no timeout for queries. The server ends each statement after ten seconds: what has no answer by then has
 * none, and where a new connection gets one the pool is replaced. Where a new connection gets none either, the server
 * is silent, and requests ask it nothing (`unlessSilent`) until a connection of the pool's own has an answer.
 */
import type { SQL } from 'bun'

const statementTimeoutMs = 10_000
/** How often within `replaceMs` the statements that wait are looked at. */
const looks = 24
const connectTimeoutS = 5
/** What still runs on a pool that was replaced has so long to end. */
const leaveTimeoutS = 30

/** When a server that gives no answer is doubted, and given up. */
export interface PoolTimes {
  /** A statement without an answer for so long has none; longer than the server lets a statement run. */
  readonly replaceMs: number
  /** Where no statement has had an answer for so long, a new connection is tried. */
  readonly doubtMs: number
  /** A new connection has to answer within this time. */
  readonly probeMs: number
}

const timesDefault: PoolTimes = { replaceMs: 12_000, doubtMs: 1500, probeMs: 3000 }

interface Pool {
  readonly sql: SQL
  /**
   * No statement has an answer, and a new connection got none: it is tried again until it gets one. With a moment, also
   * where it was so since.
   */
  isSilent(sinceMs?: number): boolean
  close(timeoutS: number): Promise<void>
}

/**
 * Connects when it is used. `sql` stays valid when the connections behind it are replaced: where a statement has no
 * answer for `replaceMs`, and a new connection has. It asks a silent server, too: only `unlessSilent` does not.
 */
export function openPool(url: string, connectionsMax: number, times: PoolTimes = timesDefault): Pool {
  const pool = new PostgresPool(url, connectionsMax, times)
  return { sql: facade(pool), isSilent: sinceMs => pool.isSilent(sinceMs), close: timeoutS => pool.close(timeoutS) }
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
  readonly #times: PoolTimes
  #sql: SQL
  /** Since when the statements of the present pool wait, in the order in which they began. */
  #waiting = new Set<{ readonly sinceMs: number }>()
  #timer: ReturnType<typeof setInterval> | undefined
  #isProbing = false
  #probedMs = -Infinity
  /** When a statement last had an answer. */
  #answeredMs = -Infinity
  #isSilent = false
  /** When it was silent last. */
  #silentMs = -Infinity
  #closed = false

  constructor(url: string, connectionsMax: number, times: PoolTimes) {
    this.#url = url
    this.#times = times
    this.#connectionsMax = connectionsMax
    this.#sql = this.#connect(connectionsMax)
  }

  get current(): SQL {
    return this.#sql
  }

  isSilent(sinceMs = Infinity): boolean {
    return this.#isSilent || this.#silentMs >= sinceMs
  }

  async use<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    const ended = this.#waits()
    try {
      const answer = await work(this.#sql)
      this.#answered()
      return answer
    } finally {
      ended()
    }
  }

  /** BEGIN is waited for; how long the transaction takes is up to it. */
  async begin(parameters: BeginParameters): Promise<unknown> {
    const ended = this.#waits()
    const work = parameters.at(-1) as Work
    const run: Work = tx => {
      ended()
      this.#answered()
      return work(tx)
    }
    try {
      return await (this.#sql.begin as (...all: unknown[]) => Promise<unknown>)(...parameters.slice(0, -1), run)
    } finally {
      ended()
    }
  }

  close(timeoutS?: number): Promise<void> {
    this.#closed = true
    this.#rest()
    return this.#sql.close(timeoutS === undefined ? {} : { timeout: timeoutS })
  }

  /** Bun loads its SQL at the first use of `Bun.SQL`; an import would cost each thread 5 ms of its start. */
  #connect(max: number): SQL {
    return new Bun.SQL(this.#url, {
      max,
      connectionTimeout: connectTimeoutS,
      // Bun pipelines queries onto busy connections, where one that hangs blocks those behind it.
      connection: { statement_timeout: statementTimeoutMs, lock_timeout: 5000, application_name: 'modelgate' },
    })
  }

  #answered(): void {
    this.#answeredMs = performance.now()
    this.#speaks()
  }

  #speaks(): void {
    if (this.#isSilent) this.#silentMs = performance.now()
    this.#isSilent = false
  }

  /** To be called when it has ended. */
  #waits(): () => void {
    const waiting = this.#waiting
    const one = { sinceMs: performance.now() }
    waiting.add(one)
    if (!this.#timer && !this.#closed) {
      this.#timer = setInterval(() => void this.#look(), this.#times.replaceMs / looks)
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
    if (!oldest && !this.#isSilent) return this.#rest()
    if (this.#isProbing) return
    const nowMs = performance.now()
    const waitedMs = oldest ? nowMs - oldest.sinceMs : 0
    const { replaceMs, doubtMs } = this.#times
    const isOld = waitedMs >= replaceMs
    const isDoubtful = waitedMs >= doubtMs && this.#hasNoAnswerSince(oldest) && nowMs - this.#probedMs >= doubtMs
    if (!isOld && !isDoubtful && !this.#isSilent) return
    this.#isProbing = true
    const found = await this.#probe()
    // A server that stood still may answer the new connection a moment before the old ones.
    if (found === 'usable' && isOld) await Bun.sleep(replaceMs / looks)
    this.#isProbing = false
    this.#probedMs = performance.now()
    if (this.#closed) return
    if (found !== 'nothing') this.#speaks()
    else this.#isSilent ||= this.#hasNoAnswerSince(oldest)
    if (found === 'usable' && isOld && this.#waiting.has(oldest!)) this.#replace()
  }

  /** It still waits, and no statement after it was answered: a slow statement alone is no sign of a silent server. */
  #hasNoAnswerSince(one: { readonly sinceMs: number } | undefined): boolean {
    return one !== undefined && this.#waiting.has(one) && this.#answeredMs < one.sinceMs
  }

  /** What a new connection gets. A server that refuses it, having too many or none of this name, is there. */
  async #probe(): Promise<'usable' | 'refused' | 'nothing'> {
    const probe = this.#connect(1)
    const found = await Promise.race([
      probe`select 1`.then(
        () => 'usable' as const,
        (error: unknown) => (hasSqlState(error) ? 'refused' : 'nothing'),
      ),
      Bun.sleep(this.#times.probeMs).then(() => 'nothing' as const),
    ])
    void probe.close({ timeout: 0 }).catch(() => {})
    return found
  }

  #replace(): void {
    const left = this.#sql
    this.#sql = this.#connect(this.#connectionsMax)
    this.#waiting = new Set()
    void left.close({ timeout: leaveTimeoutS }).catch(() => {})
  }
}

/** The server has said it (postgresql.org/docs/current/errcodes-appendix.html); errors of connections have no state. */
function hasSqlState(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(String((error as { errno?: unknown }).errno))
}
