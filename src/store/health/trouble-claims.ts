/** Replicas agree over Redis who tells of a trouble; over the database where it is Redis that is away. */
import { RedisClient, randomUUIDv7 } from 'bun'
import type { TroubleClaims } from '../../core/trouble-claims.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Database } from '../database/open.ts'
import { redisAnswer } from '../redis/redis-answer.ts'

/** A replica that has not said for so long that it has a trouble is dead, or well. */
const seenForMs = 60_000
const answerMs = 3000

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
    began: trouble => claimsOf(trouble).began(trouble),
    lasts: trouble => claimsOf(trouble).lasts(trouble),
    ended: trouble => claimsOf(trouble).ended(trouble),
    close: () => overRedis.close(),
  }
}

// KEYS: who has the trouble, and whether it was told. ARGV: this replica, milliseconds. The clock is that of Redis.
const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`
const seen = `${now}
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])`
const beganScript = `${seen}
if redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[2]) then return 1 end
return 0`
const endedScript = `${now}
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
if redis.call('ZCARD', KEYS[1]) > 0 then return 0 end
return redis.call('DEL', KEYS[2])`

function redisClaims({ redisUrl, installation }: ClaimOptions, replica: string): TroubleClaims {
  let client: RedisClient | undefined
  const run = async (script: string, trouble: string): Promise<boolean> => {
    client ??= new RedisClient(redisUrl, { autoReconnect: false, enableOfflineQueue: false })
    const redis = client
    // Names in braces are on one node of a cluster.
    const name = `modelgate:trouble:{${installation}:${trouble}}`
    const parameters = ['2', `${name}:seen`, `${name}:told`, replica, String(seenForMs)]
    const answer = async () => {
      if (!redis.connected) await redis.connect()
      return redis.send('EVAL', [script, ...parameters])
    }
    try {
      return Number(await redisAnswer(answer(), answerMs)) === 1
    } catch (error) {
      // The connection may be dead without a sign of it.
      redis.close()
      if (client === redis) client = undefined
      throw error
    }
  }
  return {
    began: trouble => run(beganScript, trouble),
    lasts: async trouble => void (await run(`${seen}\nreturn 0`, trouble)),
    ended: trouble => run(endedScript, trouble),
    close: () => client?.close(),
  }
}

function databaseClaims({ database: { sql }, clock }: ClaimOptions, replica: string): Omit<TroubleClaims, 'close'> {
  /** The row without a replica: the operator was told. */
  const told = ''
  return {
    async began(trouble) {
      const nowMs = clock.epochMs()
      await sql`insert into health_troubles (trouble, replica, seen_ms) values (${trouble}, ${replica}, ${nowMs})
        on conflict (trouble, replica) do update set seen_ms = excluded.seen_ms`
      const own = (await sql`
        insert into health_troubles (trouble, replica, seen_ms) values (${trouble}, ${told}, ${nowMs})
        on conflict (trouble, replica) do update set seen_ms = excluded.seen_ms
        where health_troubles.seen_ms < ${nowMs - seenForMs} returning trouble`) as unknown[]
      return own.length > 0
    },
    async lasts(trouble) {
      await sql`update health_troubles set seen_ms = ${clock.epochMs()}
        where trouble = ${trouble} and replica in (${replica}, ${told})`
    },
    async ended(trouble) {
      // Each statement by itself: of two replicas that end at once the later one sees that it is the last.
      await sql`delete from health_troubles where trouble = ${trouble} and replica = ${replica}`
      const others = (await sql`select replica from health_troubles where trouble = ${trouble}
        and replica <> ${told} and seen_ms >= ${clock.epochMs() - seenForMs} limit 1`) as unknown[]
      if (others.length > 0) return false
      const ended = (await sql`delete from health_troubles where trouble = ${trouble} returning replica`) as {
        replica: string
      }[]
      return ended.some(row => row.replica === told)
    },
  }
}
