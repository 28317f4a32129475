/** Calls as they end, on every replica, for pages that follow the ledger. Implemented by `store/ledger/tail`. */
import type { LedgerRow } from './ledger-columns.ts'
import type { LedgerQuery } from './ledger.ts'

/** Which rows a follower gets. */
export type FollowedRows = Omit<LedgerQuery, 'limit' | 'cursor'>

/** What is new. Followers that get the same at one moment get one object. */
export interface TailPiece {
  /** Those of the follower, oldest first. */
  readonly rows: readonly LedgerRow[]
  /** Names the place behind the rows: a follower that comes back with it goes on there. */
  readonly position: string
  /** Rows may be missing before these: the ledger has to be read. */
  readonly hasGap: boolean
}

/** One that follows the ledger. */
export interface TailFollower {
  /** Whose it is: the id of a key. Each owner has a few. */
  readonly owner: string
  /** Asked anew for each piece. */
  rows(): FollowedRows
  /** Called a few times a second while there is something new; must not throw. */
  piece(piece: TailPiece): void
  /** The gateway stops: nothing comes any more. Must not throw. */
  ended(): void
}

/** Costs the path of a call one comparison while nothing follows. */
export interface LedgerTail {
  /**
   * Follows from now on, or from `position` on while that is still known. The first piece has a gap where it is not,
   * or none was given; it comes when the other replicas report their calls. Returns the function that ends it. Throws
   * `rate-limited` where the owner has too many, `overloaded` where this process has, or stops.
   */
  follow(follower: TailFollower, position?: string): () => void
  /** Ends all followers; no further ones are taken. */
  close(): void
}
