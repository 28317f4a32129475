/** Leases of runs over Redis, for a process that has lost the database alone: the others end nothing it works on. */
import type { RunLeases } from '../../core/objects/run-leases.ts'
import { RedisConnection, redisScript } from '../redis/redis-connection.ts'

/** Longer than two repetitions and the answer to one: a process that is killed holds its runs for so long. */
const leaseMs = 4000
/** A client waits for it. */
const answerMs = 1000

// KEYS: the runs, by the end of their leases. The clock is that of Redis.
const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`
// ARGV: milliseconds, and the runs.
const keepScript = redisScript(
  `${now}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[at]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`,
  (keyspace, [runs], [ttlMs, ...ids]) => {
    const { nowMs } = keyspace
    keyspace.scoreDeleteUpTo(runs!, nowMs)
    for (const id of ids) keyspace.score(runs!, id, nowMs + Number(ttlMs))
    keyspace.expire(runs!, Number(ttlMs))
    return 1
  },
)
const isKeptScript = redisScript(
  `${now}
local untilMs = redis.call('ZSCORE', KEYS[1], ARGV[1])
if untilMs and tonumber(untilMs) > now then return 1 end
return 0`,
  (keyspace, [runs], [id]) => ((keyspace.scores(runs!).get(id!) ?? 0) > keyspace.nowMs ? 1 : 0),
)

interface LeaseOptions {
  readonly redisUrl: string
  /** Names the installation in Redis, which others may share. */
  readonly installation: string
}

/** A connection to Redis is opened when there is the first doubt about a run. */
export function createRunLeases({ redisUrl, installation }: LeaseOptions): RunLeases & { close(): void } {
  const redis = new RedisConnection({ url: redisUrl, answerMs })
  const keys = [`{modelgate}:${installation}:runs`]
  return {
    keep: async runIds => void (await redis.run(keepScript, keys, [String(leaseMs), ...runIds])),
    isKept: async runId => (await redis.run(isKeptScript, keys, [runId])) === 1,
    close: () => redis.close(),
  }
}
