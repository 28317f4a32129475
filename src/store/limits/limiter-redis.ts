/**
 * The same limits across replicas: one script to take, one to release, on Redis' own clock. While Redis is away each
 * replica limits by itself, and releases wait until Redis answers; what a killed replica held expires.
 */
import { createHash } from 'node:crypto'
import { randomUUIDv7, RedisClient } from 'bun'
import type { Limiter, LimitScope, LimitState, LimitVerdict } from '../../core/limits.ts'
import { AnswerWatch } from './answer-deadline.ts'
import type { AnswerTimeouts } from './answer-deadline.ts'
import { refusalOfRedis } from './redis-refusal.ts'

/** A call waits 50 ms for an answer, in a burst 250 ms; work that no call waits for has more time. */
const callTimeouts: AnswerTimeouts = { silenceMs: 50, queueMs: 250 }
const backgroundDeadlineMs = 500
const backgroundTimeouts: AnswerTimeouts = { silenceMs: backgroundDeadlineMs, queueMs: 5000 }
/** How often Redis is probed. While it does not answer, no call waits for it. */
const tickMs = 1000
/** A slot of a parallel call expires unless its replica renews it, so that a killed replica blocks no key for long. */
const leaseS = 45
const renewalMs = 15_000
/** How much longer than its slots a call is known: a late release still books its tokens. */
const lapsedCallS = 300
/** Counts are needed for a minute, slots for one lease; keys that are no longer used expire. */
const countsTtlS = 120
const slotsTtlS = leaseS * 2
/** Outdated entries removed at once: `unpack` in Lua takes at most 8000 values, and a call waits for the script. */
const removalSize = 1000
const releasesMax = 50_000
const batchSize = 200
/** Attempts for a release that Redis refuses while it takes others; then its slot expires. */
const attemptsMax = 5

interface Script {
  readonly text: string
  /** Redis caches scripts by it: EVALSHA costs a fifth less than sending the text with every call. */
  readonly sha1: string
}

function script(text: string): Script {
  return { text, sha1: createHash('sha1').update(text).digest('hex') }
}

/**
 * What Redis holds. All keys have one hash tag: on a cluster a script may only touch keys of one slot.
 * Of a call: the second it was taken in. The release that deletes it books its tokens, so they are booked once.
 * Of a scope: a hash of counts, `r<second>` requests and `t<second>` tokens; and, where parallel calls are limited, a
 * sorted set of the ids of running calls by the last second of their lease. Its size does not slow a take down.
 */
const callKey = (id: string) => `{modelgate}:limit-call:${id}`
const countsKey = (scope: LimitScope) => `{modelgate}:limit-counts:${scope.id}`
const slotsKey = (scope: LimitScope) => `{modelgate}:limit-slots:${scope.id}`

/**
 * KEYS: the call, then per scope its counts and its slots. ARGV: request id, tokens, then per scope requests, tokens,
 * parallel (-1 = no limit). Answers {1, second, then per scope requests used, tokens used}, {0, scope, kind, limit,
 * used, wait ms}, or {2, second it was taken}: this request has been counted already.
 */
