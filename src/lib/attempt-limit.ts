/** Counts attempts by name, in bounded memory: buckets that fill again with time. */
import { LRUCache } from 'lru-cache'
import { entryLimit } from './entry-limit.ts'
import type { Clock } from './clock.ts'

/** `max` attempts of one name at once; after that one more every `refillMs`. */
export interface AttemptLimitOptions {
  readonly max: number
  /** How long one attempt takes to come back, in milliseconds. */
  readonly refillMs: number
  /** Names that are remembered; those that came last. */
  readonly namesMax: number
  readonly clock: Pick<Clock, 'monotonicMs'>
}

interface Bucket {
  /** Attempts that are left, at `atMs`. */
  level: number
  /** Monotonic. */
  atMs: number
  /** A refusal was reported since it had an attempt. */
  isReported: boolean
}

/** One bucket for each name. A name that was pushed out begins with a full one. */
export class AttemptLimit {
  readonly #options: AttemptLimitOptions
  readonly #buckets: LRUCache<string, Bucket>

  constructor(options: AttemptLimitOptions) {
    this.#options = options
    this.#buckets = new LRUCache(entryLimit(options.namesMax))
  }

  /** Counts one attempt. 0 = it is within the limit; else the milliseconds until there is room again. */
  take(name: string): number {
    const bucket = this.#bucket(name)
    const waitMs = this.#waitMs(bucket, 1)
    if (waitMs > 0) return waitMs
    bucket.level--
    bucket.isReported = false
    return 0
  }

  /** An attempt that was taken does not count after all. */
  giveBack(name: string): void {
    const bucket = this.#bucket(name)
    bucket.level = Math.min(this.#options.max, bucket.level + 1)
  }

  /** The milliseconds until `level` attempts are left; 0 = they are. Takes none. */
  waitMs(name: string, level = 1): number {
    return this.#waitMs(this.#bucket(name), level)
  }

  /** Notes that a refusal is reported. true = it is the first since the name had an attempt. */
  tellsFirst(name: string): boolean {
    const bucket = this.#bucket(name)
    if (bucket.isReported) return false
    bucket.isReported = true
    return true
  }

  #bucket(name: string): Bucket {
    const { max, refillMs, clock } = this.#options
    const nowMs = clock.monotonicMs()
    const known = this.#buckets.get(name)
    if (known) {
      known.level = Math.min(max, known.level + (nowMs - known.atMs) / refillMs)
      known.atMs = nowMs
      return known
    }
    const made = { level: max, atMs: nowMs, isReported: false }
    this.#buckets.set(name, made)
    return made
  }

  #waitMs({ level }: Bucket, wanted: number): number {
    return Math.max(0, (wanted - level) * this.#options.refillMs)
  }
}

const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** The name of a client in limits: of IPv6 the network of 64 bits, since one machine has all of its addresses. */
export function clientNetwork(address: string): string {
  const mapped = mappedIpv4.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [before = '', after = ''] = address.split('%', 1)[0]!.toLowerCase().split('::')
  const groups = before === '' ? [] : before.split(':')
  const rest = after === '' ? [] : after.split(':')
  const zeros = Array.from({ length: Math.max(8 - groups.length - rest.length, 0) }, () => '0')
  const network = [...groups, ...zeros, ...rest].slice(0, 4).map(group => group.replace(/^0+(?=.)/, ''))
  return `${network.join(':')}::/64`
}
