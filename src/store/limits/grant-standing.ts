/** What a replica is for Redis: its id, the numbers of its exchanges, and whether it was answered lately. */
import type { Exchange } from './grant-script.ts'

/** Redis forgets a replica after minutes: without an answer for this time it goes on under a new id. */
const replicaIdMsMax = 60_000

/** What of an exchange says who asks. */
type Asking = Pick<Exchange, 'replica' | 'number' | 'standing' | 'answeredNumber'>

/** Of one replica. All times are monotonic milliseconds. */
export class ReplicaStanding {
  /** Begins the ids: which worker of a machine it is; empty = it is none. */
  readonly #prefix: string
  #replica: string
  #number = 0
  #answeredNumber = 0
  /** When the last exchange that was answered was sent. */
  answeredMs = -Infinity
  /** It has spent more than was granted, while Redis was away. */
  isOverspent = false
  isLeaving = false

  constructor(prefix = '') {
    this.#prefix = prefix
    this.#replica = newId(prefix)
  }

  get replica(): string {
    return this.#replica
  }

  /** Of the next exchange. */
  next(sentMs: number): Asking {
    if (sentMs - this.answeredMs > replicaIdMsMax && this.answeredMs > 0) this.#takeNewId()
    const known = this.isOverspent ? 'overspent' : this.answeredMs > 0 ? 'known' : 'new'
    const standing = this.isLeaving ? 'leaving' : known
    return { replica: this.#replica, number: ++this.#number, standing, answeredNumber: this.#answeredNumber }
  }

  answered({ replica, number, standing }: Asking, sentMs: number): void {
    if (standing === 'overspent') this.isOverspent = false
    this.answeredMs = Math.max(this.answeredMs, sentMs)
    if (replica === this.#replica) this.#answeredNumber = Math.max(this.#answeredNumber, number)
  }

  #takeNewId(): void {
    this.#replica = newId(this.#prefix)
    this.#number = 0
    this.#answeredNumber = 0
    this.answeredMs = -Infinity
  }
}

const newId = (prefix: string): string => `${prefix}${crypto.randomUUID()}`
