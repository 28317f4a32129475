/** Replicas agree over Redis which one reports a trouble; over the database where it is Redis that is away. */
import { randomUUIDv7 } from 'bun'
import type { ReportedTrouble, TroubleClaims } from '../../core/trouble-claims.ts'
import type { Clock } from '../../lib/clock.ts'
import { toNumber } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import type { Keyspace } from './keyspace.ts'
import { RedisConnection, redisScript } from './redis-connection.ts'
import type { RedisScript } from './redis-connection.ts'

/** A replica that has not said for so long that it has a trouble is dead, or well. */
const seenForMs = 60_000
const answerMs = 3000
/** What was reported is forgotten when no replica has asked for so long. */
const keptMs = 7 * 86_400_000

interface ClaimOptions {
  readonly redisUrl: string
  /** Names the installation in Redis, which others may share. */
  readonly installation: string
  readonly database: Pick<Database, 'sql'>
  readonly clock: Pick<Clock, 'epochMs'>
}

/** A connection to Redis is opened at the first trouble. */
export function createTroubleClaims(options: ClaimOptions): TroubleClaims {
  const replica = randomUUIDv7()
  const overRedis = redisClaims(options, replica)
  const overDatabase = databaseClaims(options, replica)
  const claimsOf = (trouble: string) => (trouble === 'redis' ? overDatabase : overRedis)
  return {
    began: reported => claimsOf(reported.trouble).began(reported),
    lasts: trouble => claimsOf(trouble).lasts(trouble),
    ended: trouble => claimsOf(trouble).ended(trouble),
    async takeLeft() {
      // The one that is away is a trouble of its own.
      const left = await Promise.allSettled([overRedis.takeLeft(), overDatabase.takeLeft()])
      return left.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
    },
    close: () => overRedis.close(),
  }
}

// KEYS: which replica has which trouble, by when it said so, and since when troubles last that were reported. ARGV: for
// how long a replica counts as living, how long this is kept, both in milliseconds, and what the script names. The
// clock is that of Redis.
const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`
const seen = `${now}
redis.call('ZADD', KEYS[1], now, ARGV[3] .. ' ' .. ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])`
const noteSeen = (keyspace: Keyspace, key: string, [, keptForMs, trouble, replica]: readonly string[]) => {
  keyspace.score(key, `${trouble} ${replica}`, keyspace.nowMs)
  keyspace.expire(key, Number(keptForMs))
}
const lastsScript = redisScript(
  `${seen}
return 0`,
  (keyspace, [seenKey], values) => {
    noteSeen(keyspace, seenKey!, values)
    return 0
  },
)
const beganScript = redisScript(
  `${seen}
local isNew = redis.call('HSETNX', KEYS[2], ARGV[3], ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return isNew`,
  (keyspace, [seenKey, told], values) => {
    const [, keptForMs, trouble, , sinceMs] = values
    noteSeen(keyspace, seenKey!, values)
    const isNew = !keyspace.hash(told!).has(trouble!)
    if (isNew) keyspace.hashSet(told!, trouble!, sinceMs!)
    keyspace.expire(told!, Number(keptForMs))
    return isNew ? 1 : 0
  },
)
const living = `${now}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1])
local living = {}
local function find()
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do living[string.match(member, '^(.*) ')] = true end
end`
const livingTroubles = (keyspace: Keyspace, key: string) => {
  const members = [...keyspace.scores(key).keys()]
  return new Set(members.map(member => member.slice(0, member.lastIndexOf(' '))))
}
const endedScript = redisScript(
  `${living}
redis.call('ZREM', KEYS[1], ARGV[3] .. ' ' .. ARGV[4])
find()
if living[ARGV[3]] then return 0 end
return redis.call('HDEL', KEYS[2], ARGV[3])`,
  (keyspace, [seenKey, told], [seenMs, , trouble, replica]) => {
    keyspace.scoreDeleteUpTo(seenKey!, keyspace.nowMs - Number(seenMs))
    keyspace.scoreDelete(seenKey!, `${trouble} ${replica}`)
    if (livingTroubles(keyspace, seenKey!).has(trouble!)) return 0
    return keyspace.hashDelete(told!, trouble!) ? 1 : 0
  },
)
const leftScript = redisScript(
  `${living}
