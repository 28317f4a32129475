/** The same limits across replicas: one script a call, on Redis' own clock. Redis gone = each replica by itself. */
import { randomUUIDv7, RedisClient } from 'bun'
import type { Limiter, LimitScope, LimitState, LimitVerdict } from '../core/ports.ts'

const deadlineMs = 50
/** After a failure Redis is left alone for a second: nobody waits 50 ms for a dead server twice. */
const breakMs = 1000
const connectMsMax = 1000
/** A parallel slot that nobody gives back (a replica was killed) frees itself. */
const leaseS = 900

/**
 * KEYS: one hash a scope. Fields `r<second>` and `t<second>` count, `p:<id>` holds a parallel slot until its time.
 * ARGV: request id, tokens, then per scope requests, tokens, parallel (-1 = no limit).
 * Answers {1, then per scope requests used, tokens used} or {0, scope, kind, limit, used, wait ms}.
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
    local name, value = all[f], tonumber(all[f + 1])
    local kind, at = string.sub(name, 1, 1), tonumber(string.sub(name, 2))
    if kind == 'p' then
      if value < second then old[#old + 1] = name
      elseif name == 'p:' .. id then return {2}
      else parallel = parallel + 1 end
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
  redis.call('HSET', key, 'p:' .. id, second + ${leaseS})
  redis.call('EXPIRE', key, ${leaseS + 60})
end
return {1, unpack(used)}
`

/** Idempotent: only who still holds the slot books the difference. ARGV: request id, tokens used minus taken. */
const releaseScript = `
local second = tonumber(redis.call('TIME')[1])
for _, key in ipairs(KEYS) do
  if redis.call('HDEL', key, 'p:' .. ARGV[1]) == 1 then redis.call('HINCRBY', key, 't' .. second, ARGV[2]) end
end
return 1
`

const kinds = ['requests', 'tokens', 'parallel_requests'] as const
const windowMs = 60_000

export interface RedisLimiterOptions {
  readonly url: string
  /** What decides while Redis does not answer. */
  readonly fallback: Limiter
  /** Redis stopped or began to answer. */
  reportReachable(reachable: boolean): void
}

export class RedisLimiter implements Limiter {
  readonly #options: RedisLimiterOptions
  readonly #client: RedisClient
  #reachable = true
  #brokenUntilMs = 0

  constructor(options: RedisLimiterOptions) {
    this.#options = options
    // The default queue would replay commands long after their caller gave up (research 5.9).
    this.#client = new RedisClient(options.url, {
      enableOfflineQueue: false,
      maxRetries: 1_000_000,
      connectionTimeout: 500,
    })
  }

  /** Resolves when Redis answers; rejects after a second, while the client goes on trying by itself. */
  async connect(): Promise<void> {
    const connecting = this.#client.connect()
    connecting.catch(() => {})
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('Redis did not answer within a second')), connectMsMax)
    })
    try {
      await Promise.race([connecting, late])
    } finally {
      clearTimeout(timer)
    }
  }

  async take(scopes: readonly LimitScope[], tokens: number): Promise<LimitVerdict> {
    const id = randomUUIDv7()
    const keys = scopes.map(scope => `{modelgate}:limit:${scope.id}`)
    const numbers = scopes.flatMap(scope => [
      scope.requestsPerMinute ?? -1,
      scope.tokensPerMinute ?? -1,
      scope.parallelRequests ?? -1,
    ])
    const answer = await this.#script(takeScript, keys, [id, tokens, ...numbers])
    if (answer === undefined) {
      // The script may still have run: its slot is given back as soon as Redis answers again.
      void this.#script(releaseScript, keys, [id, -tokens])
      return this.#options.fallback.take(scopes, tokens)
    }
    if (answer[0] === 0) return refused(scopes, answer)
    let released = false
    return {
      allowed: true,
      ...states(scopes, answer),
      release: used => {
        if (released) return
        released = true
        void this.#script(releaseScript, keys, [id, used - tokens])
      },
    }
  }

  close(): void {
    this.#client.close()
  }

  /** The script's answer; undefined when Redis failed or took too long. */
  async #script(script: string, keys: readonly string[], values: readonly (string | number)[]): Promise<number[] | undefined> {
    if (performance.now() < this.#brokenUntilMs) return undefined
    const parameters = [script, String(keys.length), ...keys, ...values.map(String)]
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('late')), deadlineMs)
      })
      const answer = await Promise.race([this.#client.send('EVAL', parameters), late])
      if (!this.#reachable) this.#options.reportReachable((this.#reachable = true))
      return (Array.isArray(answer) ? answer : [answer]).map(Number)
    } catch {
      this.#brokenUntilMs = performance.now() + breakMs
      if (this.#reachable) this.#options.reportReachable((this.#reachable = false))
      return undefined
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
    requests = tighter(requests, scope.requestsPerMinute, answer[1 + at * 2]!)
    tokens = tighter(tokens, scope.tokensPerMinute, answer[2 + at * 2]!)
  })
  return { ...(requests && { requests }), ...(tokens && { tokens }) }
}

function tighter(known: LimitState | undefined, limit: number | null, used: number): LimitState | undefined {
  if (limit === null) return known
  const remaining = Math.max(limit - used, 0)
  return known && known.remaining <= remaining ? known : { limit, remaining, resetMs: windowMs }
}
