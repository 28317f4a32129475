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
}

const known = new WeakMap<Services, Limits>()

/** The limits of a gateway, counted since it started. */
export function attemptLimits(services: Services): Limits {
  let limits = known.get(services)
  if (!limits) known.set(services, (limits = newLimits(services)))
  return limits
}

function newLimits({ clock }: Services): Limits {
  const minuteMs = 60_000
  return {
    codes: new AttemptLimit({ max: 60, windowMs: minuteMs, namesMax: 10_000, clock }),
    tokens: new AttemptLimit({ max: 1200, windowMs: minuteMs, namesMax: 10_000, clock }),
    polls: new AttemptLimit({ max: 1, windowMs: pollIntervalMs - pollSlackMs, namesMax: 20_000, clock }),
    wrongCodes: new AttemptLimit({ max: 10, windowMs: 10 * minuteMs, namesMax: 10_000, clock }),
  }
}
