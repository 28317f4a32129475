/** What replicas say to each other of troubles that all of them see, so that one alone tells the operator. */

/** Rejects where neither replica knows of the other: both tell then. Implemented by `store/health`. */
export interface TroubleClaims {
  /** This replica has the trouble, too. true = no other one has told of it: this one does. */
  began(trouble: string): Promise<boolean>
  /** It still has it. To be called at least every 30 s: one that does not counts as dead after a minute. */
  lasts(trouble: string): Promise<void>
  /** This replica is well again. true = it is the last one, and tells of the end. */
  ended(trouble: string): Promise<boolean>
  close(): void
}
