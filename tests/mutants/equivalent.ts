/** Mutants that change nothing which a caller could see, each with the reason; `npm run mutants` leaves them out. */
export const equivalents: readonly {
  readonly file: string
  /** The source line, without its indentation. */
  readonly code: string
  readonly change: string
  readonly reason: string
}[] = []
