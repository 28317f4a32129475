/**
 * Calls as they end, for those who follow the ledger: held in memory for a moment, and given to the followers of all
 * replicas in pieces. While nothing follows, no row is kept.
 */
import { randomBytes } from 'node:crypto'
import { GatewayError } from '../../../core/errors.ts'
import type { LedgerRow } from '../../../core/ledger/ledger-columns.ts'
import type { LedgerTail, TailFollower, TailPiece } from '../../../core/ledger/ledger-tail.ts'
import { isFollowed } from './tail-match.ts'

/** Rows are given away so often. */
const pieceMs = 250
/** Of one piece, for one follower: a page shows no more. Older ones are left out, which is a gap. */
const pieceRowsMax = 100
/** Between two pieces, of all replicas: some two megabytes. */
const waitingMax = 1000
/** Kept for followers that come back. */
const keptMax = 2000
/** After the last follower has left. */
const keptMs = 60_000
const followersMax = 200
const ownFollowersMax = 10

/** The way to other replicas. */
export interface TailExchange {
  /**
   * Begins to receive what other replicas settle; `received(null)` = something may be missing. Resolves when they all
   * send.
   */
  open(received: (rows: readonly LedgerRow[] | null) => void): Promise<void>
  close(): void
  /** Another replica follows. */
  readonly hasFollowers: boolean
  send(rows: readonly LedgerRow[]): void
}

interface Subscription {
  readonly follower: TailFollower
  /** The number of the last row that it was given. */
  at: number
  hasGap: boolean
}

interface NumberedRow {
  readonly number: number
  readonly row: LedgerRow
}

/** Of one moment, at which the position is the same. */
const isSame = (one: TailPiece, other: TailPiece): boolean =>
  one.hasGap === other.hasGap &&
  one.rows.length === other.rows.length &&
  one.rows.every((row, at) => row === other.rows[at])

/** `settled` is called with each call of this process. */
export class MemoryTail implements LedgerTail {
  readonly #exchange: TailExchange | undefined
  /** Positions of another process, or of an earlier time of this one, mean nothing. */
  #name = ''
  #followers = new Set<Subscription>()
  /** Rows of this process that no follower was given and no other replica was sent. */
  #own: LedgerRow[] = []
  #kept: NumberedRow[] = []
  #number = 0
  #isOpen = false
  #isComplete = false
  #waits = false
  #isClosed = false
  #closeTimer: ReturnType<typeof setTimeout> | undefined

  constructor(exchange?: TailExchange) {
    this.#exchange = exchange
  }

  settled(row: LedgerRow): void {
    if (!this.#isOpen && !this.#exchange?.hasFollowers) return
    this.#own.push(row)
    if (this.#own.length > waitingMax) this.#leaveOut()
    this.#waitForPiece()
  }

  follow(follower: TailFollower, position = ''): () => void {
    if (this.#isClosed) throw new GatewayError('overloaded', 'the gateway is stopping; try again')
    const own = [...this.#followers].filter(one => one.follower.owner === follower.owner)
    if (own.length >= ownFollowersMax)
      throw new GatewayError(
        'rate-limited',
        `this key or session follows the ledger ${ownFollowersMax} times already, the limit; end one`,
        {
          retryAfterMs: 5000,
        },
      )
    if (this.#followers.size >= followersMax)
      throw new GatewayError('overloaded', `${followersMax} pages follow the ledger of this gateway, the limit`, {
        retryAfterMs: 5000,
      })
    clearTimeout(this.#closeTimer)
    if (!this.#isOpen) this.#open()
    const at = this.#numberOf(position)
    const following: Subscription = { follower, at: at ?? this.#number, hasGap: at === undefined }
    this.#followers.add(following)
    this.#waitForPiece()
    return () => this.#leave(following)
  }

  close(): void {
    this.#isClosed = true
    for (const { follower } of this.#followers) follower.ended()
    this.#followers.clear()
    this.#forget()
  }

  #forget(): void {
    clearTimeout(this.#closeTimer)
    this.#isOpen = false
    this.#exchange?.close()
    this.#kept = []
  }

  #open(): void {
    this.#isOpen = true
    this.#name = randomBytes(6).toString('hex')
    this.#isComplete = this.#exchange === undefined
    void this.#exchange
      ?.open(rows => {
        if (!this.#isOpen) return
        if (rows === null) for (const one of this.#followers) one.hasGap = true
        else this.#keep(rows)
        this.#waitForPiece()
      })
      .then(() => {
        this.#isComplete = true
        this.#waitForPiece()
      })
  }

  #leave(following: Subscription): void {
    if (!this.#followers.delete(following) || this.#followers.size > 0) return
    this.#closeTimer = setTimeout(() => this.#forget(), keptMs)
    this.#closeTimer.unref()
  }

  /** The number of the row that a position names; undefined = what came after it is not known any more. */
  #numberOf(position: string): number | undefined {
    const [name, number] = position.split('-')
    const at = Number(number)
    const first = this.#kept[0]?.number ?? this.#number + 1
    return name === this.#name && /^\d+$/.test(number ?? '') && at >= first - 1 && at <= this.#number ? at : undefined
  }

  #leaveOut(): void {
    this.#own = this.#own.slice(-waitingMax / 2)
    for (const one of this.#followers) one.hasGap = true
  }

  #keep(rows: readonly LedgerRow[]): void {
    for (const row of rows) this.#kept.push({ number: ++this.#number, row })
    if (this.#kept.length > keptMax + waitingMax) this.#kept = this.#kept.slice(-keptMax)
  }

  #waitForPiece(): void {
    if (this.#waits) return
    this.#waits = true
    setTimeout(() => {
      this.#waits = false
      this.#giveAway()
    }, pieceMs).unref()
  }

  #giveAway(): void {
    const own = this.#own
    this.#own = []
    if (own.length > 0 && this.#exchange?.hasFollowers) this.#exchange.send(own)
    if (!this.#isOpen) return
    this.#keep(own)
    if (!this.#isComplete) return
    const given: TailPiece[] = []
    for (const following of this.#followers) this.#give(following, given)
  }

  /** `given` = pieces that other followers have got in this round: equal ones are shared. */
  #give(following: Subscription, given: TailPiece[]): void {
    const { follower, at } = following
    const first = this.#kept[0]?.number ?? this.#number + 1
    const query = follower.rows()
    const fresh = this.#kept.slice(Math.max(0, at + 1 - first)).map(one => one.row)
    const found = fresh.filter(row => isFollowed(row, query))
    const hasGap = following.hasGap || at + 1 < first || found.length > pieceRowsMax
    following.at = this.#number
    following.hasGap = false
    if (found.length === 0 && !hasGap) return
    const piece = { rows: found.slice(-pieceRowsMax), position: `${this.#name}-${this.#number}`, hasGap }
    const same = given.find(one => isSame(one, piece))
    if (!same) given.push(piece)
    follower.piece(same ?? piece)
  }
}
