/** The connection to Redis that all exchanges share, and its state: a slow Redis is not a lost one. */
import { RedisClient } from 'bun'
import { redisAnswer, RedisSilent } from '../redis/redis-answer.ts'
import type { Script } from './grant-script.ts'
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
  #client: RedisClient
  #mailClient: RedisClient | undefined
  #awaySinceMs: number | undefined
  #reason: string | undefined
  #connecting: Promise<void> | undefined
  #explaining: Promise<void> | undefined
  #wasAnswered = false
  /** Attempts to connect, and the one over which a question was answered last. */
  #connections = 0
  #answeredConnection = 0
  /** Connections in a row that failed or were closed without an answer. */
  #connectsFailed = 0
  #closed = false
  /** Questions sent, those that wait for mail included. */
  roundTrips = 0

  constructor(options: RedisLinkOptions) {
    this.#options = options
    this.#waits = options.waits ?? { answerMs, mailWaitS }
    this.#client = this.#newClient()
  }

  #newClient(): RedisClient {
    // The client's offline queue would send commands long after their callers have given up, and its own attempts to
    // connect hide why they fail: each question connects where it has to.
    return new RedisClient(this.#options.url, {
      enableOfflineQueue: false,
      autoReconnect: false,
      connectionTimeout: connectMs,
    })
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
  async ask(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    if (!this.#client.connected) await this.#connect()
    const connection = this.#connections
    const isNew = connection !== this.#answeredConnection
    const answer = await this.#run(script, [String(keys.length), ...keys, ...values, isNew ? '1' : '0'])
    this.#answeredConnection = connection
    return answer
  }

  async #run({ text, sha1 }: Script, parameters: string[]): Promise<unknown> {
    try {
      this.roundTrips++
      return await this.#inTime(this.#client.send('EVALSHA', [sha1, ...parameters]))
    } catch (error) {
      // Redis was restarted: nothing has run, and EVAL with the text makes it cache the script again.
      if (!String((error as { message?: unknown }).message).startsWith('NOSCRIPT')) throw error
      this.roundTrips++
      return await this.#inTime(this.#client.send('EVAL', [text, ...parameters]))
    }
  }

  async #inTime<T>(answer: Promise<T>): Promise<T> {
    try {
      return await redisAnswer(answer, this.#waits.answerMs)
    } catch (error) {
      // The connection may be dead without a sign of it.
      if (error instanceof RedisSilent) this.#renew()
      throw error
    }
  }

  #renew(): void {
    if (this.#closed) return
    this.#client.close()
    this.#client = this.#newClient()
  }

  #connect(): Promise<void> {
    return (this.#connecting ??= this.#connectInTime().finally(() => (this.#connecting = undefined)))
  }

  async #connectInTime(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`timeout: no connection within ${connectMs} ms`)), connectMs)
    })
    try {
      this.#connectsFailed++
      this.#connections++
      await Promise.race([this.#client.connect(), late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** A question was answered. */
  async answered(): Promise<void> {
    this.#wasAnswered = true
    this.#connectsFailed = 0
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
    if (this.reachable && this.#wasAnswered && isClosed(error) && this.#connectsFailed < reconnectsMax) return true
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
        const client = (this.#mailClient ??= this.#newClient())
        if (!client.connected) await redisAnswer(client.connect(), connectMs)
        this.roundTrips++
        const found = await redisAnswer(client.send('BLPOP', [key(), String(waitS)]), waitS * 1000 + silentMs)
        if (found && !this.#closed) deliver((found as [string, string])[1])
      } catch {
        this.#mailClient?.close()
        this.#mailClient = undefined
        await Bun.sleep(mailPauseMs)
      }
    }
  }

  close(): void {
    this.#closed = true
    this.#client.close()
    this.#mailClient?.close()
  }
}
