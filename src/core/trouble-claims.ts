/** How replicas agree on troubles that all of them see, so that one alone reports them to the operator. */

/** A trouble that was reported to the operator. */
export interface ReportedTrouble {
  readonly trouble: string
  /** Milliseconds since 1970. */
  readonly sinceMs: number
}

/** Rejects where neither replica knows of the other: both report then. Implemented by `store/health`. */
export interface TroubleClaims {
  /** This replica has the trouble, too. true = no other one has reported it: this one does. */
  began(reported: ReportedTrouble): Promise<boolean>
  /** It still has it. To be called at least every 30 s: one that does not counts as dead after a minute. */
  lasts(trouble: string): Promise<void>
  /** This replica is well again. true = it is the last one, and reports the end. */
  ended(trouble: string): Promise<boolean>
  /** What was reported, and no living replica has any more: the first that takes it reports its end. Never rejects. */
  takeLeft(): Promise<readonly ReportedTrouble[]>
  close(): void
}
