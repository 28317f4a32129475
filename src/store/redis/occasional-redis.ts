/** Redis for what is asked seldom: the connection is opened when it is needed first. */
import { RedisClient } from 'bun'
import { redisAnswer } from './redis-answer.ts'

/** A connection that failed, or did not answer in time, is replaced by the next question. */
export class OccasionalRedis {
  readonly #url: string
  readonly #answerMs: number
  #client: RedisClient | undefined
  #connecting: Promise<unknown> | undefined

  constructor(url: string, answerMs: number) {
    this.#url = url
    this.#answerMs = answerMs
  }

  /** Rejects when Redis refuses the script or gives no answer in time: it may have run all the same. */
  async run(script: string, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const client = (this.#client ??= new RedisClient(this.#url, { autoReconnect: false, enableOfflineQueue: false }))
    const answer = async () => {
      if (!client.connected) await (this.#connecting ??= client.connect())
      return client.send('EVAL', [script, String(keys.length), ...keys, ...values])
    }
    try {
      return await redisAnswer(answer(), this.#answerMs)
    } catch (error) {
      // The connection may be dead without a sign of it.
      client.close()
      if (this.#client === client) this.#client = undefined
      throw error
    } finally {
      this.#connecting = undefined
    }
  }

  close(): void {
    this.#client?.close()
  }
}
