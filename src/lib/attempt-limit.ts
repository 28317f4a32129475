/** Counts attempts by name, in bounded memory. */
import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'

/** `max` attempts of one name in each window. */
export interface AttemptLimitOptions {
  readonly max: number
  readonly windowMs: number
  /** Names that are remembered; those that came last. */
  readonly namesMax: number
  readonly clock: Pick<Clock, 'monotonicMs'>
}

/** One window begins with the first attempt of a name, and the next with the first one after it. */
export class AttemptLimit {
  readonly #options: AttemptLimitOptions
  readonly #windows: LRUCache<string, { readonly endMs: number; count: number }>

  constructor(options: AttemptLimitOptions) {
    this.#options = options
    this.#windows = new LRUCache({ max: options.namesMax })
  }

  /** Counts one attempt. 0 = it is within the limit; else the milliseconds until there is room again. */
  take(name: string): number {
    const { max, windowMs, clock } = this.#options
    const nowMs = clock.monotonicMs()
    const known = this.#windows.get(name)
    if (!known || known.endMs <= nowMs) {
      this.#windows.set(name, { endMs: nowMs + windowMs, count: 1 })
      return 0
    }
    if (known.count >= max) return known.endMs - nowMs
    known.count++
    return 0
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
