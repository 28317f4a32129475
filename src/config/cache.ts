/** The settings of kept answers, from a checked configuration. */
import { cachedOperations } from '../core/cache/cache-settings.ts'
import type { CacheSettings } from '../core/cache/cache-settings.ts'
import { operationOf } from './sections/call-types.ts'
import type { Config } from './sections/file.ts'

type CommonCache = Pick<NonNullable<Config['settings']>, 'cache' | 'cache_params'>

const mebibyte = 1024 * 1024

/** null = no answer is kept. */
export function cacheSettingsOf({ cache, cache_params: given = {} }: CommonCache): CacheSettings | null {
  if (cache !== true || given.supported_call_types?.length === 0) return null
  const redisUrl = given.url ?? addressOf(given)
  const type = given.type ?? (redisUrl === undefined ? 'local' : 'redis')
  const kind = type === 'local' ? 'local' : 'redis'
  const ttlS = (kind === 'local' ? given.default_in_memory_ttl : given.default_in_redis_ttl) ?? given.ttl ?? 600
  return {
    kind,
    redisUrl,
    namespace: given.namespace ?? '',
    scope: given.scope ?? 'team',
    ttlMs: ttlS * 1000,
    isDefaultOn: given.mode !== 'default_off',
    operations: new Set(given.supported_call_types?.map(name => operationOf.get(name)!) ?? cachedOperations),
    memoryBytesMax: Math.floor((given.max_memory_mb ?? 128) * mebibyte),
    answerBytesMax: Math.floor((given.max_answer_mb ?? 4) * mebibyte),
    redisDeadlineMs: (given.socket_timeout ?? 0.25) * 1000,
    semantic:
      given.semantic_model === undefined
        ? null
        : {
            model: given.semantic_model,
            similarityMin: given.similarity_threshold ?? 0.95,
            severalTurns: given.semantic_several_turns ?? false,
            temperatureMax: given.semantic_temperature_max ?? 0,
            promptsMax: given.semantic_prompts ?? 2000,
          },
  }
}

function addressOf({ host, port = 6379, username = '', password = '', ssl }: NonNullable<CommonCache['cache_params']>) {
  if (host === undefined) return undefined
  const user =
    username === '' && password === '' ? '' : `${encodeURIComponent(username)}:${encodeURIComponent(password)}@`
  return `${ssl === true ? 'rediss' : 'redis'}://${user}${host}:${port}`
}
