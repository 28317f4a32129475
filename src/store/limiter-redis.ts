/**
 * The same limits across replicas: one script a call, on Redis' own clock. Redis gone = each replica by itself.
 * What cannot be given back then waits until Redis answers; what nobody gives back (a replica was killed) lapses.
 */
import { randomUUIDv7, RedisClient } from 'bun'
import type { Limiter, LimitScope, LimitState, LimitVerdict } from '../core/ports.ts'
import { refusalOfRedis } from './redis-refusal.ts'

/** A call waits no longer than this; what nobody waits for has more time. */
const deadlineMs = 50
const backgroundDeadlineMs = 500
/** How often Redis is asked whether it answers. Until it does again no call waits for it. */
const tickMs = 1000
/** A slot lapses unless its replica says that it still holds it, so a killed replica locks nobody out for long. */
const leaseS = 45
const renewalMs = 15_000
/** A lapsed slot is not counted any more, but known for so long: a late release still books its tokens. */
const lapsedS = 300
const releasesMax = 50_000
const batchSize = 200
/** A release that Redis refuses while it takes everything else is given up: its slot lapses. */
const attemptsMax = 5

/**
 * KEYS: one hash a scope. Fields `r<second>` and `t<second>` count, `p:<id>` holds a parallel slot:
 * `<end of its lease>:<second it was taken>`. ARGV: request id, tokens, then per scope requests, tokens, parallel
 * (-1 = no limit). Answers {1, second, then per scope requests used, tokens used}, {0, scope, kind, limit, used,
 * wait ms}, or {2, second}: this request has been counted already.
 */
const takeScript = `
local time = redis.call('TIME')
local second, micros = tonumber(time[1]), tonumber(time[2])
local id, tokens = ARGV[1], tonumber(ARGV[2])
local used = {}
local function wait(counts, limit, room)
  local total = 0
  for s = second - 60, second do total = total + (counts[s] or 0) end
  for s = second - 60, second do
    if total + room <= limit then break end
    total = total - (counts[s] or 0)
    if total + room <= limit then return (s + 61 - second) * 1000 - math.floor(micros / 1000) end
  end
  return 60000
end
for i, key in ipairs(KEYS) do
  local requests, spent, parallel = 0, 0, 0
  local byRequest, byToken, old = {}, {}, {}
  local all = redis.call('HGETALL', key)
  for f = 1, #all, 2 do
    local name, value = all[f], tonumber(string.match(all[f + 1], '^-?%d+'))
    local kind, at = string.sub(name, 1, 1), tonumber(string.sub(name, 2))
    if kind == 'p' then
      if name == 'p:' .. id then return {2, second} end
      if value < second - ${lapsedS} then old[#old + 1] = name
      elseif value >= second then parallel = parallel + 1 end
    elseif at < second - 60 then old[#old + 1] = name
    elseif kind == 'r' then requests = requests + value; byRequest[at] = value
    else spent = spent + value; byToken[at] = value end
  end
  if #old > 0 then redis.call('HDEL', key, unpack(old)) end
  local base = 2 + (i - 1) * 3
  local rpm, tpm, slots = tonumber(ARGV[base + 1]), tonumber(ARGV[base + 2]), tonumber(ARGV[base + 3])
  if rpm >= 0 and requests + 1 > rpm then return {0, i, 1, rpm, requests, wait(byRequest, rpm, 1)} end
  if tpm >= 0 and spent > 0 and spent + tokens > tpm then return {0, i, 2, tpm, spent, wait(byToken, tpm, tokens)} end
  if slots >= 0 and parallel + 1 > slots then return {0, i, 3, slots, parallel, 1000} end
  used[#used + 1] = requests + 1
  used[#used + 1] = spent + tokens
end
for _, key in ipairs(KEYS) do
  redis.call('HINCRBY', key, 'r' .. second, 1)
  redis.call('HINCRBY', key, 't' .. second, tokens)
  redis.call('HSET', key, 'p:' .. id, (second + ${leaseS}) .. ':' .. second)
  redis.call('EXPIRE', key, ${leaseS + lapsedS})
end
return {1, second, unpack(used)}
`

/**
 * Idempotent: only who still has the slot books the difference. Tokens too many go back to the second they were taken
 * in: in a later one they would be room that nobody has. ARGV: request id, tokens used minus taken.
 */
const releaseScript = `
local second, more = tonumber(redis.call('TIME')[1]), tonumber(ARGV[2])
for _, key in ipairs(KEYS) do
  local slot = redis.call('HGET', key, 'p:' .. ARGV[1])
  if slot then
    redis.call('HDEL', key, 'p:' .. ARGV[1])
    local taken = 't' .. (string.match(slot, ':(%d+)$') or '')
    if more > 0 then redis.call('HINCRBY', key, 't' .. second, more)
    elseif more < 0 and redis.call('HEXISTS', key, taken) == 1 then redis.call('HINCRBY', key, taken, more) end
  end
end
return 1
`

