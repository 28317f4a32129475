/** The cache of answers, in LiteLLM's layout (docs/cache.md). */
import { z } from 'zod'
import { cachedOperations } from '../../core/cache/cache-settings.ts'
import type { CachedOperation, CacheSettings } from '../../core/cache/cache-settings.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { redisAddress, redisPort } from './redis.ts'
import { text } from './value-types.ts'

/** LiteLLM's names of calls, by the operation that each stands for. */
const callTypes: Readonly<Record<CachedOperation, readonly string[]>> = {
  chat: ['acompletion', 'completion', 'aresponses', 'responses', 'anthropic_messages', 'agenerate_content'],
  completions: ['atext_completion', 'text_completion'],
  embeddings: ['aembedding', 'embedding'],
  rerank: ['arerank', 'rerank'],
  moderations: ['amoderation', 'moderation'],
  speech: ['aspeech', 'speech'],
  transcriptions: ['atranscription', 'transcription'],
}
const operationOf: ReadonlyMap<string, CachedOperation> = new Map(
  cachedOperations.flatMap(operation => callTypes[operation].map(name => [name, operation] as const)),
)

const kept = () => z.number().positive().max(31_536_000)
const megabytes = () => z.number().min(0.01).max(1_048_576)
const besideHost = { path: 'settings.cache_params.host' }

/** Keys of `cache_params`. */
const cacheParamKeys = settingKeys('cache', {
  type: {
    type: () => z.enum(['local', 'redis', 'redis-semantic']),
    description:
      'Where answers are kept: `local` is the memory of each process, `redis` one store for all replicas, ' +
      '`redis-semantic` the same with `semantic_model`. Left out: Redis where `url` or `host` is given, else memory.',
    example: 'redis',
  },
  url: {
    type: () => z.url({ protocol: /^(rediss?|valkeys?)$/, error: 'must be a redis:// or rediss:// address' }),
    description: 'The Redis that keeps answers; without it and `host` that of REDIS_URL is used.',
    example: 'rediss://redis.internal:6380',
  },
  host: {
    type: text,
    description: 'The host of the Redis that keeps answers, where `url` is not given.',
    example: 'redis.internal',
  },
  port: {
    type: redisPort,
    default: 6379,
    description: 'The port of the Redis that is named by `host`.',
    example: 6379,
    usedWith: besideHost,
  },
  password: {
    type: text,
    description: 'The password that the Redis named by `host` asks for.',
    example: '${CACHE_REDIS_PASSWORD:-none}',
    secret: 'whole',
    usedWith: besideHost,
  },
  username: {
    type: text,
    description: 'The user as whom the gateway signs in to the Redis named by `host`.',
    example: 'gateway',
    usedWith: besideHost,
  },
  ssl: {
    type: () => z.boolean(),
    default: false,
    description: 'true: the connection to the Redis named by `host` is encrypted (TLS).',
    example: true,
    usedWith: besideHost,
  },
  namespace: {
    type: () => z.string().regex(/^[A-Za-z0-9._:-]{1,100}$/, 'has 1 to 100 letters, digits and . _ : -'),
    description: 'A text that stands before all keys of answers in Redis.',
    example: 'answers',
  },
  ttl: {
    type: kept,
    default: 600,
    description: 'How many seconds an answer is kept, where the call does not say.',
    example: 600,
  },
  default_in_memory_ttl: {
    type: kept,
    description: 'How many seconds an answer is kept in memory, in place of `ttl`.',
    example: 600,
  },
  default_in_redis_ttl: {
    type: kept,
    description: 'How many seconds an answer is kept in Redis, in place of `ttl`.',
    example: 3600,
  },
  mode: {
    type: () => z.enum(['default_on', 'default_off']),
    default: 'default_on',
    description:
      '`default_on`: all calls take part. `default_off`: only calls that ask for it take part ' +
      '(`"cache": {"use-cache": true}` or `"caching": true`).',
    example: 'default_on',
  },
  supported_call_types: {
    type: () => z.array(z.enum([...operationOf.keys()] as [string, ...string[]])),
    description: 'The kinds of calls that take part: all of them when left out, none for [].',
    example: ['acompletion', 'aembedding'],
  },
  scope: {
    type: () => z.enum(['team', 'key', 'user', 'organization', 'all']),
    default: 'team',
    description:
      'Whose calls share answers. With `team` they are those of one team; a key without a team shares with ' +
      'itself alone.',
    example: 'team',
  },
  max_memory_mb: {
    type: megabytes,
    default: 128,
    description: 'How many MB all answers take at most in the memory of a process.',
    example: 128,
  },
  max_answer_mb: {
    type: megabytes,
    default: 4,
    description: 'An answer of more MB than this is not kept.',
    example: 4,
  },
  socket_timeout: {
    type: () => z.number().min(0.01).max(60),
    default: 0.25,
    description: 'How many seconds a call waits for Redis, once; then it goes on without the cache.',
    example: 0.25,
  },
  semantic_model: {
    type: text,
    description: 'The embedding model of this gateway by which prompts that mean the same share an answer.',
    example: 'text-embedding-3-small',
    litellm: 'redis_semantic_cache_embedding_model',
  },
  similarity_threshold: {
    type: () => z.number().min(0.5).max(1),
    default: 0.95,
    description: 'How alike two prompts have to be to share an answer, as the cosine of their embeddings.',
    example: 0.95,
  },
  semantic_several_turns: {
    type: () => z.boolean(),
    default: false,
    description: 'true: conversations of several turns share answers by meaning, too.',
    example: false,
  },
  semantic_temperature_max: {
    type: () => z.number().min(0).max(2),
    default: 0,
    description: 'Calls whose temperature is higher than this share no answers by meaning.',
    example: 0,
  },
  semantic_prompts: {
    type: () => z.number().int().min(1).max(100_000),
    default: 2000,
    description: 'How many prompts are remembered and compared for each tenant and model.',
    example: 2000,
  },
})

