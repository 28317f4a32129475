/**
 * How often a password may be tried. Failures are counted by buckets that fill again with time:
 *
 * - of one address (an IPv6 network of 64 bits): 30, one more every 10 seconds;
 * - of one address for one account: 5, one more every 30 seconds;
 * - of one account from everywhere: 50, one more every minute. When they are used up the account is not locked: each
 *   address that has not failed lately still has one try.
 *
 * A browser that has signed in to the account before has a bucket of its own, apart from others at its address (device
 * cookies: owasp.org, "Slow Down Online Guessing Attacks with Device Cookies"). An address that has, as far as this
 * process remembers, is not bound to the third bucket.
 */
import { LRUCache } from 'lru-cache'
import { AttemptLimit, clientNetwork } from '../lib/attempt-limit.ts'
import { entryLimit } from '../lib/entry-limit.ts'
import type { Turn } from '../core/sign-in/sign-in.ts'
import type { Clock } from '../lib/clock.ts'

/** Entries of each kind: a few MB at most, however many addresses and names are tried. */
const namesMax = 20_000
const pairMax = 5
const addressMax = 30
/** A little less than clients are asked to wait (`password-queue.ts`): their clocks differ. */
const comeAgainMs = 4000

/** An attempt to sign in: who tries, and from where. */
export interface LoginAttempt {
  /** As it was typed; undefined = a link is tried, which names none and cannot be guessed. */
  readonly account: string | undefined
  /** Of the client. */
  readonly address: string
  /** Names the browser when it has signed in to the account before. */
  readonly device: string | undefined
}

/** A try that was taken. */
export interface AdmittedAttempt {
  readonly admitted: true
  /** Of those who wait for their password to be checked, who comes first. */
  readonly turn: Turn
  readonly network: string
  /** It was right: gives the try back, and notes who it was. */
  succeeded(): void
  /** The password could not be checked: gives the try back, and lets the network go before others next time. */
  notChecked(): void
}

/** `isFirst` = the first refusal since the limit was reached. */
export type Admission =
  | AdmittedAttempt
  | { readonly admitted: false; readonly retryAfterMs: number; readonly isFirst: boolean }

/** `level` = so many tries have to be left. */
type AttemptCharge = readonly [limit: AttemptLimit, name: string, level: number]

/** One for the process; each replica counts by itself. */
export class LoginAttempts {
  readonly #address: AttemptLimit
  readonly #pair: AttemptLimit
  readonly #account: AttemptLimit
  readonly #device: AttemptLimit
  /** Network and account of sign-ins. */
  readonly #known = new LRUCache<string, true>(entryLimit(namesMax))
  /** Networks whose password was not checked, for want of time, and since when they may come again. */
  readonly #toldToComeAgain = new LRUCache<string, number>(entryLimit(namesMax))
  readonly #clock: Pick<Clock, 'monotonicMs'>

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
    this.#address = new AttemptLimit({ max: addressMax, refillMs: 10_000, namesMax, clock })
    this.#pair = new AttemptLimit({ max: pairMax, refillMs: 30_000, namesMax, clock })
    this.#account = new AttemptLimit({ max: 50, refillMs: 60_000, namesMax, clock })
    this.#device = new AttemptLimit({ max: 10, refillMs: 30_000, namesMax, clock })
  }

  /** Counts the try as a failure until it has succeeded, so that many at once are not more than one after another. */
  admit({ account, address, device }: LoginAttempt): Admission {
    const network = clientNetwork(address)
    const pair = `${network} ${account}`
    const isKnown = device !== undefined || (account !== undefined && this.#known.has(pair))
    const wanted = this.#wanted({ account, network, pair, device, isKnown })
    const turn = isKnown ? 'known' : this.#turnOf(network)
    const refusal = refusalOf(wanted)
    if (refusal) return refusal
    for (const [limit, name] of wanted) limit.take(name)
    const giveBack = () => {
      for (const [limit, name] of wanted) limit.giveBack(name)
    }
    this.#toldToComeAgain.delete(network)
    return {
      admitted: true,
      turn,
      network,
      succeeded: () => {
        giveBack()
        if (account !== undefined) this.#known.set(pair, true)
      },
      notChecked: () => {
        giveBack()
        this.#toldToComeAgain.set(network, this.#clock.monotonicMs() + comeAgainMs)
      },
    }
  }

  #wanted(
    of: Omit<LoginAttempt, 'address'> & { network: string; pair: string; isKnown: boolean },
  ): readonly AttemptCharge[] {
    const { account, network, pair, device, isKnown } = of
    if (device !== undefined) return [[this.#device, `${device} ${account}`, 1]]
    const ofAddress: AttemptCharge = [this.#address, network, 1]
    if (account === undefined) return [ofAddress]
    if (isKnown) return [ofAddress, [this.#pair, pair, 1]]
    if (this.#account.waitMs(account) > 0) return [ofAddress, [this.#pair, pair, pairMax]]
    return [ofAddress, [this.#pair, pair, 1], [this.#account, account, 1]]
  }

  #turnOf(network: string): Turn {
    if ((this.#toldToComeAgain.get(network) ?? Infinity) <= this.#clock.monotonicMs()) return 'returning'
    return this.#address.waitMs(network, addressMax) === 0 ? 'first-try' : 'other'
  }
}

/** undefined = each bucket holds its level. */
function refusalOf(wanted: readonly AttemptCharge[]): Extract<Admission, { admitted: false }> | undefined {
  let retryAfterMs = 0
  let isFirst = false
  for (const [limit, name, level] of wanted) {
    const waitMs = limit.waitMs(name, level)
    if (waitMs === 0) continue
    retryAfterMs = Math.max(retryAfterMs, waitMs)
    if (limit.tellsFirst(name)) isFirst = true
  }
  return retryAfterMs > 0 ? { admitted: false, retryAfterMs, isFirst } : undefined
}
