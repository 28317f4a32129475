/**
 * How often a password may be tried. Failures are counted by buckets that fill again with time:
 *
 * - of one address (an IPv6 network of 64 bits): 30, one more every 10 seconds;
 * - of one address for one account: 5, one more every 30 seconds;
 * - of one account from everywhere: 50, one more every minute. When they are used up the account is not locked: each
 *   address that has not failed lately still has one try.
 *
 * A browser that has signed in to the account before has a bucket of its own, apart from others at its address (device
 * cookies: owasp.org, "Slow Down Online Guessing Attacks with Device Cookies").
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../lib/clock.ts'

interface Bucket {
  /** Tries that are left, at `atMs`. */
  level: number
  /** Monotonic. */
  atMs: number
  /** A refusal was told since it had a try. */
  isTold: boolean
}

interface Limit {
  readonly capacity: number
  /** How long one try takes to come back. */
  readonly refillMs: number
}

const limits = {
  address: { capacity: 30, refillMs: 10_000 },
  pair: { capacity: 5, refillMs: 30_000 },
  account: { capacity: 50, refillMs: 60_000 },
  device: { capacity: 10, refillMs: 30_000 },
} satisfies Record<string, Limit>

/** Entries of each kind: a few MB at most, however many addresses and names are tried. */
const entriesMax = 20_000

/** Buckets of one kind by a name, those used last. */
class Buckets {
  readonly #limit: Limit
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #buckets = new LRUCache<string, Bucket>({ max: entriesMax })

  constructor(limit: Limit, clock: Pick<Clock, 'monotonicMs'>) {
    this.#limit = limit
    this.#clock = clock
  }

  of(name: string): Bucket {
    const { capacity, refillMs } = this.#limit
    const nowMs = this.#clock.monotonicMs()
    const known = this.#buckets.get(name)
    if (known) {
      known.level = Math.min(capacity, known.level + (nowMs - known.atMs) / refillMs)
      known.atMs = nowMs
      return known
    }
    const made = { level: capacity, atMs: nowMs, isTold: false }
    this.#buckets.set(name, made)
    return made
  }

  /** Until it holds `level`. */
  waitMs(bucket: Bucket, level: number): number {
    return Math.max(0, (level - bucket.level) * this.#limit.refillMs)
  }
}

/** Who tries. */
export interface Attempt {
  /** As it was typed; undefined = a link is tried, which names none and cannot be guessed. */
  readonly account: string | undefined
  /** Of the client. */
  readonly address: string
  /** Names the browser when it has signed in to the account before. */
  readonly device: string | undefined
}

/** `isFirst` = the first refusal since the limit was reached. */
export type Admission =
  | { readonly admitted: true; succeeded(): void }
  | { readonly admitted: false; readonly retryAfterMs: number; readonly isFirst: boolean }

/** One for the process; each replica counts by itself. */
export class AttemptLimits {
  readonly #address: Buckets
  readonly #pair: Buckets
  readonly #account: Buckets
  readonly #device: Buckets

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#address = new Buckets(limits.address, clock)
    this.#pair = new Buckets(limits.pair, clock)
    this.#account = new Buckets(limits.account, clock)
    this.#device = new Buckets(limits.device, clock)
  }

  /** Counts the try as a failure until it has succeeded, so that many at once are not more than one after another. */
  admit({ account, address, device }: Attempt): Admission {
    if (device !== undefined) return this.#take([[this.#device, this.#device.of(`${device} ${account}`), 1]])
    const network = networkOf(address)
    const ofAddress = [this.#address, this.#address.of(network), 1] as const
    if (account === undefined) return this.#take([ofAddress])
    const ofAccount = this.#account.of(account)
    const isAttacked = ofAccount.level < 1
    const admission = this.#take([
      ofAddress,
      [this.#pair, this.#pair.of(`${network} ${account}`), isAttacked ? limits.pair.capacity : 1],
    ])
    if (!admission.admitted || isAttacked) return admission
    ofAccount.level--
    return {
      admitted: true,
      succeeded() {
        ofAccount.level++
        admission.succeeded()
      },
    }
  }

  /** Takes a try from each bucket, or none where one does not hold its level. */
  #take(wanted: readonly (readonly [kind: Buckets, bucket: Bucket, level: number])[]): Admission {
    let retryAfterMs = 0
    let isFirst = false
    for (const [kind, bucket, level] of wanted) {
      const waitMs = kind.waitMs(bucket, level)
      if (waitMs === 0) continue
      retryAfterMs = Math.max(retryAfterMs, waitMs)
      isFirst ||= !bucket.isTold
      bucket.isTold = true
    }
    if (retryAfterMs > 0) return { admitted: false, retryAfterMs, isFirst }
    for (const [, bucket] of wanted) {
      bucket.level--
      bucket.isTold = false
    }
    return {
      admitted: true,
      succeeded() {
        for (const [, bucket] of wanted) bucket.level++
      },
    }
  }
}

/** The address, of IPv6 its network of 64 bits: a client has all of that. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped) return mapped[1]!
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const behind = tail === '' ? [] : tail.split(':')
    while (groups.length + behind.length < 8) groups.push('0')
    groups.push(...behind)
  }
  return groups
    .slice(0, 4)
    .map(group => (Number.parseInt(group, 16) || 0).toString(16))
    .join(':')
}
