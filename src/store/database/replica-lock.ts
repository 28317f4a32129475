/** Without Redis there may be one replica only, because each would count limits for itself. */
import { randomUUIDv7, SQL } from 'bun'
import { answerInTime, closeTimeoutS } from './open.ts'

/** Any number but the migrations'; the same for all replicas. */
const advisoryLock = 7_203_612
const pollMs = 1000
const endedTurns = 20
const endedTurnMs = 25
/** The server notices a moment later that a process has ended which had the claim, on a busy machine after a while. */
const endedProcessMs = 1000
const takeAgainMs = 100

interface ReplicaClaim {
  /** false = the database lost the claim (by a restart, for example) and another replica has it now. */
  readonly held: boolean
  release(): Promise<void>
}

interface ClaimOptions {
  /** The database is away: the claim is taken when it comes, and counts as held until then. */
  readonly later?: boolean
  /** Another replica has taken the claim (`false`), or this one has it again. */
  reportHeld(held: boolean): void
}

/**
 * Claims to be the only replica on a Postgres database; undefined on SQLite, where the lock of the data directory does
 * the same. Throws the reason when another replica runs, and still does a second later. The claim ends with the
 * connection, and is taken again within a second or two when the connection is back.
 */
export async function claimSingleReplica(
  databaseUrl: string,
  options?: ClaimOptions,
): Promise<ReplicaClaim | undefined> {
  if (databaseUrl.startsWith('sqlite:')) return undefined
  const claim = new Claim(databaseUrl, options)
  if (options?.later !== true && !(await isTakenInTime(claim))) {
    await claim.release()
    throw new Error(
      'another replica already runs on this database; more than one needs REDIS_URL, because rate limits of replicas ' +
        'that do not talk to each other would let through a multiple',
    )
  }
  claim.watch()
  return claim
}

async function isTakenInTime(claim: Claim): Promise<boolean> {
  const untilMs = performance.now() + endedProcessMs
  for (;;) {
    if (await claim.take()) return true
    if (performance.now() > untilMs) return false
    await Bun.sleep(takeAgainMs)
  }
}

class Claim implements ReplicaClaim {
  held = true
  readonly #options: ClaimOptions | undefined
  /** Tells our own sessions from another replica's. */
  readonly #name = `modelgate-replica ${randomUUIDv7()}`
  readonly #sql: SQL
  #timer: ReturnType<typeof setInterval> | undefined
  #polling: Promise<void> | undefined

  constructor(databaseUrl: string, options: ClaimOptions | undefined) {
    this.#options = options
    this.#sql = new SQL(databaseUrl, {
      max: 1,
      idleTimeout: 0,
      connectionTimeout: 5,
      connection: {
        application_name: this.#name,
        // The claim of a machine that disappeared ends after half a minute, not after the system's two hours.
        tcp_keepalives_idle: 15,
        tcp_keepalives_interval: 5,
        tcp_keepalives_count: 3,
      },
    })
  }

  /**
   * Whether this replica has the claim. Can be repeated: a session that has the lock gets it again, a new session takes
   * it. An earlier session of this replica whose connection the server still believes to be alive is terminated.
   */
  async take(): Promise<boolean> {
    if (await this.#lock()) return true
    const ended = (await this.#sql`
      select pg_terminate_backend(pid) as ended from pg_stat_activity
      where application_name = ${this.#name} and pid <> pg_backend_pid()`) as { ended: boolean }[]
    // The lock is released a moment later, and another replica may take it first.
    for (let turn = 0; turn < endedTurns && ended.some(row => row.ended); turn++) {
      await Bun.sleep(endedTurnMs)
      if (await this.#lock()) return true
    }
    return false
  }

  async #lock(): Promise<boolean> {
    const rows = (await this.#sql`select pg_try_advisory_lock(${advisoryLock}) as claimed`) as { claimed: boolean }[]
    return rows[0]?.claimed === true
  }

  watch(): void {
    this.#timer = setInterval(
      () => void (this.#polling ??= this.#poll().finally(() => (this.#polling = undefined))),
      pollMs,
    )
    this.#timer.unref()
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sql.close({ timeout: closeTimeoutS })
  }

  /** While the database is away no replica can take the claim: the state is kept. */
  async #poll(): Promise<void> {
    try {
      const held = await answerInTime(this.take())
      if (held === this.held) return
      this.held = held
      this.#options?.reportHeld(held)
    } catch {
      // The key directory reports that the database is away.
    }
  }
}
