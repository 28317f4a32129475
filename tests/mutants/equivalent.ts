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
]
