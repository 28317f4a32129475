/** Where time comes from. Durations use `monotonicMs`, so a clock that jumps never makes one negative. */
export interface Clock {
  /** Milliseconds since 1970; may jump. For records and expiry dates. */
  epochMs(): number
  /** Milliseconds since some fixed moment; never goes back. For durations and windows. */
  monotonicMs(): number
}

/** The machine's own; tests bring one that they can set. */
export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
