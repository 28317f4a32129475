/** Opens what counts limits and budgets: in this process, or over Redis for all replicas. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../lib/clock.ts'
import { tickClock } from '../lib/end-of-tick.ts'
import type { Limiter } from '../core/tenancy/limits.ts'
import type { WithoutRedis } from '../core/settings.ts'
import type { Database } from '../store/database/open.ts'
import type { JournalledLedger } from '../store/ledger/ledger.ts'
import { BudgetCounters } from '../store/limits/budget-counters.ts'
import type { BudgetScope } from '../store/limits/budget-counters.ts'
import { createBudgetSurvey } from '../store/limits/budget-survey.ts'
import type { RunningBudgetSurvey } from '../store/limits/budget-survey.ts'
import { claimBudgetAlert, openBudgetSpend } from '../store/limits/budget-table.ts'
import { MemoryLimiter } from '../store/limits/limiter-memory.ts'
import type { RedisLimiter } from '../store/limits/limiter-redis.ts'
import type { Logger } from '../telemetry/log.ts'

/** A soft budget was reached, in one period once over all replicas. Nano-dollars. */
export interface SoftBudgetAlert {
  readonly scope: BudgetScope
  readonly spentNanoUsd: number
}

/** What counts limits, from start to shutdown. */
export interface Limits {
  readonly limiter: Limiter
  /** undefined = Redis is not configured. */
  readonly redis: RedisLimiter | undefined
  /** The name of this process in the lists of budgets in the ledger. */
  readonly spendWriter: string
  /** All budgets, for people who look at them. */
  readonly survey: RunningBudgetSurvey
  /** From then on `listener` is called with each soft budget that is reached; without one they are logged only. */
  onSoftBudget(listener: (alert: SoftBudgetAlert) => void): void
}

interface LimitsOptions {
  readonly redisUrl: string | undefined
  /** Names the installation in a Redis that others may use, too. */
  readonly installation: string
  /** Begins the id of this replica; absent = empty. */
  readonly idPrefix?: string | undefined
  readonly database: Database
  /** Says which database answers, now and later. */
  readonly names: { follow(listener: (name: string) => void): void }
  /** By which periods of budgets begin on all replicas. */
  readonly sharedClock: Clock
  readonly ledger: JournalledLedger
  readonly logger: Logger
  withoutRedis(): WithoutRedis
}

/** Never rejects: an unreachable Redis does not prevent the start. */
export async function openLimits(options: LimitsOptions): Promise<Limits> {
  const { redisUrl, database, names, ledger, logger, sharedClock } = options
  const spendWriter = randomBytes(9).toString('base64url')
  let listener: (alert: SoftBudgetAlert) => void = () => {}
  const budgets = new BudgetCounters({
    clock: sharedClock,
    spend: openBudgetSpend({ database, ledger, writer: spendWriter }),
    softReached: (scope, spentNanoUsd) =>
      void notifyOnce({ scope, spentNanoUsd }, { database, logger, notify: alert => listener(alert) }),
  })
  const redis = redisUrl === undefined ? undefined : await openRedis(redisUrl, budgets, options)
  const survey = createBudgetSurvey({ database, clock: sharedClock })
  names.follow(name => {
    budgets.nameDatabase(name)
    survey.changed()
  })
  return {
    limiter: redis ?? new MemoryLimiter(tickClock, budgets),
    redis,
    spendWriter,
    survey,
    onSoftBudget: newListener => void (listener = newListener),
  }
}

interface AlertParts {
  readonly database: Database
  readonly logger: Logger
  notify(alert: SoftBudgetAlert): void
}

async function notifyOnce(alert: SoftBudgetAlert, { database, logger, notify }: AlertParts): Promise<void> {
  const { id, budget } = alert.scope
  const fields = { scope: id, spent_nano_usd: alert.spentNanoUsd, soft_nano_usd: budget.softNanoUsd }
  try {
    if (!(await claimBudgetAlert(database.sql, alert.scope))) return
    logger.warn('a soft budget is reached', fields)
    notify(alert)
  } catch (reason) {
    logger.error('a soft budget is reached, and the database could not note it: no alert is sent', {
      ...fields,
      reason: String(reason),
    })
  }
}

async function openRedis(
  url: string,
  budgets: BudgetCounters,
  { installation, idPrefix, logger, withoutRedis }: LimitsOptions,
): Promise<RedisLimiter> {
  // Loaded where there is a Redis.
  const loaded = await import('../store/limits/limiter-redis.ts')
  const limiter: RedisLimiter = new loaded.RedisLimiter({
    url,
    installation,
    idPrefix,
    budgets,
    withoutRedis,
    reportReachable: (reachable, reason) =>
      reachable
        ? logger.info('Redis answers again; limits are shared')
        : logger.error('Redis does not answer; limits are not shared until it does', {
            server: new URL(url).host,
            reason,
            limits: limiter.withoutRedis,
          }),
  })
  await limiter.start()
  return limiter
}
