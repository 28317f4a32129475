/** The connection to Redis that all exchanges share, and its state: a slow Redis is not a lost one. */
import { RedisConnection } from '../redis/redis-connection.ts'
import type { RedisScript } from '../redis/redis-connection.ts'
import { refusalOfRedis } from './redis-refusal.ts'
import { errorCode } from '../../lib/error-code.ts'

/** An answer is waited for this long. Beyond it Redis counts as away. */
const answerMs = 5000
/** Time to connect: five round trips over the farthest distance that is meant to work. */
const connectMs = 2000
/** A connection that was closed is opened anew, so often in a row before Redis counts as away. */
const reconnectsMax = 3
/** A blocking read of the mail lasts so long, in seconds; then it is repeated. */
const mailWaitS = 5
const mailPauseMs = 1000

interface RedisLinkOptions {
  readonly url: string
  /** Of a test that cannot wait as long. */
  readonly waits?: { readonly answerMs: number; readonly mailWaitS: number }
  /** Redis stopped or began to answer, or does not answer for another reason than before. */
  reportReachable(reachable: boolean, reason?: string): void
}

const isClosed = (error: unknown) => errorCode(error) === 'ERR_REDIS_CONNECTION_CLOSED'

/** One connection for questions, one that waits for mail. `start` comes first. */
export class RedisLink {
  readonly #options: RedisLinkOptions
  readonly #waits: NonNullable<RedisLinkOptions['waits']>
  readonly #questions: RedisConnection
  readonly #mail: RedisConnection
  #awaySinceMs: number | undefined
  #reason: string | undefined
  #explaining: Promise<void> | undefined
  #wasAnswered = false
  /** The connection over which a question was answered last. */
  #answeredConnection = 0
  /** Attempts to connect by the last answer: those since then failed, or were closed without an answer. */
  #connectionsAnswered = 0
  #closed = false

  constructor(options: RedisLinkOptions) {
    this.#options = options
    this.#waits = options.waits ?? { answerMs, mailWaitS }
    const connection = { url: options.url, answerMs: this.#waits.answerMs, connectMs }
    this.#questions = new RedisConnection(connection)
    this.#mail = new RedisConnection(connection)
  }

  /** Questions sent, those that wait for mail included. */
  get roundTrips(): number {
    return this.#questions.roundTrips + this.#mail.roundTrips
  }

  /** Whether Redis counts as there: it answered the last question, or is still waited for. */
  get reachable(): boolean {
    return this.#awaySinceMs === undefined
  }

  /** Monotonic; undefined = it is there. */
  get awaySinceMs(): number | undefined {
    return this.#awaySinceMs
  }

  /** Resolves when the reason of a loss has been reported. */
  explained(): Promise<void> | undefined {
    return this.#explaining
  }

  /**
   * The script's answer. Behind `values` it is told whether nothing was answered over this connection yet ('1'):
   * another Redis may be at its end. Rejects when Redis refuses, gives no answer in time or closes the connection; the
   * script may have run all the same.
   */
  async ask(script: RedisScript, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    await this.#questions.connect()
    const connection = this.#questions.connections
    const isNew = connection !== this.#answeredConnection
    const answer = await this.#questions.runHere(script, keys, [...values, isNew ? '1' : '0'])
    this.#answeredConnection = connection
    return answer
  }

  /** A question was answered. */
  async answered(): Promise<void> {
    this.#wasAnswered = true
    this.#connectionsAnswered = this.#questions.connections
    // The loss is reported before the recovery.
    await this.#explaining
    if (this.reachable || this.#closed) return
    this.#awaySinceMs = undefined
    this.#reason = undefined
    this.#options.reportReachable(true)
  }

  /** A question failed. true = the connection was closed a moment ago, and is worth another attempt. */
  failed(error: unknown): boolean {
    if (this.#closed) return false
    const reconnects = this.#questions.connections - this.#connectionsAnswered
    if (this.reachable && this.#wasAnswered && isClosed(error) && reconnects < reconnectsMax) return true
    this.#awaySinceMs ??= performance.now()
    this.#explaining = this.#explain(error)
    return false
  }

  async #explain(error: unknown): Promise<void> {
    const { message } = error as { message?: string }
    const refusal = isClosed(error) ? await refusalOfRedis(this.#options.url) : undefined
    const reason = refusal ?? message ?? String(error)
    if (this.#closed || this.reachable || reason === this.#reason) return
    this.#reason = reason
    this.#options.reportReachable(false, reason)
  }

  /** Waits for mail until it is closed. Without this second connection mail comes with the next exchange. */
  async readMail(key: () => string, deliver: (counter: string) => void): Promise<void> {
    const { answerMs: silentMs, mailWaitS: waitS } = this.#waits
    while (!this.#closed) {
      try {
        const found = await this.#mail.send('BLPOP', [key(), String(waitS)], waitS * 1000 + silentMs)
        if (found && !this.#closed) deliver((found as [string, string])[1])
      } catch {
        this.#mail.close()
        await Bun.sleep(mailPauseMs)
      }
    }
  }

  close(): void {
    this.#closed = true
    this.#questions.close()
    this.#mail.close()
  }
}