const takeScript = script(`
local time = redis.call('TIME')
local second, micros = tonumber(time[1]), tonumber(time[2])
local id, tokens = ARGV[1], tonumber(ARGV[2])
local known = redis.call('GET', KEYS[1])
if known then return {2, tonumber(known)} end
local scopes = (#KEYS - 1) / 2
local used = {}
local function wait(key, kind, total, limit, room)
  for s = second - 60, second do
    if total + room <= limit then break end
    total = total - (tonumber(redis.call('HGET', key, kind .. s)) or 0)
    if total + room <= limit then return (s + 61 - second) * 1000 - math.floor(micros / 1000) end
  end
  return 60000
end
local function counted(key)
  local requests, spent, old = 0, 0, {}
  local all = redis.call('HGETALL', key)
  for f = 1, #all, 2 do
    local name = all[f]
    if tonumber(string.sub(name, 2)) < second - 60 then old[#old + 1] = name
    elseif string.byte(name) == 114 then requests = requests + all[f + 1]
    else spent = spent + all[f + 1] end
  end
  for from = 1, #old, ${removalSize} do
    redis.call('HDEL', key, unpack(old, from, math.min(from + ${removalSize - 1}, #old)))
  end
  return requests, spent
end
local function underWay(key)
  local lapsed = redis.call('ZCOUNT', key, '-inf', second - 1)
  if lapsed > 0 then redis.call('ZREMRANGEBYRANK', key, 0, math.min(lapsed, ${removalSize}) - 1) end
  return redis.call('ZCOUNT', key, second, '+inf')
end
for i = 1, scopes do
  local key, base = KEYS[i * 2], i * 3 - 1
  local rpm, tpm, slots = tonumber(ARGV[base + 1]), tonumber(ARGV[base + 2]), tonumber(ARGV[base + 3])
  local requests, spent = counted(key)
  if rpm >= 0 and requests + 1 > rpm then return {0, i, 1, rpm, requests, wait(key, 'r', requests, rpm, 1)} end
  if tpm >= 0 and spent > 0 and spent + tokens > tpm then
    return {0, i, 2, tpm, spent, wait(key, 't', spent, tpm, tokens)}
  end
  if slots >= 0 then
    local parallel = underWay(KEYS[i * 2 + 1])
    if parallel + 1 > slots then return {0, i, 3, slots, parallel, 1000} end
  end
  used[#used + 1] = requests + 1
  used[#used + 1] = spent + tokens
end
redis.call('SET', KEYS[1], second, 'EX', ${leaseS + lapsedCallS})
for i = 1, scopes do
  local rpm, tpm = tonumber(ARGV[i * 3]), tonumber(ARGV[i * 3 + 1])
  if rpm >= 0 then redis.call('HINCRBY', KEYS[i * 2], 'r' .. second, 1) end
  if tpm >= 0 then redis.call('HINCRBY', KEYS[i * 2], 't' .. second, tokens) end
  if rpm >= 0 or tpm >= 0 then redis.call('EXPIRE', KEYS[i * 2], ${countsTtlS}) end
  if tonumber(ARGV[i * 3 + 2]) >= 0 then
    redis.call('ZADD', KEYS[i * 2 + 1], second + ${leaseS}, id)
    redis.call('EXPIRE', KEYS[i * 2 + 1], ${slotsTtlS})
  end
end
return {1, second, unpack(used)}
`)

/**
 * Idempotent: the difference is booked only while the call is there. Tokens that were not used are subtracted from the
 * second they were taken in: in a later one they would allow more than the limit. KEYS: the call, then counts, then
 * slots. ARGV: request id, tokens used minus taken, number of counts.
 */
const releaseScript = script(`
local second, more, counts = tonumber(redis.call('TIME')[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local taken = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
for i = counts + 2, #KEYS do redis.call('ZREM', KEYS[i], ARGV[1]) end
if not taken then return 1 end
for i = 2, counts + 1 do
  if more > 0 then
    redis.call('HINCRBY', KEYS[i], 't' .. second, more)
    redis.call('EXPIRE', KEYS[i], ${countsTtlS})
  elseif more < 0 and redis.call('HEXISTS', KEYS[i], 't' .. taken) == 1 then
    redis.call('HINCRBY', KEYS[i], 't' .. taken, more)
  end
end
return 1
`)

/**
 * Also restores what Redis lost by a restart. KEYS: calls and slots. ARGV per key: request id, and the second it
 * was taken for a call, nothing for slots.
 */
