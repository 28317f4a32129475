/** The cache of answers for operators, as LiteLLM's users know it: does it work, and what is to be forgotten. */
import { z } from 'zod'
import type { Endpoint, EndpointContext } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { CacheAdministration, CacheHour } from '../../core/cache/answer-cache.ts'
import { dayText } from '../common/date-span.ts'
import { withBody, withQuery } from '../common/json-endpoint.ts'
import { lazy } from '../../lib/lazy.ts'
import { dayMs } from '../../lib/clock.ts'
import {
  anyObject,
  boolean,
  constant,
  described,
  integer,
  listOf,
  mapOf,
  named,
  number,
  oneOf,
  shape,
  text,
} from '../openapi/schema.ts'

const hitsByKind = described('Calls that were answered from the cache, by how the answers were found.', mapOf(integer))
const cachePingSchema = named('CachePing', () =>
  shape({
    status: constant('healthy'),
    cache_type: oneOf('local', 'redis'),
    ping_response: boolean,
    set_cache_response: text,
    litellm_cache_params: anyObject,
    answers: described('Answers that are kept in the memory of this process.', integer),
    bytes: described('Bytes of memory that these answers take.', integer),
    hits: hitsByKind,
    misses: described('Calls of this process that were looked for in the cache, and were sent.', integer),
    saved: described('In this process since its start: dollars that hits did not cost.', number),
  }),
)
const cacheActivitySchema = named('CacheActivity', () =>
  shape({
    start_date: text,
    end_date: text,
    days: described(
      'Each day that was asked for is there, in UTC. Other replicas add to them every ten seconds.',
      listOf(
        shape({
          date: text,
          hits: hitsByKind,
          misses: described('Calls that could have been answered from the cache, and were sent.', integer),
          saved: described('Dollars that the hits did not cost.', number),
        }),
      ),
    ),
  }),
)
const cacheStatusSchema = named('CacheStatus', () => shape({ status: constant('success') }))
const cacheRedisInfoSchema = named('CacheRedisInfo', () =>
  shape({ num_clients: integer, clients: listOf(mapOf(text)), info: mapOf(text) }),
)

const nothing = lazy(() => z.strictObject({}))
const keysMax = 1000

/** Throws 503 where no answers are kept: LiteLLM's clients expect that status. */
function cacheOf({ services }: EndpointContext): CacheAdministration {
  const cache = services.cache(services.current.settings)
  if (cache) return cache
  throw away('no answers are kept here: set `cache: true` in `litellm_settings`')
}

const away = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('overloaded', message, { code: 'cache_ping_error', cause })

/** Runs `ask`; what fails is 503 with the reason. */
async function reached<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    throw away(`the cache does not answer: ${(cause as Error).message}`, cause)
  }
}

const nanoUsd = 1e9

/** Of this process, since its start. */
function countsOf(cache: CacheAdministration) {
  const { hits, misses, savedNanoUsd, answers, bytes } = cache.counts()
  return { answers, bytes, hits: Object.fromEntries(hits), misses, saved: Number(savedNanoUsd) / nanoUsd }
}

const ping = withQuery(nothing, {
  paths: ['/cache/ping'],
  auth: 'viewer',
  tag: 'Cache',
  answer: cachePingSchema,
  operationId: 'pingCache',
  summary: 'Writes and reads an entry of the cache',
  failures: [503],
  async handle(_, context) {
    const cache = cacheOf(context)
    await reached(() => cache.ping())
    return {
      status: 'healthy' as const,
      cache_type: cache.kind,
      ping_response: true,
      set_cache_response: 'success',
      litellm_cache_params: cache.shown,
      ...countsOf(cache),
    }
  },
})

const keysBody = lazy(() =>
  z.strictObject({
    keys: z
      .array(z.string().regex(/^[0-9a-f]{64}$/, 'must be as `x-proxy-cache-key` of an answer says'))
      .min(1)
      .max(keysMax)
      .describe('They are written as `x-proxy-cache-key` of answers says.'),
  }),
)

const remove = withBody(keysBody, {
  paths: ['/cache/delete'],
  auth: 'admin',
  tag: 'Cache',
  answer: cacheStatusSchema,
  operationId: 'deleteCachedAnswers',
  summary: 'Forgets kept answers',
  failures: [503],
  async handle({ keys }, context) {
    const cache = cacheOf(context)
    await reached(() => cache.delete(keys))
    return { status: 'success' as const }
  },
})

const flush = withBody(nothing, {
  paths: ['/cache/flushall'],
  auth: 'admin',
  tag: 'Cache',
  answer: cacheStatusSchema,
  operationId: 'flushCache',
  summary: 'Forgets all kept answers',
  failures: [503],
  async handle(_, context) {
    const cache = cacheOf(context)
    await reached(() => cache.clear())
    return { status: 'success' as const }
  },
})

const redisInfo = withQuery(nothing, {
  paths: ['/cache/redis/info'],
  auth: 'viewer',
  tag: 'Cache',
  answer: cacheRedisInfoSchema,
  operationId: 'getCacheRedisInfo',
  summary: 'What the Redis of the cache says of itself and of its clients',
  failures: [503],
  async handle(_, context) {
    const cache = cacheOf(context)
    // In memory there is no Redis, and nothing to say of it.
    const { clients, info } = cache.info ? await reached(cache.info) : { clients: [], info: {} }
    return { num_clients: clients.length, clients, info }
  },
})

const hoursADay = 24
const activityQuery = lazy(() =>
  z.strictObject({
    days: z.coerce.number().int().min(1).max(366).default(30).describe('How many days up to today (UTC) are shown.'),
  }),
)

/** From the sums of the cache alone: no call is read. Also where no answers are kept any more. */
const activity = withQuery(activityQuery, {
  paths: ['/cache/activity'],
  auth: 'viewer',
  tag: 'Cache',
  answer: cacheActivitySchema,
  operationId: 'getCacheActivity',
  summary: 'Hits, misses and saved money of all replicas, day by day',
  failures: [503],
  async handle({ days }, { services }) {
    const today = Math.floor(services.clock.epochMs() / dayMs)
    const firstDay = today - days + 1
    const hours = await services.cacheHours.since(firstDay * hoursADay)
    const byDay = Map.groupBy(hours, one => Math.floor(one.hour / hoursADay))
    return {
      start_date: dayText(firstDay),
      end_date: dayText(today),
      days: Array.from({ length: days }, (_, at) => ({
        date: dayText(firstDay + at),
        ...sumOf(byDay.get(firstDay + at) ?? []),
      })),
    }
  },
})

function sumOf(hours: readonly CacheHour[]) {
  const hits: Record<string, number> = {}
  for (const hour of hours) for (const [kind, count] of hour.hits) hits[kind] = (hits[kind] ?? 0) + count
  return {
    hits,
    misses: hours.reduce((sum, one) => sum + one.misses, 0),
    saved: Number(hours.reduce((sum, one) => sum + one.savedNanoUsd, 0n)) / nanoUsd,
  }
}

/** Everything under `/cache`. */
export const cacheEndpoints: readonly Endpoint[] = [ping, activity, remove, flush, redisInfo]
