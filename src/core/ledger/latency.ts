/**
 * How long calls took, as counts in fixed buckets: counts of any hours, models and deployments can be added, and a
 * percentile of the sum is read without looking at a call. Implemented by `store/ledger/sums/latency-query.ts`.
 */

/** Each bucket is a third of an octave wide: its upper edge is 1.26 times the lower one. */
const bucketsPerOctave = 3
/** From 1 ms to 44 minutes. */
const edgeCount = 65

/** Lower edges of the buckets after the first, in milliseconds with three decimals, ascending. */
export const latencyEdgesMs: readonly number[] = Array.from(
  { length: edgeCount },
  (_, at) => Math.round(2 ** (at / bucketsPerOctave) * 1000) / 1000,
)
/** The first has what is below 1 ms, the last what is 44 minutes or longer. */
export const latencyBuckets = edgeCount + 1

/**
 * By which share of itself a percentile may be wrong, between 1 ms and 44 minutes: it is the middle of its bucket (the
 * geometric mean of the edges), from which each edge is half a bucket away.
 */
export const latencyErrorShare = 2 ** (1 / (2 * bucketsPerOctave)) - 1

/** The bucket of a time. */
export function latencyBucketOf(ms: number): number {
  let [low, high] = [0, edgeCount]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (latencyEdgesMs[middle]! <= ms) low = middle + 1
    else high = middle
  }
  return low
}

/** The time within which this share of the counted calls ended (nearest rank), in milliseconds; null = none counted. */
export function latencyPercentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = Math.max(1, Math.ceil(total * share))
  const bucket = counts.findIndex(count => (left -= count) <= 0)
  return middleMs[bucket]!
}

/** Rounded to three digits: more are not known. */
const middleMs = Array.from({ length: latencyBuckets }, (_, bucket) => {
  if (bucket === 0) return 0.5
  return Number((2 ** ((bucket - 0.5) / bucketsPerOctave)).toPrecision(3))
})

/** What is counted: until the end of the answer, or of a streamed one until its first byte. */
export type LatencyMeasure = 'total' | 'first_byte'

/** By what counts can be grouped. `start` is the hour or day. */
export type LatencyField = 'start' | 'model' | 'deployment_id'

/** Hours or days are counted since 1970-01-01 in UTC, both included. */
export interface LatencyQuery {
  readonly unit: 'hour' | 'day'
  readonly first: number
  readonly last: number
  readonly groups: readonly LatencyField[]
}

/** The counts of one group and measure; fields that it is not grouped by are 0 and empty. */
export interface LatencyGroup {
  readonly start: number
  readonly model: string
  readonly deploymentId: string
  readonly measure: LatencyMeasure
  /** One for each bucket. */
  readonly counts: readonly number[]
}