const renewScript = script(`
local second = tonumber(redis.call('TIME')[1])
for i, key in ipairs(KEYS) do
  local id, taken = ARGV[i * 2 - 1], ARGV[i * 2]
  if taken ~= '' then
    redis.call('SET', key, taken, 'EX', ${leaseS + lapsedCallS})
  else
    redis.call('ZADD', key, second + ${leaseS}, id)
    redis.call('EXPIRE', key, ${slotsTtlS})
  end
end
return 1
`)

/** Writes: a Redis that is a read-only replica, or whose disk or memory is full, would answer reads. */
const probeScript = script(`
local known = redis.call('EXISTS', KEYS[1])
redis.call('SET', KEYS[1], 1, 'EX', 60)
return {known}`)

const kinds = ['requests', 'tokens', 'parallel_requests'] as const
const windowMs = 60_000

interface RedisLimiterOptions {
  readonly url: string
  /** Decides while Redis does not answer. */
  readonly fallback: Limiter
  /** Redis stopped or began to answer, or does not answer for another reason than before. */
  reportReachable(reachable: boolean, reason?: string): void
  /** How often slots are renewed, well below the lease; 15 s unless a test sets it. */
  readonly renewalMs?: number
}

/** The keys by which a call is counted. Slots only where parallel calls were limited when it began. */
interface ScopeKeys {
  readonly counts: readonly string[]
  readonly slots: readonly string[]
}

interface Held {
  readonly scopeKeys: ScopeKeys
  /** Second in which it was taken, on Redis' clock. */
  readonly taken: number
}

interface Release {
  readonly id: string
  readonly scopeKeys: ScopeKeys
  /** Used minus taken. */
  readonly tokens: number
  readonly sinceMs: number
  attempts: number
}

/**
 * Limits that all replicas with one Redis share. `start` comes before the first `take`, which never rejects: without an
 * answer in time the fallback decides. `close` releases nothing: what is held then expires.
 */
export class RedisLimiter implements Limiter {
  readonly #options: RedisLimiterOptions
  readonly #client: RedisClient
  readonly #watch = new AnswerWatch(() => new Error('timeout: Redis gave no answer in time'))
  /** Running calls that Redis counted. */
  readonly #held = new Map<string, Held>()
  readonly #waiting: Release[] = []
  #reachable = true
  #reason: string | undefined
  /** Of this process alone: the key of another replica would not show that Redis lost ours. */
  readonly #probeKey = `{modelgate}:limit-probe:${randomUUIDv7()}`
  #renewedMs = performance.now()
  #connecting: Promise<void> | undefined
  #explaining: Promise<void> | undefined
  #ticking: Promise<void> | undefined
  #timer: ReturnType<typeof setInterval> | undefined
  #closed = false

  constructor(options: RedisLimiterOptions) {
    this.#options = options
    // The client's offline queue would send commands long after their callers have given up.
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
    this.#timer = setInterval(
      () => void (this.#ticking ??= this.#tick().finally(() => (this.#ticking = undefined))),
      tickMs,
    )
    this.#timer.unref()
  }

