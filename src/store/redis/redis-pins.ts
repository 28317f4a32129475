/**
 * Where sessions were moved to, between replicas: a list in Redis that each of them reads twice a second, beside the
 * calls, and from the beginning when it starts. While Redis is away each replica has its own pins and the hash.
 */
import type { SessionKey, SessionPin, SharedPins } from '../../core/session-pins.ts'
import { RedisConnection, redisScript } from './redis-connection.ts'

const readMs = 500
const answerMs = 3000
/** About so many pins are in the list at most. */
const entriesMax = 100_000
const entriesAtOnce = 1000

/** KEYS: the list. ARGV: how many entries it has at most, milliseconds that it stays, key and deployment. */
const putScript = redisScript(
  `
local time = redis.call('TIME')
local since = time[1] * 1000 - ARGV[2]
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'k', ARGV[3], 'd', ARGV[4])
redis.call('XTRIM', KEYS[1], 'MINID', '~', since)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`,
  (keyspace, [list], [lengthMax, ttlMs, key, deployment]) => {
    keyspace.append(list!, ['k', key!, 'd', deployment!], Number(lengthMax))
    keyspace.dropEntriesBefore(list!, keyspace.nowMs - Number(ttlMs))
    keyspace.expire(list!, Number(ttlMs))
    return 1
  },
)
/** KEYS: the list. ARGV: behind which entry, how many. Returns the clock of Redis, too. */
const readScript = redisScript(
  `
local time = redis.call('TIME')
return {time[1] * 1000, redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])}`,
  (keyspace, [list], [from, count]) => [keyspace.nowMs, keyspace.entriesFrom(list!, from!, Number(count))],
)

type Entry = readonly [id: string, fields: readonly string[]]

interface PinOptions {
  readonly redisUrl: string
  /** Names the installation in Redis, which others may share. */
  readonly installation: string
}

/** Reads from `follow` until it is closed. */
export class RedisPins implements SharedPins {
  readonly #redis: RedisConnection
  readonly #keys: readonly [string]
  #listener: ((pin: SessionPin) => void) | undefined
  #timer: ReturnType<typeof setInterval> | undefined
  /** The entry read last; empty = none. */
  #last = ''
  #isReading = false

  constructor({ redisUrl, installation }: PinOptions) {
    this.#redis = new RedisConnection({ url: redisUrl, answerMs })
    this.#keys = [`{modelgate}:${installation}:session-pins`]
  }

  put(key: SessionKey, deploymentId: string, ttlMs: number): void {
    const values = [String(entriesMax), String(Math.ceil(ttlMs)), String(key), deploymentId]
    // It is a hint: while Redis is away the other replicas find the session by its hash.
    this.#redis.run(putScript, this.#keys, values).catch(() => {})
  }

  follow(listener: (pin: SessionPin) => void): void {
    this.#listener = listener
    this.#timer = setInterval(() => void this.read(), readMs)
    this.#timer.unref()
    void this.read()
  }

  /** Reads what is new. Never rejects. */
  async read(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      while ((await this.#readSome()) === entriesAtOnce);
    } catch {
      // Redis is away: what is new is read when it answers again.
    } finally {
      this.#isReading = false
    }
  }

  async #readSome(): Promise<number> {
    const after = this.#last === '' ? '-' : `(${this.#last}`
    const given = await this.#redis.run(readScript, this.#keys, [after, String(entriesAtOnce)])
    const [nowMs, entries] = given as [number, readonly Entry[]]
    for (const [id, [, key, , deploymentId]] of entries) {
      this.#last = id
      const ageMs = Math.max(0, nowMs - Number.parseInt(id, 10))
      this.#listener?.({ key: Number(key), deploymentId: deploymentId!, ageMs })
    }
    return entries.length
  }

  close(): void {
    clearInterval(this.#timer)
    this.#redis.close()
  }
}
