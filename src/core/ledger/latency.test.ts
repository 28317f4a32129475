import { expect, test } from 'bun:test'
import { latencyBucketOf, latencyBuckets, latencyEdgesMs, latencyErrorShare, latencyPercentile } from './latency.ts'

test('an edge belongs to the bucket above it, and everything has a bucket', () => {
  expect(latencyEdgesMs.slice(0, 4)).toEqual([1, 1.26, 1.587, 2])
  for (const [at, edge] of latencyEdgesMs.entries())
    expect([latencyBucketOf(edge - 0.0001), latencyBucketOf(edge)]).toEqual([at, at + 1])
  expect([-5, 0, 1e12].map(latencyBucketOf)).toEqual([0, 0, latencyBuckets - 1])
})

test('a percentile is off by no more than the share that is promised, for times of every size', () => {
  expect(latencyErrorShare).toBeLessThan(0.123)
  for (const spread of [0.01, 1, 3, 7])
    for (let round = 0; round < 50; round++) {
      const times = Array.from({ length: 1 + round * 7 }, () => 2 ** (round / 10 + Math.random() * spread)).map(
        ms => Math.round(ms * 1000) / 1000,
      )
      const counts = new Array<number>(latencyBuckets).fill(0)
      for (const ms of times) counts[latencyBucketOf(ms)]!++
      times.sort((a, b) => a - b)
      for (const share of [0.5, 0.95, 0.99, 1]) {
        const exact = times[Math.ceil(times.length * share) - 1]!
        const off = Math.abs(latencyPercentile(counts, share)! - exact) / exact
        // The figure has three digits.
        expect(off).toBeLessThan(latencyErrorShare + 0.006)
      }
    }
})

test('of no calls there is no percentile', () => {
  expect(latencyPercentile([], 0.5)).toBeNull()
  expect(latencyPercentile(new Array<number>(latencyBuckets).fill(0), 0.95)).toBeNull()
})