  async take(scopes: readonly LimitScope[], tokens: number): Promise<LimitVerdict> {
    if (!this.#reachable) return this.#options.fallback.take(scopes, tokens)
    const id = randomUUIDv7()
    const keys = [callKey(id), ...scopes.flatMap(scope => [countsKey(scope), slotsKey(scope)])]
    const scopeKeys: ScopeKeys = {
      counts: scopes.filter(scope => scope.tokensPerMinute !== null).map(countsKey),
      slots: scopes.filter(scope => scope.parallelRequests !== null).map(slotsKey),
    }
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
      // The script may have run, or run later: its slot is released as soon as Redis answers again.
      this.#release({ id, scopeKeys, tokens: -tokens, sinceMs: performance.now(), attempts: 0 })
      return this.#options.fallback.take(scopes, tokens)
    }
    if (answer[0] === 0) return refused(scopes, answer)
    this.#held.set(id, { scopeKeys, taken: answer[1]! })
    return {
      allowed: true,
      ...(answer[0] === 1 && states(scopes, answer)),
      release: used => {
        if (!this.#held.delete(id)) return
        this.#release({ id, scopeKeys, tokens: Math.round(used) - tokens, sinceMs: performance.now(), attempts: 0 })
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
    // The oldest is dropped: its slot expires first.
    if (this.#waiting.length >= releasesMax) this.#waiting.shift()
    this.#waiting.push(release)
  }

  #sendRelease({ id, scopeKeys, tokens, sinceMs }: Release): Promise<unknown> {
    // Tokens that were used more than a minute ago are in no window any more.
    const late = tokens > 0 && performance.now() - sinceMs > windowMs
    const { counts, slots } = scopeKeys
    const keys = [callKey(id), ...counts, ...slots]
    return this.#script(releaseScript, keys, [id, late ? 0 : tokens, counts.length], backgroundTimeouts)
  }

  /** Probes Redis. When it answers, waiting releases are sent before calls use it: these then find the slots free. */
  async #tick(): Promise<void> {
    try {
      if (!this.#client.connected) await Promise.race([this.#connect(), Bun.sleep(backgroundDeadlineMs)])
      const [known] = await this.#script(probeScript, [this.#probeKey], [], backgroundTimeouts)
      await this.#sendWaiting()
      // A Redis that restarted between two probes may have come back empty.
      if (
        known === 0 ||
        !this.#reachable ||
        performance.now() - this.#renewedMs >= (this.#options.renewalMs ?? renewalMs)
      )
        await this.#renew()
    } catch (error) {
      if (this.#reachable) return this.#lost(error)
      return this.#explain(error)
    }
    // The loss is reported before the recovery.
    await this.#explaining
    if (this.#reachable || this.#closed) return
    this.#reachable = true
    this.#reason = undefined
    this.#options.reportReachable(true)
  }

  /** The client reconnects by itself after a lost connection, but not after one that Redis refused (a password). */
  #connect(): Promise<void> {
    return (this.#connecting ??= this.#client
      .connect()
      .then(
        () => {},
        () => {},
      )
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

  /** Renews the leases of all running calls, many in one script. */
  async #renew(): Promise<void> {
    const ids = [...this.#held.keys()]
    for (let from = 0; from < ids.length; from += batchSize) {
      const keys: string[] = []
      const values: (string | number)[] = []
      for (const id of ids.slice(from, from + batchSize)) {
        // It may have been released since the list was made, and must not be restored.
        const held = this.#held.get(id)
        if (!held) continue
        keys.push(callKey(id))
        values.push(id, held.taken)
        for (const key of held.scopeKeys.slots) {
          keys.push(key)
          values.push(id, '')
        }
      }
      if (keys.length > 0) await this.#script(renewScript, keys, values, backgroundTimeouts)
    }
    this.#renewedMs = performance.now()
  }

  /** From now on no call waits for Redis, until a probe is answered. */
  #lost(error: unknown): void {
    // Other calls that fail for the same loss add nothing.
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
  async #script(
    { text, sha1 }: Script,
    keys: readonly string[],
    values: readonly (string | number)[],
    timeouts = callTimeouts,
  ): Promise<number[]> {
    const parameters = [String(keys.length), ...keys, ...values.map(String)]
    let answer: unknown
    try {
      answer = await this.#watch.inTime(this.#client.send('EVALSHA', [sha1, ...parameters]), timeouts)
    } catch (error) {
      // Redis was restarted: nothing has run, and EVAL with the text makes it cache the script again.
      if (!String((error as { message?: unknown }).message).startsWith('NOSCRIPT')) throw error
      answer = await this.#watch.inTime(this.#client.send('EVAL', [text, ...parameters]), timeouts)
    }
    return (Array.isArray(answer) ? answer : [answer]).map(Number)
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
function states(
  scopes: readonly LimitScope[],
  answer: readonly number[],
): { requests?: LimitState; tokens?: LimitState } {
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
