/** The words, times and bounds of the exchange between replicas and what they share limits over. */

/** What a counter counts: requests or tokens of a minute, calls at the same time, or money of a period. */
export type CounterKind = 'requests' | 'tokens' | 'parallel_requests' | 'budget'

type CounterState = readonly [CounterKind, number, number, number, number, number | string]

/**
 * A counter in an exchange: `[kind, limit, kept, wanted ahead, eager ms, running or '[age, amount, ...]']`; of money
 * also the process, what it has settled, what others have, as the database says: `[process, amount, ...]`, 0 = as told
 * before; the generation in which the database was read, 0 = it is not known to be new; and which database it was,
 * empty = it is not known.
 */
export type CounterReport =
  | CounterState
  | readonly [...CounterState, string, number, readonly (string | number)[] | 0, number, string]

/** A call that waits: `[first asked, counter, amount, counter, amount, ...]`; counters by their place, from 1. */
export type CallReport = readonly number[]

/** The part of a counter's key that says what it counts. */
export const counterMark = (kind: CounterKind): string => `:limit:${kind}:`

/** How long after its last answered exchange a replica may spend what it holds. */
export const spendMs = 10_000

/** Of the exchange itself, in Redis and between workers. */
export const exchangeTimes = {
  spendMs,
  /** The running calls of a replica count for so long after it was heard last: slots of a killed one are blocked. */
  slotLeaseMs: 45_000,
  /** A replica that was not heard for this long is not waited for. A living one is heard every second. */
  livingMs: 5000,
  /**
   * In a new generation nothing is granted for so long: all replicas report what they hold and spent. One that was
   * there is waited for until what it held cannot be spent any more, see `spendMs`.
   */
  settleMs: 2000,
  counterTtlMs: 180_000,
  /** Afterwards what was spent of a budget is read from the database again. */
  budgetTtlMs: 3_600_000,
  replicaTtlMs: 300_000,
  /** Longer than a replica can hold back an answer to a recall. */
  mailTtlMs: 60_000,
  mailLengthMax: 200,
} as const
