/** Options for the gateway itself in the body of a call; they are not sent upstream. */

import type { CacheControls } from './cache/cache-settings.ts'

/** Per call; absent = the router's setting. */
export interface RequestOverrides {
  /** Further attempts after the first; absent = the router's setting. */
  readonly retries?: number
  /** Models to try after the call's own, instead of those of the router; empty = none. */
  readonly fallbacks?: readonly string[]
  /** Model -> the model to try when a conversation is too long for it. */
  readonly contextFallbacks?: ReadonlyMap<string, string>
  /**
   * true = fields that the upstream lacks are dropped and reported; false = refused; absent = the deployment's setting.
   */
  readonly dropParams?: boolean
  /** The longest that one attempt may take; for a stream, until it begins. It only shortens what the operator set. */
  readonly timeoutMs?: number
  /** What the body says about the cache of answers; absent = nothing. */
  readonly cache?: CacheControls
  /** true = what is said is not to be stored. */
  readonly noLog?: true
  /** Guardrails that the client wants on top of those that hold anyway. */
  readonly guardrails?: readonly string[]
  /** Fields that the gateway does not implement: reported as dropped, or refused with those that the upstream lacks. */
  readonly unfulfilled: readonly string[]
}

/** A call that overrides nothing. */
export const noOverrides: RequestOverrides = Object.freeze({
  unfulfilled: Object.freeze([]),
})
