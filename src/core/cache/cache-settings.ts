/** What the operator and clients ask of the cache of answers, and how it takes part in a call. */
import type { Reply } from '../answer.ts'

/** Whose calls share answers: those of one team (of the key, where it has none), of one key, user, ... or of all. */
export type CacheScope = 'team' | 'key' | 'user' | 'organization' | 'all'

/** Kinds of calls whose answers can be kept. */
export const cachedOperations = [
  'chat',
  'completions',
  'embeddings',
  'rerank',
  'moderations',
  'speech',
  'transcriptions',
] as const
/** One of `cachedOperations`. */
export type CachedOperation = (typeof cachedOperations)[number]

/** What the configuration says of the cache. */
export interface CacheSettings {
  readonly kind: 'local' | 'redis'
  /** Of the Redis that keeps the answers; undefined = that of the limits (REDIS_URL). */
  readonly redisUrl: string | undefined
  /** Stands before the keys in Redis. */
  readonly namespace: string
  readonly scope: CacheScope
  readonly ttlMs: number
  /** true = every call of the operations below; false = only those that ask for it (`use-cache`, `caching`). */
  readonly isDefaultOn: boolean
  readonly operations: ReadonlySet<string>
  /** Of all answers in the memory of this process. */
  readonly memoryBytesMax: number
  /** Larger answers are not kept. */
  readonly answerBytesMax: number
  /** How long a call waits for Redis. */
  readonly redisDeadlineMs: number
  /** null = only equal calls share an answer. */
  readonly semantic: SemanticCacheSettings | null
}

/** Answers for calls that are alike. */
export interface SemanticCacheSettings {
  /** Public name of the embedding model. */
  readonly model: string
  /** Cosine of the two prompts, at least. */
  readonly similarityMin: number
  /** true = also conversations of several turns. */
  readonly severalTurns: boolean
  /** Calls with a higher temperature are left alone. */
  readonly temperatureMax: number
  /** Prompts that are remembered for each tenant and model. */
  readonly promptsMax: number
}

/** What one call says about the cache: `cache` and `caching` of its body, its header `Cache-Control`. */
export interface CacheControls {
  /** No kept answer is used; the new one is kept. */
  readonly noCache: boolean
  /** The answer is not kept. */
  readonly noStore: boolean
  /** How long the answer is kept; undefined = as configured. */
  readonly ttlMs: number | undefined
  /** An older answer is not used; undefined = any. */
  readonly ageMaxMs: number | undefined
  /** Answers of one namespace are not used in another; empty = none. */
  readonly namespace: string
  /** The call asks for the cache; undefined = it does not say. */
  readonly use: boolean | undefined
  /** The names that the client has used, for keys that may not use all of them. */
  readonly names: readonly string[]
}

/** A call that says nothing. */
export const noCacheControls: CacheControls = Object.freeze({
  noCache: false,
  noStore: false,
  ttlMs: undefined,
  ageMaxMs: undefined,
  namespace: '',
  use: undefined,
  names: Object.freeze([]),
})

/** How a call was answered without an upstream of its own; empty = it was not. */
export type CacheHit = '' | 'exact' | 'semantic' | 'shared'

/** Sees the reply of a call on its way to the client. Set by a policy in `admit`; absent = the reply goes its way. */
export interface ReplyWatch {
  /** The reply of an upstream, once; what is returned goes to the client. Must not throw. */
  replied(reply: Reply): Reply
  /**
   * The client has left. true = others wait for the answer, and the call goes on; `end` then ends it, when the last of
   * them has left too.
   */
  outlives(end: () => void): boolean
}

/** Of this process, since its start. */
export interface CacheCounts {
  readonly hits: ReadonlyMap<CacheHit, number>
  readonly misses: number
  readonly savedNanoUsd: bigint
  /** In memory now, with their bytes. */
  readonly answers: number
  readonly bytes: number
  /** Calls that have, or wait for, the answer of another one now. */
  readonly followers: number
}

/** What the shared store says: an answer, or that the asker has the right to make it (`leads`), or that another has. */
export type SharedFinding =
  | { readonly state: 'found'; readonly text: string }
  | { readonly state: 'leads' }
  | { readonly state: 'made-elsewhere' }

/** Texts of a shared list, in their order. */
export interface SharedPromptList {
  readonly texts: readonly string[]
  /** The place of the last one. */
  readonly last: string
  readonly isMore: boolean
}

/** Answers that all replicas share. No method rejects or waits for long: undefined or false = it is away. */
export interface SharedAnswers {
  /** `owner` = any text that no other call uses; empty = does not want to make the answer. */
  ask(key: string, owner: string): Promise<SharedFinding | undefined>
  /** Kept texts, in the order of their keys; undefined in place of one that is not there. */
  readMany(keys: readonly string[]): Promise<readonly (string | undefined)[] | undefined>
  keepMany(kept: readonly { readonly key: string; readonly text: string }[], ttlMs: number): Promise<void>
  /** Adds a text to the end of a list, which keeps the last `promptsMax` of them. */
  addPrompt(list: string, text: string, limits: { readonly promptsMax: number; readonly ttlMs: number }): Promise<void>
  /** Some of the texts after the place `after` of a list, from its beginning where that is empty. */
  promptsAfter(list: string, after: string): Promise<SharedPromptList | undefined>
  /** The owner is still making the answer: its right would end otherwise. */
  renew(key: string, owner: string): void
  /** Keeps the answer, and ends the right to make it. */
  keep(key: string, owner: string, kept: { readonly text: string; readonly ttlMs: number }): Promise<void>
  /** There will be no answer by this owner. */
  release(key: string, owner: string): Promise<void>
  /** How many there were; undefined = it is away. */
  delete(keys: readonly string[]): Promise<number | undefined>
  /** Deletes all answers of this gateway. false = it is away. */
  clear(): Promise<boolean>
  /** Writes, reads and deletes an entry. Rejects with the reason when it is away. */
  ping(): Promise<void>
  /** What Redis says of itself (`INFO`) and of its clients. Rejects with the reason when it is away. */
  info(): Promise<{ readonly clients: readonly Record<string, string>[]; readonly info: Record<string, string> }>
}
