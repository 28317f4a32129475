/**
 * Connections to Redis. The platform's client has no time limits, and its queue sends commands long after their time.
 */
import { createHash } from 'node:crypto'
import { RedisClient } from 'bun'
import type { Keyspace } from './keyspace.ts'

/** What a script gives: a text, a whole number, nothing, or a list of these. */
export type ScriptResult = string | number | undefined | readonly ScriptResult[]

/** The same script for the keyspace that workers of one machine share. */
type LocalScript = (keyspace: Keyspace, keys: readonly string[], values: readonly string[]) => ScriptResult

/** A script in Lua, the digest by which Redis remembers it, and what it does where workers share a keyspace. */
export interface RedisScript {
  readonly text: string
  readonly sha1: string
  readonly local: LocalScript
}

/** All scripts, by their digests. */
const scripts = new Map<string, RedisScript>()

/** Makes a script of its text in Lua, and of `local`, which does the same. */
export function redisScript(text: string, local: LocalScript): RedisScript {
  const script = { text, sha1: createHash('sha1').update(text).digest('hex'), local }
  scripts.set(script.sha1, script)
  return script
}

/** The script of this digest, if a module that makes it was loaded. */
export const scriptOf = (sha1: string): RedisScript | undefined => scripts.get(sha1)

/** Redis gave no answer in time. */
class RedisSilent extends Error {
  override readonly name = 'RedisSilent'

  constructor(limitMs: number) {
    super(`timeout: Redis gave no answer within ${limitMs} ms`)
  }
}

interface ConnectionOptions {
  readonly url: string
  /** An answer is waited for this long. */
  readonly answerMs: number
  /** A connection is waited for this long; absent = the time for the answer includes it. */
  readonly connectMs?: number
}

/**
 * One connection, opened by the first command and anew by a command that finds it closed. One that does not answer in
 * time may be dead without a sign of it, and what is sent on it waits likewise: it is replaced.
 */
export class RedisConnection {
  readonly #options: ConnectionOptions
  #client: RedisClient | undefined
  #connecting: Promise<void> | undefined
  /** Attempts to connect. */
  connections = 0
  /** Commands sent. */
  roundTrips = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Rejects when Redis refuses, gives no answer in time or closes the connection: the command may have run. */
  async send(command: string, parameters: readonly string[], answerMs = this.#options.answerMs): Promise<unknown> {
    if (this.#options.connectMs !== undefined) await this.connect()
    const client = this.#opened()
    const sent = async () => {
      if (!client.connected) await this.connect()
      return this.#send(client, command, parameters)
    }
    return await this.#inTime(client, sent(), answerMs)
  }

  /** The answer of a script, whose text is sent where Redis does not remember it. Rejects as `send`. */
  run(script: RedisScript, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return remembered(script, keys, values, (command, parameters) => this.send(command, parameters))
  }

  /** As `run`, over the connection that there is now: rejects when it is closed meanwhile, and opens none. */
  runHere(script: RedisScript, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const client = this.#opened()
    const { answerMs } = this.#options
    return remembered(script, keys, values, (command, parameters) =>
      this.#inTime(client, this.#send(client, command, parameters), answerMs),
    )
  }

  #send(client: RedisClient, command: string, parameters: readonly string[]): Promise<unknown> {
    this.roundTrips++
    return client.send(command, [...parameters])
  }

  /** Connects where there is no connection. */
  async connect(): Promise<void> {
    const client = this.#opened()
    if (client.connected) return
    this.#connecting ??= this.#connectInTime(client).finally(() => (this.#connecting = undefined))
    await this.#connecting
  }

  /** Closes the connection; a later command opens another one. */
  close(): void {
    this.#client?.close()
    this.#client = undefined
  }

  #opened(): RedisClient {
    return (this.#client ??= newRedisClient(this.#options.url, this.#options.connectMs ?? this.#options.answerMs))
  }

  #connectInTime(client: RedisClient): Promise<void> {
    this.connections++
    const { connectMs, answerMs } = this.#options
    return this.#inTime(client, client.connect() as Promise<unknown> as Promise<void>, connectMs ?? answerMs)
  }

  async #inTime<T>(client: RedisClient, answer: Promise<T>, limitMs: number): Promise<T> {
    try {
      return await redisAnswer(answer, limitMs)
    } catch (error) {
      if (error instanceof RedisSilent) {
        client.close()
        if (this.#client === client) this.#client = undefined
      }
      throw error
    }
  }
}

async function remembered(
  { text, sha1 }: RedisScript,
  keys: readonly string[],
  values: readonly string[],
  send: (command: string, parameters: readonly string[]) => Promise<unknown>,
): Promise<unknown> {
  const parameters = [String(keys.length), ...keys, ...values]
  try {
    return await send('EVALSHA', [sha1, ...parameters])
  } catch (error) {
    // Redis was restarted, or has never run it: nothing has run.
    if (!String((error as { message?: unknown }).message).startsWith('NOSCRIPT')) throw error
    return await send('EVAL', [text, ...parameters])
  }
}

/** A client without a queue and without attempts of its own to connect, which would hide why they fail. */
export function newRedisClient(url: string, connectMs: number): RedisClient {
  return new RedisClient(url, { enableOfflineQueue: false, autoReconnect: false, connectionTimeout: connectMs })
}

/** Rejects with `RedisSilent` when there is no answer within `limitMs`. */
export function redisAnswer<T>(answer: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const late = () => {
      if (!isOver) reject(new RedisSilent(limitMs))
    }
    // Two ends of turns, so that the sockets are read before: this process may have been busy.
    const timer = setTimeout(() => setImmediate(() => setImmediate(late)), limitMs)
    const end = () => {
      isOver = true
      clearTimeout(timer)
    }
    answer.then(
      value => {
        end()
        resolve(value)
      },
      (error: unknown) => {
        end()
        reject(error)
      },
    )
  })
}
