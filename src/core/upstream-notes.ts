/** What calls have shown of the upstreams lately: their rate limits, and what went wrong. Of this process alone. */
import type { FaultKind } from './errors.ts'

/** What a provider counts. */
export type RateLimitKind = 'requests' | 'tokens' | 'input_tokens' | 'output_tokens'

/** One limit of an account at its provider, as an answer's headers gave it. null = they did not. */
export interface UpstreamRateLimit {
  readonly kind: RateLimitKind
  readonly limit: number | null
  readonly remaining: number | null
  /** Milliseconds since 1970 when all of it is there again. */
  readonly resetsAtMs: number | null
}

/** A failure that was the deployment's. */
export interface UpstreamFailure {
  readonly atMs: number
  readonly kind: FaultKind
  readonly message: string
}

/** What is remembered of one deployment. */
export interface UpstreamNote {
  /** Of the last answer that had any; empty = none did. */
  readonly limits: readonly UpstreamRateLimit[]
  readonly limitsAtMs: number | null
  readonly failure: UpstreamFailure | null
}

/** A cooldown that holds now. */
export interface HeldCooldown {
  readonly deploymentId: string
  /** At the upstream: a pattern stands for many. */
  readonly model: string
  readonly remainingMs: number
}

/** Read by endpoints; written by the router. */
export interface UpstreamNotes {
  /** By the deployment's id; undefined = nothing is known. */
  noteOf(deploymentId: string): UpstreamNote | undefined
  cooldowns(): readonly HeldCooldown[]
}
