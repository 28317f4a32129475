/** Creates the cache of answers: in this process, or over a Redis for all replicas. */
import { answerAdapters } from '../providers/index.ts'
import { completionsAnswer } from '../cache/completions-answer.ts'
import { RunningAnswerCache } from '../cache/answer-cache.ts'
import type { CacheAdministration } from '../core/cache/answer-cache.ts'
import type { AnswerDialects } from '../core/dialects/answer-reader.ts'
import type { CacheSettings, SharedAnswers } from '../core/cache/cache-settings.ts'
import type { Call } from '../core/call.ts'
import type { Services } from '../core/endpoint.ts'
import { systemClock as clock } from '../lib/clock.ts'
import { KeyRing } from '../lib/encryption.ts'
import { Secret } from '../lib/secret.ts'
import { RedisAnswers } from '../store/answers/redis-answers.ts'
import { embedPrompt } from './embed-prompt.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Signer } from '../lib/signer.ts'

/** How what goes to clients is read back. */
export const clientDialects: AnswerDialects = { ...answerAdapters, 'openai-completions': completionsAnswer }

interface CacheOptions {
  /** Of the limits: the default for answers. */
  readonly redisUrl: string | undefined
  /** Workers share what else is kept in the memory of the process. */
  readonly isShared: boolean
  readonly sign: Signer
  readonly logger: Logger
}

/** The cache, and the Redis that it uses under certain settings. */
export interface OpenedCache {
  readonly answers: RunningAnswerCache
  /** undefined = no answers are kept. */
  administration(settings: CacheSettings | null): CacheAdministration | undefined
  /** What embeddings of prompts are asked with, once it exists. */
  useModels(callModel: Services['callModel']): void
  close(): void
}

/** Connects to nothing before the first call that needs it. */
export function openAnswerCache(options: CacheOptions): OpenedCache {
  const keys = new KeyRing([new Secret(options.sign('encryption of kept answers').toString('hex'))])
  const opened = new Map<string, RedisAnswers>()
  const missing = new Set<CacheSettings>()
  const shared = (settings: CacheSettings): SharedAnswers | undefined => {
    if (settings.kind === 'local' && !options.isShared) return undefined
    const url = settings.kind === 'local' ? options.redisUrl : (settings.redisUrl ?? options.redisUrl)
    if (url === undefined) return tellMissing(options.logger, missing, settings)
    const name = JSON.stringify([url, settings.namespace, settings.redisDeadlineMs])
    let store = opened.get(name)
    if (!store) opened.set(name, (store = openRedis(url, settings, { keys, logger: options.logger })))
    return store
  }
  let callModel: Services['callModel'] | undefined
  const embed = async (call: Call, model: string, text: string) =>
    callModel && embedPrompt(callModel, call, { model, text })
  const answers = new RunningAnswerCache({
    clock,
    sign: options.sign,
    dialects: clientDialects,
    shared,
    embed,
  })
  return {
    answers,
    administration: settings => (settings === null ? undefined : administrationOf(answers, settings, shared(settings))),
    useModels: given => void (callModel = given),
    close() {
      for (const store of opened.values()) store.close()
    },
  }
}

function openRedis(
  url: string,
  { namespace, redisDeadlineMs: deadlineMs }: CacheSettings,
  { keys, logger }: { readonly keys: KeyRing; readonly logger: Logger },
): RedisAnswers {
  return new RedisAnswers({
    url,
    prefix: `modelgate:${namespace === '' ? '' : `${namespace}:`}`,
    deadlineMs,
    keys,
    report: (reachable, reason) =>
      reachable
        ? logger.info('the Redis of kept answers answers again')
        : logger.error('the Redis of kept answers does not answer: calls go without the cache until it does', {
            server: new URL(url).host,
            reason,
          }),
  })
}

/** Reports once for each configuration that the Redis it names is missing. */
function tellMissing(logger: Logger, missing: Set<CacheSettings>, settings: CacheSettings): undefined {
  if (missing.has(settings)) return
  missing.clear()
  missing.add(settings)
  logger.error('answers are kept in the memory of this process: `cache_params.type` is redis, and there is no Redis', {
    remedy: 'set REDIS_URL or `cache_params.url`',
  })
}

function administrationOf(
  answers: RunningAnswerCache,
  { kind, scope, ttlMs, isDefaultOn, operations, namespace }: CacheSettings,
  shared: SharedAnswers | undefined,
): CacheAdministration {
  return {
    kind: kind === 'local' || !shared ? 'local' : 'redis',
    shown: {
      type: kind === 'local' || !shared ? 'local' : 'redis',
      ttl: ttlMs / 1000,
      mode: isDefaultOn ? 'default_on' : 'default_off',
      scope,
      namespace,
      supported_call_types: [...operations],
    },
    counts: () => answers.counts(),
    ping: () => shared?.ping() ?? Promise.resolve(),
    async delete(keys) {
      const all = await answers.withInputs(keys, shared)
      answers.memory.delete(all)
      if (shared && (await shared.delete(all)) === undefined) throw new Error('Redis is away')
    },
    async clear() {
      answers.memory.clear()
      answers.clearPrompts()
      if (shared && !(await shared.clear())) throw new Error('Redis is away')
    },
    info: shared && (() => shared.info()),
  }
}
