/** For tests: replicas in this process, each over a connection of its own length to one Redis. */
import type { RedisClient } from 'bun'
import { startTcpProxy } from './network/tcp-proxy.ts'
import type { TcpProxy } from './network/tcp-proxy.ts'
import type { LimitScope, LimitVerdict } from '../../src/core/tenancy/limits.ts'
import type { WithoutRedis } from '../../src/core/settings.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { BudgetCounters } from '../../src/store/limits/budget-counters.ts'
import type { BudgetSpend } from '../../src/store/limits/budget-counters.ts'
import { limitKeys } from '../../src/store/limits/grant-script.ts'
import { RedisLimiter } from '../../src/store/limits/limiter-redis.ts'
import { until } from './until.ts'

const given = process.env.TEST_REDIS_URL
const databases = { budgets: 8, limiter: 9, generations: 10, exchanges: 11 }
/** A database of Redis for each file of tests: it is emptied, while other files run. undefined = there is no Redis. */
export const redisDatabase = (file: keyof typeof databases): string | undefined =>
  given === undefined ? undefined : new URL(`/${databases[file]}`, given).href

/** What all replicas of the tests share. */
export const installation = 'tests'

/**
 * Empties it, and leaves it as one that has been in use for long: where nothing is there, replicas may have lost what
 * they told it, and nothing is granted for two seconds.
 */
export async function emptied(admin: RedisClient): Promise<void> {
  await admin.send('FLUSHDB', [])
  await admin.send('HSET', [limitKeys(installation).replicas, 'generation', '1 1'])
}

/** One gateway as far as limits are concerned. */
export interface Replica {
  readonly limiter: RedisLimiter
  readonly budgets: BudgetCounters
  readonly changes: (boolean | string)[]
  readonly wire: TcpProxy
  take(limits: readonly LimitScope[], tokens?: number, nanoUsd?: number): Promise<LimitVerdict>
}

/** What is passed for a replica: its distance, what holds while Redis is away, where Redis is. */
export type OpenReplica = (
  roundTripMs?: number,
  withoutRedis?: WithoutRedis,
  address?: string,
  spend?: BudgetSpend,
  installationName?: string,
) => Promise<Replica>

/** What is opened is put into `opened`, to be closed by the test. */
export const openReplica =
  (opened: { close(): unknown }[], redisUrl: string): OpenReplica =>
  async (roundTripMs = 0, withoutRedis = 'refuse', address = redisUrl, spend, installationName = installation) => {
    const there = new URL(address)
    const wire = await startTcpProxy(there.hostname, Number(there.port || 6379), { roundTripMs })
    if (there.port !== '1') there.host = `127.0.0.1:${wire.port}`
    const changes: (boolean | string)[] = []
    const budgets = new BudgetCounters({ spend, clock: systemClock })
    const limiter = new RedisLimiter({
      url: there.href,
      installation: installationName,
      budgets,
      withoutRedis: () => withoutRedis,
      reportReachable: (now, reason) => changes.push(now || reason!),
    })
    opened.push(limiter, wire)
    await limiter.start()
    const take: Replica['take'] = async (limits, tokens = 0, nanoUsd = 0) => limiter.take(limits, tokens, nanoUsd)
    return { limiter, budgets, changes, wire, take }
  }

/** As `openReplica`, of one that is reached without a wire whose length a test sets: over a socket of the file system. */
export async function openDirectly(
  opened: { close(): unknown }[],
  url: string,
): Promise<Pick<Replica, 'limiter' | 'take'>> {
  const budgets = new BudgetCounters({ spend: undefined, clock: systemClock })
  const reportReachable = () => {}
  const limiter = new RedisLimiter({ url, installation, budgets, withoutRedis: () => 'refuse', reportReachable })
  opened.push(limiter)
  await limiter.start()
  return { limiter, take: async (limits, tokens = 0, nanoUsd = 0) => limiter.take(limits, tokens, nanoUsd) }
}

/** Three of them that know of each other. */
export const openReplicas =
  (open: OpenReplica) =>
  async (
    distances: readonly number[] = [5, 50, 200],
    withoutRedis: WithoutRedis = 'refuse',
    spends?: BudgetSpend[],
  ) => {
    const replicas: Replica[] = []
    for (const [at, ms] of distances.entries()) replicas.push(await open(ms, withoutRedis, undefined, spends?.[at]))
    const isComplete = () => replicas.every(({ limiter }) => limiter.replicas === distances.length)
    await until(isComplete, 'they know of each other')
    return replicas
  }
