/** The cache of answers, as policies see it. */
import type { Reply } from '../answer.ts'
import type { CacheCounts, CacheSettings } from './cache-settings.ts'
import type { Call, Settlement } from '../call.ts'

/** Keeps answers and gives them again. */
export interface AnswerCache {
  /** A kept answer, or nothing: then the call is sent, and its answer may be kept. */
  admit(call: Call, settings: CacheSettings): undefined | Reply | Promise<undefined | Reply>
  /** The end of a call with a `ReplyWatch`, or with a hit. */
  settled(settlement: Settlement): void
}

/** The cache as operators see it. All methods reject with the reason when it is away. */
export interface CacheAdministration {
  readonly kind: 'local' | 'redis'
  /** Its settings, without addresses and secrets. */
  readonly shown: Readonly<Record<string, unknown>>
  counts(): CacheCounts
  ping(): Promise<void>
  delete(keys: readonly string[]): Promise<void>
  clear(): Promise<void>
  /** Absent = answers are kept in this process. */
  readonly info?:
    | (() => Promise<{ clients: readonly Record<string, string>[]; info: Record<string, string> }>)
    | undefined
}

/** What the cache did in one hour, at all replicas. */
export interface CacheHour {
  /** Since 1970-01-01, in UTC. */
  readonly hour: number
  /** By how they were found. */
  readonly hits: ReadonlyMap<string, number>
  /** Calls that could have been answered from the cache, and were sent. */
  readonly misses: number
  /** What the hits did not cost. */
  readonly savedNanoUsd: bigint
}

/** Sums of the cache, hour by hour. */
export interface CacheHours {
  /**
   * From `firstHour` on, oldest first, without hours in which nothing happened; those of other replicas may be ten
   * seconds old. Throws `overloaded` when the database is away.
   */
  since(firstHour: number): Promise<readonly CacheHour[]>
}
