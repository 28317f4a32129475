/** What callers are charged beyond, or below, what the vendor charges. */

/** One discount and margin: both shares are millionths (50,000 = 5 %). */
export interface PriceAdjustment {
  readonly discountPpm: number
  readonly marginPpm: number
  /** Added to each call; nano-dollars. */
  readonly fixedNanoUsd: bigint
}

/** By the names of providers, and by the ids of whom the call belongs to. `global`: of providers without their own. */
export interface PriceAdjustmentSettings {
  readonly providers: Readonly<Record<string, PriceAdjustment>>
  readonly global: PriceAdjustment | undefined
  readonly organizations: Readonly<Record<string, PriceAdjustment>>
  readonly teams: Readonly<Record<string, PriceAdjustment>>
  readonly keys: Readonly<Record<string, PriceAdjustment>>
}
