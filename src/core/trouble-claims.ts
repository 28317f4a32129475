/** What replicas say to each other of troubles that all of them see, so that one alone tells the operator. */

/** A trouble that was told. */
export interface ToldTrouble {
  readonly trouble: string
  /** Milliseconds since 1970. */
  readonly sinceMs: number
}

/** Rejects where neither replica knows of the other: both tell then. Implemented by `store/health`. */
export interface TroubleClaims {
  /** This replica has the trouble, too. true = no other one has told of it: this one does. */
  began(told: ToldTrouble): Promise<boolean>
  /** It still has it. To be called at least every 30 s: one that does not counts as dead after a minute. */
  lasts(trouble: string): Promise<void>
  /** This replica is well again. true = it is the last one, and tells of the end. */
  ended(trouble: string): Promise<boolean>
  /** What was told, and no living replica has any more: the replica that asks first tells of the end. Never rejects. */
  takeLeft(): Promise<readonly ToldTrouble[]>
  close(): void
}
