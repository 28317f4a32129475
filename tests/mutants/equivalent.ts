/** Mutants that change nothing which a caller could see, each with the reason; `npm run mutants` leaves them out. */
export const equivalents: readonly {
  readonly file: string
  /** The source line, without its indentation. */
  readonly code: string
  readonly change: string
  readonly reason: string
}[] = [
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'costNanoUsdMax = cost === null || costNanoUsdMax === null ? null : cost > costNanoUsdMax ? cost : costNanoUsdMax',
    change: '> -> >=',
    reason: 'of two equal costs either is the higher one',
  },
  {
    file: 'src/pricing/cost-bounds.ts',
    code: 'if (highest === null || cost > highest) highest = cost',
    change: '> -> >=',
    reason: 'of two equal costs either is the higher one',
  },
  {
    file: 'src/pipeline/settlement/usage.ts',
    code: 'if (others.length === 0) return first',
    change: 'if (others.length === 0) never',
    reason: 'the sum of one is that one; the line saves a copy',
  },
  {
    file: 'src/pipeline/settlement/served-tier.ts',
    code: 'if (!variant) return false',
    change: 'return false emptied',
    reason: 'undefined is no discount either',
  },
  {
    file: 'src/pipeline/settlement/served-tier.ts',
    code: 'if (serviceTier === served?.serviceTier && speed === served?.speed && region === served?.region) return usage',
    change: 'if (serviceTier === served?.serviceTier && speed === served?.speed && region === served?.region) never',
    reason: 'the copy has the same values',
  },
  {
    file: 'src/core/dialects/call-signature.ts',
    code: 'if (!bytes.includes(needle)) return body',
    change: 'if (!bytes.includes(needle)) never',
    reason: 'without the needle nothing is changed; the line saves the reading',
  },
]
