/** What one request to an upstream cost. */

/** Where a cost comes from: usage and prices, what the upstream says, both (several requests), or it is not known. */
export type CostSource = 'prices' | 'upstream' | 'mixed' | 'none'

/** Nano-dollars, and where they come from; null = not known. */
export interface RequestCost {
  readonly nanoUsd: bigint | null
  readonly source: CostSource
}

/** What is not known. */
export const unknownCost: RequestCost = Object.freeze({ nanoUsd: null, source: 'none' })

/** When a request began and ended, in milliseconds since 1970. */
export interface RequestTimes {
  readonly atMs: number
  readonly endedAtMs: number
}