/** Also brings slots back that Redis forgot (a restart). ARGV per key: request id, second it was taken. */
const renewScript = `
local second = tonumber(redis.call('TIME')[1])
for i, key in ipairs(KEYS) do
  redis.call('HSET', key, 'p:' .. ARGV[i * 2 - 1], (second + ${leaseS}) .. ':' .. ARGV[i * 2])
  redis.call('EXPIRE', key, ${leaseS + lapsedS})
end
return 1
`

/** A write, by script: a replica of Redis, or one whose disk or memory is full, answers reads and is of no use. */
const probeScript = `return redis.call('SET', KEYS[1], 1, 'EX', 60) and 1`
const probeKey = '{modelgate}:limit-probe'

const kinds = ['requests', 'tokens', 'parallel_requests'] as const
const windowMs = 60_000

export interface RedisLimiterOptions {
  readonly url: string
  /** What decides while Redis does not answer. */
  readonly fallback: Limiter
  /** Redis stopped or began to answer, or does not answer for another reason than before. */
  reportReachable(reachable: boolean, reason?: string): void
  /** How often it says what it holds; well below the lease. Tests cannot wait for the usual quarter of a minute. */
  readonly renewalMs?: number
}

interface Held {
  readonly keys: readonly string[]
  /** Second in which it was taken, on Redis' clock. */
  readonly taken: number
}

interface Release {
  readonly id: string
  readonly keys: readonly string[]
  /** Used minus taken. */
  readonly tokens: number
  readonly sinceMs: number
  attempts: number
}

export class RedisLimiter implements Limiter {
  readonly #options: RedisLimiterOptions
  readonly #client: RedisClient
  /** Calls under way that Redis counted. */
  readonly #held = new Map<string, Held>()
  readonly #waiting: Release[] = []
  #reachable = true
  #reason: string | undefined
  #renewedMs = performance.now()
  #connecting: Promise<void> | undefined
  #explaining: Promise<void> | undefined
  #ticking: Promise<void> | undefined
  #timer: ReturnType<typeof setInterval> | undefined
  #closed = false

