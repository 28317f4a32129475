/** Where time comes from. Durations use `monotonicMs`, so a clock that jumps never makes one negative. */
export interface Clock {
  /** Milliseconds since 1970; may jump. For records and expiry dates. */
  epochMs(): number
  /** Milliseconds since some fixed moment; never goes back. For durations and windows. */
  monotonicMs(): number
}

/** Milliseconds of a minute. */
export const minuteMs = 60_000
/** Milliseconds of an hour. */
export const hourMs = 3_600_000
/** Milliseconds of a day of 24 hours. */
export const dayMs = 86_400_000

/** The machine's own; tests bring one that they can set. */
export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
