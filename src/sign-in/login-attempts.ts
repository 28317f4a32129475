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
import { AttemptLimit, clientNetwork } from '../lib/attempt-limit.ts'
import type { Turn } from '../core/sign-in.ts'
import type { Clock } from '../lib/clock.ts'

/** Entries of each kind: a few MB at most, however many addresses and names are tried. */
const namesMax = 20_000
const pairMax = 5
const addressMax = 30

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
  | {
      readonly admitted: true
      /** Of those who wait for their password to be checked, who comes first. */
      readonly turn: Turn
      succeeded(): void
    }
  | { readonly admitted: false; readonly retryAfterMs: number; readonly isFirst: boolean }

/** `level` = so many tries have to be left. */
type Wanted = readonly [limit: AttemptLimit, name: string, level: number]

/** One for the process; each replica counts by itself. */
export class LoginAttempts {
  readonly #address: AttemptLimit
  readonly #pair: AttemptLimit
  readonly #account: AttemptLimit
  readonly #device: AttemptLimit

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#address = new AttemptLimit({ max: addressMax, refillMs: 10_000, namesMax, clock })
    this.#pair = new AttemptLimit({ max: pairMax, refillMs: 30_000, namesMax, clock })
    this.#account = new AttemptLimit({ max: 50, refillMs: 60_000, namesMax, clock })
    this.#device = new AttemptLimit({ max: 10, refillMs: 30_000, namesMax, clock })
  }

  /** Counts the try as a failure until it has succeeded, so that many at once are not more than one after another. */
  admit({ account, address, device }: Attempt): Admission {
    if (device !== undefined) return taken([[this.#device, `${device} ${account}`, 1]], 'known-browser')
    const network = clientNetwork(address)
    const turn = this.#address.waitMs(network, addressMax) === 0 ? 'first-try' : 'other'
    const ofAddress: Wanted = [this.#address, network, 1]
    if (account === undefined) return taken([ofAddress], turn)
    const isAttacked = this.#account.waitMs(account) > 0
    const wanted: Wanted = [this.#pair, `${network} ${account}`, isAttacked ? pairMax : 1]
    const admission = taken([ofAddress, wanted], turn)
    if (!admission.admitted || isAttacked) return admission
    this.#account.take(account)
    return {
      admitted: true,
      turn,
      succeeded: () => {
        this.#account.giveBack(account)
        admission.succeeded()
      },
    }
  }
}

/** Takes a try from each bucket, or none where one does not hold its level. */
function taken(wanted: readonly Wanted[], turn: Turn): Admission {
  let retryAfterMs = 0
  let isFirst = false
  for (const [limit, name, level] of wanted) {
    const waitMs = limit.waitMs(name, level)
    if (waitMs === 0) continue
    retryAfterMs = Math.max(retryAfterMs, waitMs)
    if (limit.tellsFirst(name)) isFirst = true
  }
  if (retryAfterMs > 0) return { admitted: false, retryAfterMs, isFirst }
  for (const [limit, name] of wanted) limit.take(name)
  return {
    admitted: true,
    turn,
    succeeded() {
      for (const [limit, name] of wanted) limit.giveBack(name)
    },
  }
}
