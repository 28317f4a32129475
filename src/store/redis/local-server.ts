/**
 * What stands in for Redis between the workers of one machine where none is configured: it speaks Redis' protocol
 * (RESP3) on a socket of the file system, so that workers are to each other what replicas are, by the same code. It
 * runs the scripts of this program by their digests, each by its own `local`, and knows the few commands beside them
 * that are sent.
 */
import { chmodSync, rmSync } from 'node:fs'
import { createHash, randomBytes } from 'node:crypto'
import type { Socket } from 'bun'
import RedisParser from 'redis-parser'
import { Keyspace } from './keyspace.ts'
import { scriptOf } from './redis-connection.ts'
import type { ScriptResult } from './redis-connection.ts'

/** A server that listens until it is closed. */
export interface LocalRedis {
  /** For `REDIS_URL`. */
  readonly url: string
  readonly keyspace: Keyspace
  close(): void
}

interface LocalRedisOptions {
  /** Of the socket; a file that is there is one that a killed process left. */
  readonly path: string
  /** Kept answers are pushed out, the oldest first, beyond so many bytes of them. */
  readonly textBytesMax: number
}

/** What waits for one connection at most. */
const waitingBytesMax = 64 * 1024 * 1024

/** One that waits for the first element of a list. */
interface WaitingClient {
  readonly client: Client
  readonly key: string
  readonly timer: ReturnType<typeof setTimeout>
}

/** Listens for the user of this process alone. Throws when it cannot. */
export function serveLocalRedis({ path, textBytesMax }: LocalRedisOptions): LocalRedis {
  rmSync(path, { force: true })
  const commands = new Commands(new Keyspace({ textBytesMax }))
  const listener = Bun.listen<Client>({
    unix: path,
    socket: {
      open: socket => void (socket.data = new Client(socket, commands)),
      data: (socket, bytes) => socket.data.received(bytes),
      drain: socket => socket.data.flush(),
      close: socket => commands.left(socket.data),
    },
  })
  chmodSync(path, 0o600)
  return {
    url: `redis+unix://${path}`,
    keyspace: commands.keyspace,
    close() {
      listener.stop(true)
      rmSync(path, { force: true })
    },
  }
}

/** One connection. */
class Client {
  readonly #socket: Socket<Client>
  readonly #parser: RedisParser
  #waiting: Buffer = Buffer.alloc(0)

  constructor(socket: Socket<Client>, commands: Commands) {
    this.#socket = socket
    this.#parser = new RedisParser({
      returnReply: command => this.#run(commands, command as string[]),
      returnError: () => socket.end(),
      returnFatalError: () => socket.end(),
    })
  }

  received(bytes: Buffer): void {
    this.#parser.execute(bytes)
  }

  /** A worker that stands still is cut off: what it follows would fill the memory. It connects again. */
  send(reply: string): void {
    if (this.#waiting.length > waitingBytesMax) return void this.#socket.terminate()
    this.#waiting = Buffer.concat([this.#waiting, Buffer.from(reply)])
    this.flush()
  }

  flush(): void {
    if (this.#waiting.length > 0) this.#waiting = this.#waiting.subarray(Math.max(this.#socket.write(this.#waiting), 0))
  }

  #run(commands: Commands, [name = '', ...values]: string[]): void {
    try {
      const reply = commands.run(this, name.toUpperCase(), values)
      if (reply !== undefined) this.send(reply)
    } catch (thrown) {
      const { message } = thrown as Error
      this.send(`-${/^[A-Z]+ /.test(message) ? '' : 'ERR '}${message.replaceAll(/[\r\n]+/g, ' ')}\r\n`)
    }
  }
}

type Command = (client: Client, values: readonly string[]) => string | undefined

