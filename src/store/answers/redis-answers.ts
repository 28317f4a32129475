/** Kept answers in Redis, encrypted. While it is away there is no cache: a call waits for it once, and not long. */
import type { SharedAnswers, SharedFinding, SharedPromptList } from '../../core/cache/cache-settings.ts'
import { DecryptionError } from '../../lib/encryption.ts'
import type { KeyRing } from '../../lib/encryption.ts'
import { RedisConnection, redisScript } from '../redis/redis-connection.ts'
import type { RedisScript } from '../redis/redis-connection.ts'

/** The right to make an answer ends so long after its last renewal: its process has died. */
const leaseMs = 10_000
/** After a failure Redis is left alone so long. */
const awayMs = 1000
const scanCount = 500
/** Of embeddings with some 10 kB each, in one command. */
const entriesAtOnce = 100

interface RedisAnswersOptions {
  readonly url: string
  /** Stands before every key. */
  readonly prefix: string
  /** How long a call waits for Redis. */
  readonly deadlineMs: number
  readonly keys: KeyRing
  /** Redis stopped or began to answer. */
  report(reachable: boolean, reason?: string): void
}

/** KEYS: answer, lease. ARGV: owner (empty = does not want to lead), milliseconds of the lease. */
const askScript = redisScript(
  `
local answer = redis.call('GET', KEYS[1])
if answer then return {'found', answer} end
if ARGV[1] == '' then return {'made-elsewhere', ''} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'leads', ''} end
return {'made-elsewhere', ''}`,
  (keyspace, [answerKey, lease], [owner, leaseTtlMs]) => {
    const answer = keyspace.get(answerKey!)
    if (answer !== undefined) return ['found', answer]
    const leads = owner !== '' && keyspace.set(lease!, owner!, { ttlMs: Number(leaseTtlMs), ifAbsent: true })
    return [leads ? 'leads' : 'made-elsewhere', '']
  },
)
/** KEYS: answer, lease. ARGV: owner, the answer, its milliseconds. An owner whose lease is over may still keep. */
const keepScript = redisScript(
  `
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return 1`,
  (keyspace, [answer, lease], [owner, text, ttlMs]) => {
    keyspace.set(answer!, text!, { ttlMs: Number(ttlMs) })
    if (keyspace.get(lease!) === owner) keyspace.delete(lease!)
    return 1
  },
)
/** KEYS: answers. ARGV: their milliseconds, the answers. */
const keepManyScript = redisScript(
  `
for at, key in ipairs(KEYS) do redis.call('SET', key, ARGV[at + 1], 'PX', ARGV[1]) end
return #KEYS`,
  (keyspace, keys, [ttlMs, ...texts]) => {
    for (const [at, key] of keys.entries()) keyspace.set(key, texts[at]!, { ttlMs: Number(ttlMs) })
    return keys.length
  },
)
/** KEYS: list. ARGV: the text, how many are kept, milliseconds that the list stays without a new one. */
const addPromptScript = redisScript(
  `
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'p', ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1`,
  (keyspace, [list], [text, lengthMax, ttlMs]) => {
    keyspace.append(list!, ['p', text!], Number(lengthMax))
    if (keyspace.ttlMs(list!) < Number(ttlMs)) keyspace.expire(list!, Number(ttlMs))
    return 1
  },
)
/** KEYS: lease. ARGV: owner. */
const releaseScript = redisScript(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`,
  (keyspace, [lease], [owner]) => (keyspace.get(lease!) === owner && keyspace.delete(lease!) ? 1 : 0),
)
/** KEYS: lease. ARGV: owner, milliseconds. */
const renewScript = redisScript(
  `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`,
  (keyspace, [lease], [owner, ttlMs]) =>
    keyspace.get(lease!) === owner && keyspace.expire(lease!, Number(ttlMs)) ? 1 : 0,
)

/** One connection, opened when it is needed. */
export class RedisAnswers implements SharedAnswers {
  readonly #options: RedisAnswersOptions
  readonly #connection: RedisConnection
  #isReachable = true
  /** Until then Redis is not asked, on the monotonic clock. */
  #awayUntilMs = 0

  constructor(options: RedisAnswersOptions) {
    this.#options = options
    this.#connection = new RedisConnection({ url: options.url, answerMs: options.deadlineMs })
  }

  async ask(key: string, owner: string): Promise<SharedFinding | undefined> {
    const given = await this.#quietly(() => this.#run(askScript, this.#keysOf(key), [owner, String(leaseMs)]))
    if (!Array.isArray(given)) return undefined
    const [state, sealed] = given as [string, string]
    if (state === 'leads') return { state }
    if (state !== 'found') return { state: 'made-elsewhere' }
    const text = this.#opened(sealed, `answer:${key}`)
    return text === undefined ? undefined : { state: 'found', text }
  }

  async readMany(keys: readonly string[]): Promise<readonly (string | undefined)[] | undefined> {
    const texts: (string | undefined)[] = []
    for (let at = 0; at < keys.length; at += entriesAtOnce) {
      const some = keys.slice(at, at + entriesAtOnce)
      const named = some.map(key => this.#answer(key))
      const given = (await this.#quietly(() => this.#send('MGET', named))) as (string | null)[] | undefined
      if (!given) return undefined
      for (const [index, sealed] of given.entries())
        texts.push(sealed === null ? undefined : this.#opened(sealed, `answer:${some[index]}`))
    }
    return texts
  }

  async keepMany(kept: readonly { readonly key: string; readonly text: string }[], ttlMs: number): Promise<void> {
    for (let at = 0; at < kept.length; at += entriesAtOnce) {
      const some = kept.slice(at, at + entriesAtOnce)
      const sealed = some.map(({ key, text }) => this.#options.keys.seal(text, `answer:${key}`))
      const named = some.map(({ key }) => this.#answer(key))
      const stored = () => this.#run(keepManyScript, named, [String(Math.ceil(ttlMs)), ...sealed])
      if ((await this.#quietly(stored)) === undefined) return
    }
  }

  async addPrompt(
    list: string,
    text: string,
    { promptsMax, ttlMs }: { readonly promptsMax: number; readonly ttlMs: number },
  ): Promise<void> {
    const sealed = this.#options.keys.seal(text, `prompt:${list}`)
    const values = [sealed, String(promptsMax), String(Math.ceil(ttlMs))]
    await this.#quietly(() => this.#run(addPromptScript, [this.#prompts(list)], values))
  }

  async promptsAfter(list: string, after: string): Promise<SharedPromptList | undefined> {
    const from = after === '' ? '-' : `(${after}`
    const range = [this.#prompts(list), from, '+', 'COUNT', String(entriesAtOnce)]
    const found = (await this.#quietly(() => this.#send('XRANGE', range))) as [string, string[]][] | undefined
    if (!found) return undefined
    const texts = found.flatMap(([, [, sealed = '']]) => this.#opened(sealed, `prompt:${list}`) ?? [])
    return { texts, last: found.at(-1)?.[0] ?? after, isMore: found.length === entriesAtOnce }
  }

  renew(key: string, owner: string): void {
    void this.#quietly(() => this.#run(renewScript, [this.#lease(key)], [owner, String(leaseMs)]))
  }

  async keep(key: string, owner: string, { text, ttlMs }: { text: string; ttlMs: number }): Promise<void> {
    const sealed = this.#options.keys.seal(text, `answer:${key}`)
    await this.#quietly(() => this.#run(keepScript, this.#keysOf(key), [owner, sealed, String(Math.ceil(ttlMs))]))
  }

  async release(key: string, owner: string): Promise<void> {
    await this.#quietly(() => this.#run(releaseScript, [this.#lease(key)], [owner]))
  }

  async delete(keys: readonly string[]): Promise<number | undefined> {
    const deleted = await this.#quietly(() =>
      this.#send(
        'DEL',
        keys.map(key => this.#answer(key)),
      ),
    )
    return deleted === undefined ? undefined : Number(deleted)
  }

  async clear(): Promise<boolean> {
    try {
      for (const kind of ['answer', 'prompts']) await this.#deleteAll(`${escapedGlob(this.#options.prefix)}${kind}:*`)
      return true
    } catch (reason) {
      this.#failed(reason)
      return false
    }
  }

  async #deleteAll(pattern: string): Promise<void> {
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const match = ['MATCH', pattern, 'COUNT', String(scanCount)]
      const [next, found] = (await this.#send('SCAN', [cursor, ...match])) as [string, string[]]
      if (found.length > 0) await this.#send('DEL', found)
      cursor = next
    }
  }

  async ping(): Promise<void> {
    const key = `${this.#options.prefix}ping:${crypto.randomUUID()}`
    await this.#send('SET', [key, 'pong', 'PX', '10000'])
    const read = await this.#send('GET', [key])
    await this.#send('DEL', [key])
    if (read !== 'pong') throw new Error('Redis did not give back what was written to it')
    this.#answered()
  }

  async info(): Promise<{ clients: Record<string, string>[]; info: Record<string, string> }> {
    const info = await this.#send('INFO', [])
    const clients = await this.#send('CLIENT', ['LIST'])
    return { clients: clientLines(String(clients)), info: infoLines(String(info)) }
  }

  close(): void {
    this.#connection.close()
  }

  // ---- inside

  #answer(key: string): string {
    return `${this.#options.prefix}answer:${key}`
  }

  #prompts(list: string): string {
    return `${this.#options.prefix}prompts:${list}`
  }

  #lease(key: string): string {
    return `${this.#options.prefix}lease:${key}`
  }

  #keysOf(key: string): string[] {
    return [this.#answer(key), this.#lease(key)]
  }

  /** undefined = written under another secret, or changed: as if it were not there. */
  #opened(sealed: string, context: string): string | undefined {
    try {
      return this.#options.keys.open(sealed, context).toString('utf8')
    } catch (error) {
      if (error instanceof DecryptionError) return undefined
      throw error
    }
  }

  /** The result; undefined = Redis is away, or was a moment ago. */
  async #quietly<T>(ask: () => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.#awayUntilMs) return undefined
    try {
      const result = await ask()
      this.#answered()
      return result
    } catch (reason) {
      this.#failed(reason)
      return undefined
    }
  }

  #answered(): void {
    if (!this.#isReachable) this.#options.report(true)
    this.#isReachable = true
  }

  #failed(reason: unknown): void {
    this.#awayUntilMs = performance.now() + awayMs
    if (this.#isReachable) this.#options.report(false, (reason as Error).message)
    this.#isReachable = false
  }

  #run(script: RedisScript, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return this.#connection.run(script, keys, values)
  }

  #send(command: string, parameters: readonly string[]): Promise<unknown> {
    return this.#connection.send(command, parameters)
  }
}

const escapedGlob = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&')

/** `name:value` lines of INFO. */
function infoLines(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter(line => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

/** Lines of `name=value` of CLIENT LIST. */
function clientLines(text: string): Record<string, string>[] {
  const lines = text.split('\n').filter(line => line !== '')
  return lines.map(line =>
    Object.fromEntries(
      line.split(' ').map(field => [field.slice(0, field.indexOf('=')), field.slice(field.indexOf('=') + 1)]),
    ),
  )
}