/** Keys of `settings`. */
export const cacheKeys = settingKeys('cache', {
  cache: {
    type: () => z.boolean(),
    default: false,
    description: 'true: answers are kept and given again to equal calls (docs/cache.md).',
    example: true,
  },
  cache_params: {
    keys: cacheParamKeys,
    description: 'How answers are kept; these keys count with `cache: true` alone.',
    example: { type: 'redis', ttl: 600, scope: 'team' },
    usedWith: { path: 'settings.cache', value: true },
  },
})

const mebibyte = 1024 * 1024

/** null = no answer is kept. */
export function cacheSettingsOf({ cache, cache_params: params = {} }: Values<typeof cacheKeys>): CacheSettings | null {
  if (cache !== true || params.supported_call_types?.length === 0) return null
  const given = withDefaults(cacheParamKeys, params)
  const redisUrl = given.url ?? redisAddress(given)
  const type = given.type ?? (redisUrl === undefined ? 'local' : 'redis')
  const kind = type === 'local' ? 'local' : 'redis'
  const ttlS = (kind === 'local' ? given.default_in_memory_ttl : given.default_in_redis_ttl) ?? given.ttl
  return {
    kind,
    redisUrl,
    namespace: given.namespace ?? '',
    scope: given.scope,
    ttlMs: ttlS * 1000,
    isDefaultOn: given.mode === 'default_on',
    operations: new Set(given.supported_call_types?.map(name => operationOf.get(name)!) ?? cachedOperations),
    memoryBytesMax: Math.floor(given.max_memory_mb * mebibyte),
    answerBytesMax: Math.floor(given.max_answer_mb * mebibyte),
    redisDeadlineMs: given.socket_timeout * 1000,
    semantic:
      given.semantic_model === undefined
        ? null
        : {
            model: given.semantic_model,
            similarityMin: given.similarity_threshold,
            severalTurns: given.semantic_several_turns,
            temperatureMax: given.semantic_temperature_max,
            promptsMax: given.semantic_prompts,
          },
  }
}
