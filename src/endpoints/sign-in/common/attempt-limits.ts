/** How often programs and persons may try, for each gateway by itself. */
import type { Services } from '../../../core/endpoint.ts'
import { AttemptLimit } from '../../../lib/attempt-limit.ts'

/** Programs ask for their token in this interval (RFC 8628, 3.5), in milliseconds. */
export const pollIntervalMs = 5000
/** Networks differ: a program that waits its interval may come a little early. */
const pollSlackMs = 1000

interface Limits {
  /** New codes of one network; a company may sit behind one address. */
  readonly codes: AttemptLimit
  /** Requests for tokens of one network. */
  readonly tokens: AttemptLimit
  /** Questions about one code. */
  readonly polls: AttemptLimit
  /** Of one person: a code cannot be found by trying. */
  readonly wrongCodes: AttemptLimit
  /** Failed returns from an identity provider to one network: each may ask the provider and write to the database. */
  readonly returns: AttemptLimit
  /** Links for forgotten passwords that one network asks for. */
  readonly resets: AttemptLimit
  /** The same for one address, which would be flooded with mails. */
  readonly resetsOfAddress: AttemptLimit
  /** Links of invitations that were none, of one network. */
  readonly links: AttemptLimit
}

const known = new WeakMap<Services, Limits>()

/** The limits of a gateway, counted since it started. */
export function attemptLimits(services: Services): Limits {
  let limits = known.get(services)
  if (!limits) known.set(services, (limits = newLimits(services)))
  return limits
}

function newLimits({ clock }: Services): Limits {
  const of = (max: number, refillMs: number, namesMax = 10_000) => new AttemptLimit({ max, refillMs, namesMax, clock })
  return {
    codes: of(60, 1000),
    tokens: of(1200, 50),
    polls: of(1, pollIntervalMs - pollSlackMs, 20_000),
    wrongCodes: of(10, 60_000),
    returns: of(60, 1000),
    resets: of(20, 60_000),
    resetsOfAddress: of(3, 1_200_000),
    links: of(30, 10_000),
  }
}