class Commands {
  readonly keyspace: Keyspace
  readonly #runId = randomBytes(20).toString('hex')
  readonly #subscribers = new Map<string, Set<Client>>()
  #waiting: WaitingClient[] = []
  readonly #commands: Readonly<Record<string, Command>> = {
    HELLO: () => `%3\r\n${['server', 'redis', 'version', '7.0.0'].map(bulk).join('')}${bulk('proto')}:3\r\n`,
    PING: () => '+PONG\r\n',
    SELECT: () => '+OK\r\n',
    INFO: () => bulk(`# Server\r\nredis_version:7.0.0\r\nrun_id:${this.#runId}\r\n`),
    CLIENT: () => bulk(''),
    TIME: () => encoded([String(Math.floor(this.keyspace.nowMs / 1000)), String((this.keyspace.nowMs % 1000) * 1000)]),
    GET: (_client, [key]) => encoded(this.keyspace.get(key!)),
    MGET: (_client, keys) => encoded(keys.map(key => this.keyspace.get(key))),
    SET: (_client, [key, text, , ttlMs]) => {
      this.keyspace.set(key!, text!, { ttlMs: Number(ttlMs ?? Infinity) })
      return '+OK\r\n'
    },
    DEL: (_client, keys) => encoded(keys.filter(key => this.keyspace.delete(key)).length),
    SCAN: (_client, [, , pattern]) => encoded(['0', this.#matching(pattern ?? '*')]),
    XRANGE: (_client, [key, from, , , count]) => encoded(this.keyspace.entriesFrom(key!, from!, Number(count))),
    PUBLISH: (_client, [channel, text]) => encoded(this.#publish(channel!, text!)),
    SUBSCRIBE: (client, channels) => {
      for (const channel of channels) this.#of(channel).add(client)
      return channels.map((channel, at) => `>3\r\n${bulk('subscribe')}${bulk(channel)}:${at + 1}\r\n`).join('')
    },
    UNSUBSCRIBE: (client, channels) => {
      for (const channel of channels) this.#of(channel).delete(client)
      return channels.map(channel => `>3\r\n${bulk('unsubscribe')}${bulk(channel)}:0\r\n`).join('')
    },
    BLPOP: (client, values) => this.#wait(client, values),
    EVALSHA: (_client, [digest, ...values]) => this.#evaluate(digest!, values),
    EVAL: (_client, [text, ...values]) => this.#evaluate(createHash('sha1').update(text!).digest('hex'), values),
  }

  constructor(keyspace: Keyspace) {
    this.keyspace = keyspace
  }

  /** undefined = the reply comes later. Throws what the client is told. */
  run(client: Client, name: string, values: readonly string[]): string | undefined {
    const command = this.#commands[name]
    if (!command) throw new Error(`unknown command '${name}'`)
    return command(client, values)
  }

  left(client: Client): void {
    for (const clients of this.#subscribers.values()) clients.delete(client)
    for (const one of this.#waiting) if (one.client === client) clearTimeout(one.timer)
    this.#waiting = this.#waiting.filter(one => one.client !== client)
  }

  #evaluate(digest: string, [count, ...values]: readonly string[]): string {
    const script = scriptOf(digest)
    if (!script) throw new Error('NOSCRIPT No matching script. Please use EVAL.')
    const reply = encoded(script.local(this.keyspace, values.slice(0, Number(count)), values.slice(Number(count))))
    this.#deliver()
    return reply
  }

  #publish(channel: string, text: string): number {
    const clients = this.#of(channel)
    for (const client of clients) client.send(`>3\r\n${bulk('message')}${bulk(channel)}${bulk(text)}`)
    return clients.size
  }

  #of(channel: string): Set<Client> {
    const clients = this.#subscribers.get(channel) ?? new Set<Client>()
    this.#subscribers.set(channel, clients)
    return clients
  }

  #wait(client: Client, [key, seconds]: readonly string[]): string | undefined {
    const first = this.keyspace.shift(key!)
    if (first !== undefined) return encoded([key!, first])
    const timer = setTimeout(() => {
      this.#waiting = this.#waiting.filter(one => one.timer !== timer)
      client.send(encoded(undefined))
    }, Number(seconds) * 1000)
    timer.unref()
    this.#waiting.push({ client, key: key!, timer })
    return undefined
  }

  /** Gives what scripts have pushed to those who wait for it. */
  #deliver(): void {
    for (const one of this.#waiting) {
      const first = this.keyspace.shift(one.key)
      if (first === undefined) continue
      clearTimeout(one.timer)
      this.#waiting = this.#waiting.filter(other => other !== one)
      one.client.send(encoded([one.key, first]))
    }
  }

  /** Of a pattern that ends in `*`, with other special characters behind a backslash. */
  #matching(pattern: string): string[] {
    const prefix = pattern.replace(/\*$/, '').replaceAll(/\\(.)/g, '$1')
    return [...this.keyspace.keys].filter(key => key.startsWith(prefix))
  }
}

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`

function encoded(result: ScriptResult): string {
  if (result === undefined) return '_\r\n'
  if (typeof result === 'string') return bulk(result)
  if (typeof result === 'number') return `:${Math.trunc(result)}\r\n`
  return `*${result.length}\r\n${result.map(encoded).join('')}`
}