  constructor(options: RedisLimiterOptions) {
    this.#options = options
    // The default queue would replay commands long after their caller gave up (research 5.9).
    this.#client = new RedisClient(options.url, {
      enableOfflineQueue: false,
      maxRetries: 1_000_000,
      connectionTimeout: 500,
    })
  }

  /** Whether Redis answered when it was asked last, at most a second ago. */
  get reachable(): boolean {
    return this.#reachable
  }

  /** Connects and stays connected. Resolves within about a second and never rejects: see `reportReachable`. */
  async start(): Promise<void> {
    await this.#tick()
    await this.#explaining
    this.#timer = setInterval(() => void (this.#ticking ??= this.#tick().finally(() => (this.#ticking = undefined))), tickMs)
    this.#timer.unref()
  }

  async take(scopes: readonly LimitScope[], tokens: number): Promise<LimitVerdict> {
    if (!this.#reachable) return this.#options.fallback.take(scopes, tokens)
    const id = randomUUIDv7()
    const keys = scopes.map(scope => `{modelgate}:limit:${scope.id}`)
    const numbers = scopes.flatMap(scope => [
      scope.requestsPerMinute ?? -1,
      scope.tokensPerMinute ?? -1,
      scope.parallelRequests ?? -1,
    ])
    let answer: number[]
    try {
      answer = await this.#script(takeScript, keys, [id, tokens, ...numbers])
    } catch (error) {
      this.#lost(error)
      // The script may still have run, or run later: its slot is given back as soon as Redis answers again.
      this.#release({ id, keys, tokens: -tokens, sinceMs: performance.now(), attempts: 0 })
      return this.#options.fallback.take(scopes, tokens)
    }
    if (answer[0] === 0) return refused(scopes, answer)
    this.#held.set(id, { keys, taken: answer[1]! })
    return {
      allowed: true,
      ...(answer[0] === 1 && states(scopes, answer)),
      release: used => {
        if (!this.#held.delete(id)) return
        this.#release({ id, keys, tokens: Math.round(used) - tokens, sinceMs: performance.now(), attempts: 0 })
      },
    }
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
    this.#client.close()
  }

  /** At once, or as soon as Redis answers again. */
  #release(release: Release): void {
    if (!this.#reachable) return this.#wait(release)
    this.#sendRelease(release).catch((error: unknown) => {
      this.#wait(release)
      this.#lost(error)
    })
  }

  #wait(release: Release): void {
    // The oldest goes: its slot lapses first.
    if (this.#waiting.length >= releasesMax) this.#waiting.shift()
    this.#waiting.push(release)
  }

  #sendRelease({ id, keys, tokens, sinceMs }: Release): Promise<unknown> {
    // Tokens that were used more than a minute ago are no longer in anybody's window.
    const late = tokens > 0 && performance.now() - sinceMs > windowMs
    return this.#script(releaseScript, keys, [id, late ? 0 : tokens], backgroundDeadlineMs)
  }

  /** Is Redis there? Then what waited goes out first, so that a call that asks next finds the slots free. */
  async #tick(): Promise<void> {
    try {
      if (!this.#client.connected) await Promise.race([this.#connect(), Bun.sleep(backgroundDeadlineMs)])
      await this.#script(probeScript, [probeKey], [], backgroundDeadlineMs)
      await this.#sendWaiting()
      if (!this.#reachable || performance.now() - this.#renewedMs >= (this.#options.renewalMs ?? renewalMs)) await this.#renew()
    } catch (error) {
      if (this.#reachable) return this.#lost(error)
      return this.#explain(error)
    }
    // First what was lost, then that it is back.
    await this.#explaining
    if (this.#reachable || this.#closed) return
    this.#reachable = true
    this.#reason = undefined
    this.#options.reportReachable(true)
  }

  /** The client goes on by itself after a lost connection, but never after one that Redis refused (a password). */
  #connect(): Promise<void> {
    return (this.#connecting ??= this.#client
      .connect()
      .then(() => {}, () => {})
      .finally(() => (this.#connecting = undefined)))
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchSize)
      const ends = await Promise.allSettled(batch.map(release => this.#sendRelease(release)))
      const failed = batch.filter((_, at) => ends[at]!.status === 'rejected')
      this.#waiting.unshift(...failed.filter(release => ++release.attempts < attemptsMax))
      const end = ends.find(one => one.status === 'rejected')
      if (end) throw end.reason
    }
  }

  /** One script for many calls: what a replica holds costs it a few commands every quarter of a minute. */
  async #renew(): Promise<void> {
    const ids = [...this.#held.keys()]
    for (let from = 0; from < ids.length; from += batchSize) {
      const keys: string[] = []
      const values: (string | number)[] = []
      for (const id of ids.slice(from, from + batchSize)) {
        // Asked now: it may have been released since, and must not come back.
        const held = this.#held.get(id)
        for (const key of held?.keys ?? []) {
          keys.push(key)
          values.push(id, held!.taken)
        }
      }
      if (keys.length > 0) await this.#script(renewScript, keys, values, backgroundDeadlineMs)
    }
    this.#renewedMs = performance.now()
  }

  /** From now on no call waits for Redis, until a tick finds it again. */
  #lost(error: unknown): void {
    // Calls that were under way at the same moment have nothing to add.
    if (!this.#reachable || this.#closed) return
    this.#reachable = false
    this.#explaining = this.#explain(error)
  }

  async #explain(error: unknown): Promise<void> {
    const { code, message } = error as { code?: string; message?: string }
    const refusal = code === 'ERR_REDIS_CONNECTION_CLOSED' ? await refusalOfRedis(this.#options.url) : undefined
    const reason = refusal ?? message ?? String(error)
    if (this.#closed || reason === this.#reason) return
    this.#reason = reason
    this.#options.reportReachable(false, reason)
  }

  /** The script's answer; rejects when Redis failed or took too long. */
  async #script(script: string, keys: readonly string[], values: readonly (string | number)[], withinMs = deadlineMs): Promise<number[]> {
    const parameters = [script, String(keys.length), ...keys, ...values.map(String)]
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('timeout: Redis gave no answer in time')), withinMs)
      })
      const answer = await Promise.race([this.#client.send('EVAL', parameters), late])
      return (Array.isArray(answer) ? answer : [answer]).map(Number)
    } finally {
      clearTimeout(timer)
    }
  }
}

function refused(scopes: readonly LimitScope[], answer: readonly number[]): LimitVerdict {
  const [, scope, kind, limit, used, waitMs] = answer as [number, number, number, number, number, number]
  const remaining = Math.max(limit - used, 0)
  return {
    allowed: false,
    scope: scopes[scope - 1]!.id,
    kind: kinds[kind - 1]!,
    state: { limit, remaining, resetMs: kind === 3 ? waitMs : windowMs },
    retryAfterMs: Math.max(waitMs, 1),
  }
}

/** The tightest of all scopes, per kind. */
function states(scopes: readonly LimitScope[], answer: readonly number[]): { requests?: LimitState; tokens?: LimitState } {
  let requests: LimitState | undefined
  let tokens: LimitState | undefined
  scopes.forEach((scope, at) => {
    requests = tighter(requests, scope.requestsPerMinute, answer[2 + at * 2]!)
    tokens = tighter(tokens, scope.tokensPerMinute, answer[3 + at * 2]!)
  })
  return { ...(requests && { requests }), ...(tokens && { tokens }) }
}

function tighter(known: LimitState | undefined, limit: number | null, used: number): LimitState | undefined {
  if (limit === null) return known
  const remaining = Math.max(limit - used, 0)
  return known && known.remaining <= remaining ? known : { limit, remaining, resetMs: windowMs }
}
