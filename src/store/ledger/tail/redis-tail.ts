/**
 * Rows of the ledger between replicas, over Redis' channels. A replica learns by the number of receivers whether
 * another one follows: it asks twice a second, beside the calls, and sends no rows while there is none.
 */
import { randomUUIDv7 } from 'bun'
import type { RedisClient } from 'bun'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { KeyRing } from '../../../lib/encryption.ts'
import { newRedisClient, redisAnswer, RedisConnection } from '../../redis/redis-connection.ts'
import type { TailExchange } from './tail.ts'

const channel = 'modelgate:ledger-tail'
/** What binds the texts to the channel. */
const encryptionContext = 'ledger-tail'
/** Whether another replica follows is asked so often. */
const askMs = 500
const reconnectMs = 1000
const connectMs = 2000
/** An answer is waited for this long, and so is what each replica publishes all the time. */
const answerMs = 5000
/** Rows of one message, some 200 kB. */
const rowsAtOnce = 100

interface Message {
  /** Of the replica: it receives what it sends. */
  readonly from: string
  readonly rows: readonly LedgerRow[]
}

interface RedisTailOptions {
  readonly url: string
  /** Names of customers and users are not for those who read Redis. */
  readonly keys: KeyRing
  /** Of a test that cannot wait as long. */
  readonly answerMs?: number
}

/** While Redis is away a replica has its own rows alone. */
export class RedisTail implements TailExchange {
  readonly #options: RedisTailOptions
  readonly #publisher: RedisConnection
  #subscriber: RedisClient | undefined
  #received: ((rows: readonly LedgerRow[] | null) => void) | undefined
  #hasFollowers = false
  /** When the subscriber received its last message, monotonic. */
  #heardMs = 0
  readonly #id = randomUUIDv7()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(options: RedisTailOptions) {
    this.#options = options
    this.#publisher = new RedisConnection({ url: options.url, answerMs: this.#answerMs, connectMs })
    this.#timer = setInterval(() => void this.#publish(''), askMs)
    this.#timer.unref()
  }

  get hasFollowers(): boolean {
    return this.#hasFollowers
  }

  async open(received: (rows: readonly LedgerRow[] | null) => void): Promise<void> {
    this.#received = received
    // While Redis is away there are the rows of this replica.
    await Promise.race([this.#subscribe(), Bun.sleep(connectMs)])
    // By then each of the others has asked.
    await Bun.sleep(2 * askMs)
  }

  close(): void {
    this.#received = undefined
    this.#subscriber?.close()
    this.#subscriber = undefined
  }

  /** Of the whole process. */
  stop(): void {
    clearInterval(this.#timer)
    this.close()
    this.#publisher.close()
  }

  send(rows: readonly LedgerRow[]): void {
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      const message: Message = { from: this.#id, rows: rows.slice(at, at + rowsAtOnce) }
      void this.#publish(this.#options.keys.seal(JSON.stringify(message), encryptionContext))
    }
  }

  /** An empty text only asks. Never rejects. */
  async #publish(text: string): Promise<void> {
    try {
      const receivers = Number(await this.#publisher.send('PUBLISH', [channel, text]))
      this.#hasFollowers = receivers > (this.#subscriber?.connected ? 1 : 0)
      this.#listen()
    } catch {
      this.#hasFollowers = false
    }
  }

  get #answerMs(): number {
    return this.#options.answerMs ?? answerMs
  }

  /** A subscriber receives what this process publishes, too: one that does not is dead without a sign of it. */
  #listen(): void {
    const client = this.#subscriber
    if (!client?.connected || performance.now() - this.#heardMs < this.#answerMs) return
    this.#heardMs = performance.now()
    client.close()
  }

  /** Resolves when it receives; tries again while Redis is away, until it is closed. `isAgain` = rows were missed. */
  async #subscribe({ isAgain = false } = {}): Promise<void> {
    let isLate = isAgain
    while (this.#received) {
      const client = newRedisClient(this.#options.url, connectMs)
      this.#subscriber = client
      try {
        await redisAnswer(client.connect(), connectMs)
        await redisAnswer(client.subscribe(channel, text => this.#receive(text)) as Promise<unknown>, this.#answerMs)
        this.#heardMs = performance.now()
        client.onclose = () => void (this.#subscriber === client && this.#subscribe({ isAgain: true }))
        // What was sent until now is missed.
        if (isLate) this.#received?.(null)
        return
      } catch {
        isLate = true
        client.close()
        await Bun.sleep(reconnectMs)
      }
      if (this.#subscriber !== client) return
    }
  }

  #receive(text: string): void {
    this.#heardMs = performance.now()
    if (text === '') return
    try {
      const { from, rows } = JSON.parse(this.#options.keys.open(text, encryptionContext).toString()) as Message
      if (from !== this.#id) this.#received?.(rows)
    } catch {
      // Of another installation in the same Redis.
    }
  }
}
