/** Keys of `settings` about the cache of answers, in LiteLLM's layout. */
import { z } from 'zod'
import { operationOf } from './call-types.ts'

const text = z.string().min(1)
const seconds = z.number().positive().max(31_536_000)
const megabytes = z.number().min(0.01).max(1_048_576)

const cacheParams = z.strictObject({
  type: z
    .enum(['local', 'redis', 'redis-semantic'])
    .optional()
    .describe(
      'Where answers are kept: in the memory of each process, or in Redis for all replicas. redis-semantic: the same ' +
        'with `semantic_model`. Left out: Redis where `url` or `host` is given, else memory.',
    )
    .meta({ examples: ['redis'] }),
  url: z
    .url({ protocol: /^(rediss?|valkeys?)$/, error: 'must be a redis:// or rediss:// address' })
    .optional()
    .describe('The Redis that keeps answers; without it and `host` that of REDIS_URL.')
    .meta({ examples: ['rediss://redis.internal:6380'] }),
  host: text
    .optional()
    .describe('The same in parts.')
    .meta({ examples: ['redis.internal'] }),
  port: z
    .union([z.number().int().min(1).max(65_535), z.string().regex(/^\d{1,5}$/)])
    .optional()
    .describe('With `host`; 6379 when left out.')
    .meta({ examples: [6379] }),
  password: text
    .optional()
    .describe('With `host`.')
    .meta({ examples: ['${CACHE_REDIS_PASSWORD:-none}'] }),
  username: text
    .optional()
    .describe('With `host`.')
    .meta({ examples: ['gateway'] }),
  ssl: z
    .boolean()
    .optional()
    .describe('With `host`: over TLS.')
    .meta({ examples: [true] }),
  namespace: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,100}$/, 'has 1 to 100 letters, digits and . _ : -')
    .optional()
    .describe('Stands before the keys in Redis.')
    .meta({ examples: ['answers'] }),
  ttl: seconds
    .optional()
    .describe('Seconds that an answer is kept, where the call does not say; 600 when left out.')
    .meta({ examples: [600] }),
  default_in_memory_ttl: seconds
    .optional()
    .describe('The same, in memory.')
    .meta({ examples: [600] }),
  default_in_redis_ttl: seconds
    .optional()
    .describe('The same, in Redis.')
    .meta({ examples: [3600] }),
  mode: z
    .enum(['default_on', 'default_off'])
    .optional()
    .describe(
      'default_off: only calls that ask for it (`"cache": {"use-cache": true}` or `"caching": true`) take part. ' +
        'default_on when left out.',
    )
    .meta({ examples: ['default_on'] }),
  supported_call_types: z
    .array(z.enum([...operationOf.keys()] as [string, ...string[]]))
    .optional()
    .describe('Kinds of calls that take part; all of them when left out, none for [].')
    .meta({ examples: [['acompletion', 'aembedding']] }),
  scope: z
    .enum(['team', 'key', 'user', 'organization', 'all'])
    .optional()
    .describe(
      'Whose calls share answers. team when left out: those of one team; a key without one shares with itself alone.',
    )
    .meta({ examples: ['team'] }),
  max_memory_mb: megabytes
    .optional()
    .describe('Of all answers in the memory of a process, in MB; 128 when left out.')
    .meta({ examples: [128] }),
  max_answer_mb: megabytes
    .optional()
    .describe('A larger answer is not kept; 4 when left out.')
    .meta({ examples: [4] }),
  socket_timeout: z
    .number()
    .min(0.01)
    .max(60)
    .optional()
    .describe('Seconds that a call waits for Redis, once; then it goes without the cache. 0.25 when left out.')
    .meta({ examples: [0.25] }),
  semantic_model: text
    .optional()
    .describe(
      'An embedding model of this gateway: prompts that mean the same share an answer. None when left out ' +
        '(LiteLLM: `redis_semantic_cache_embedding_model`).',
    )
    .meta({ examples: ['text-embedding-3-small'] }),
  similarity_threshold: z
    .number()
    .min(0.5)
    .max(1)
    .optional()
    .describe('How alike two prompts have to be, as the cosine of their embeddings; 0.95 when left out.')
    .meta({ examples: [0.95] }),
  semantic_several_turns: z
    .boolean()
    .optional()
    .describe('true: also conversations of several turns share answers by meaning.')
    .meta({ examples: [false] }),
  semantic_temperature_max: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .describe('Calls with a higher temperature share no answers by meaning; 0 when left out.')
    .meta({ examples: [0] }),
  semantic_prompts: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('Prompts that are compared for each tenant and model; 2000 when left out.')
    .meta({ examples: [2000] }),
})

/** The keys of `settings` for the cache of answers. */
export const cacheSettings = {
  cache: z
    .boolean()
    .optional()
    .describe('true: answers are kept and given again (docs/cache.md). They are not when left out.'),
  cache_params: cacheParams.optional().describe('How; they count with `cache: true` alone.'),
}