find()
local left = {}
local reported = redis.call('HGETALL', KEYS[2])
for at = 1, #reported, 2 do
  if not living[reported[at]] then
    redis.call('HDEL', KEYS[2], reported[at])
    left[#left + 1] = reported[at]
    left[#left + 1] = reported[at + 1]
  end
end
return left`,
  (keyspace, [seenKey, told], [seenMs]) => {
    keyspace.scoreDeleteUpTo(seenKey!, keyspace.nowMs - Number(seenMs))
    const alive = livingTroubles(keyspace, seenKey!)
    const left = [...keyspace.hash(told!)].filter(([trouble]) => !alive.has(trouble))
    for (const [trouble] of left) keyspace.hashDelete(told!, trouble)
    return left.flat()
  },
)

function redisClaims({ redisUrl, installation }: ClaimOptions, replica: string): TroubleClaims {
  const redis = new RedisConnection({ url: redisUrl, answerMs })
  // Names in braces are on one node of a cluster.
  const keys = ['seen', 'told'].map(name => `modelgate:troubles:{${installation}}:${name}`)
  const run = (script: RedisScript, ...named: readonly string[]) =>
    redis.run(script, keys, [String(seenForMs), String(keptMs), ...named])
  return {
    began: async ({ trouble, sinceMs }) => (await run(beganScript, trouble, replica, String(sinceMs))) === 1,
    lasts: async trouble => void (await run(lastsScript, trouble, replica)),
    ended: async trouble => (await run(endedScript, trouble, replica)) === 1,
    async takeLeft() {
      const pairs = (await run(leftScript)) as string[]
      return pairs.flatMap((trouble, at) => (at % 2 === 0 ? [{ trouble, sinceMs: Number(pairs[at + 1]) }] : []))
    },
    close: () => redis.close(),
  }
}

function databaseClaims({ database: { sql }, clock }: ClaimOptions, replica: string): Omit<TroubleClaims, 'close'> {
  /** The row without a replica: the trouble was reported. It has the time since when the trouble lasts. */
  const reportedRow = ''
  const livingMs = () => clock.epochMs() - seenForMs
  const lasts = async (trouble: string) => {
    const nowMs = clock.epochMs()
    await sql`insert into health_troubles (trouble, replica, seen_ms) values (${trouble}, ${replica}, ${nowMs})
      on conflict (trouble, replica) do update set seen_ms = excluded.seen_ms`
  }
  return {
    lasts,
    async began({ trouble, sinceMs }) {
      await lasts(trouble)
      const own = (await sql`
        insert into health_troubles (trouble, replica, seen_ms) values (${trouble}, ${reportedRow}, ${sinceMs})
        on conflict (trouble, replica) do nothing returning trouble`) as unknown[]
      return own.length > 0
    },
    async ended(trouble) {
      // Each statement by itself: of two replicas that end at once the later one sees that it is the last.
      await sql`delete from health_troubles where trouble = ${trouble} and replica = ${replica}`
      const others = (await sql`select replica from health_troubles where trouble = ${trouble}
        and replica <> ${reportedRow} and seen_ms >= ${livingMs()} limit 1`) as unknown[]
      if (others.length > 0) return false
      const ended = (await sql`delete from health_troubles where trouble = ${trouble} returning replica`) as {
        replica: string
      }[]
      return ended.some(row => row.replica === reportedRow)
    },
    async takeLeft() {
      const left = (await sql`delete from health_troubles where replica = ${reportedRow} and not exists (
          select 1 from health_troubles as other where other.trouble = health_troubles.trouble
            and other.replica <> ${reportedRow} and other.seen_ms >= ${livingMs()}
        ) returning trouble, seen_ms`) as { trouble: string; seen_ms: unknown }[]
      return left.map((row): ReportedTrouble => ({ trouble: row.trouble, sinceMs: toNumber(row.seen_ms) }))
    },
  }
}
