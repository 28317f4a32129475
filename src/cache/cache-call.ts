/** One call that takes part in the cache, and what its end needs. */
import type { Reply } from '../core/answer.ts'
import type { CacheControls, CacheSettings, SharedAnswers } from '../core/cache/cache-settings.ts'
import type { Call, CallInAdmission, Settlement } from '../core/call.ts'
import type { AnswerDialect } from '../core/dialects/answer-reader.ts'

/** Between two looks at an answer that another replica makes. */
export const pollMs = 40
/** One call that takes part in the cache. */
export interface CacheCall {
  readonly call: CallInAdmission
  readonly key: string
  readonly settings: CacheSettings
  readonly controls: CacheControls
  readonly dialect: AnswerDialect | undefined
  /** Set once it was compared by meaning: to be remembered with its answer. */
  meaning?: Meaning | undefined
}

/** What the call was compared by, where answers are also found by meaning. */
export interface Meaning {
  readonly partition: string
  readonly vector: Float32Array
  readonly facts: string
}

/** How the call that leads makes the shared answer. `owner` is empty where it holds no lock for the answer in Redis. */
export interface LeaderOptions {
  readonly shared: SharedAnswers | undefined
  readonly owner: string
  /** See `Leader`. */
  reshape?(reply: Reply): Reply
  /** Keeps what was answered in another way than as a whole. */
  keep?(settlement: Settlement): Promise<void> | undefined
}

/** A guardrail could not be asked and let the call pass: the next equal call is to be judged. */
export function lacksVerdict({ guardrailOutcomes = [] }: Call): boolean {
  return guardrailOutcomes.some(({ isUnanswered }) => isUnanswered)
}

/** Headers of an answer for which no upstream was called. */
export function markHit({ responseHeaders, models }: Call, ageMs: number): void {
  responseHeaders[`${models.settings.headerPrefix}-cache-hit`] = 'true'
  responseHeaders.age = String(Math.floor(ageMs / 1000))
}

/** How long its answer is kept, in milliseconds. */
export const ttlOf = ({ settings, controls }: CacheCall): number => controls.ttlMs ?? settings.ttlMs
