/** The requests and tokens a minute that deployments take (`rpm_limit`, `tpm_limit`), shared with other replicas. */
import { LRUCache } from 'lru-cache'
import type { Call } from '../../core/call.ts'
import type { Deployment, DeploymentRateLimits } from '../../core/deployment.ts'
import type { Limiter, LimitReservation, LimitScope, LimitVerdict } from '../../core/tenancy/limits.ts'
import type { Clock } from '../../lib/clock.ts'
import { entryLimit } from '../../lib/entry-limit.ts'
import { tokensOfAttempt } from '../settlement/usage-estimate.ts'
import type { AttemptAt } from './cooldown.ts'

/** A refusal of the limiter, which holds for calls of at least as many tokens. */
interface Full {
  /** A reload of the configuration may have changed them since. */
  readonly limits: DeploymentRateLimits
  readonly tokens: number
  /** On the monotonic clock. */
  readonly untilMs: number
}

interface Held {
  readonly reservation: LimitReservation
  /** The tokens in it. */
  readonly tokens: number
}

/**
 * Counts the attempts at deployments with limits, and remembers which are full, so that calls are not sent to ask again
 * and again. Where the limiter does not know, the upstream's own limits decide.
 */
export class DeploymentLimits {
  readonly #limiter: Pick<Limiter, 'take'>
  readonly #clock: Clock
  readonly #full = new LRUCache<string, Full>(entryLimit(10_000))
  readonly #held = new Map<AttemptAt, Held>()

  constructor(limiter: Pick<Limiter, 'take'>, clock: Clock) {
    this.#limiter = limiter
    this.#clock = clock
  }

  /** Milliseconds until it may have room for the call; 0 = it may have it now. */
  waitMs({ id, rateLimits }: Deployment, call: Call): number {
    if (!rateLimits || this.#full.size === 0) return 0
    const full = this.#full.get(id)
    if (!full || full.limits !== rateLimits || neededTokens(rateLimits, call) < full.tokens) return 0
    return Math.max(full.untilMs - this.#clock.monotonicMs(), 0)
  }

  /**
   * Takes a request and the input tokens of the call; false = there is no room. With true, `ended` is to be called at
   * the end of the attempt. A promise only where other replicas have to be asked.
   */
  take(
    deployment: Deployment,
    limits: DeploymentRateLimits,
    attempt: AttemptAt,
    call: Call,
  ): boolean | Promise<boolean> {
    const { requestsPerMinute, tokensPerMinute } = limits
    const scope: LimitScope = {
      id: `deployment:${deployment.id}`,
      requestsPerMinute,
      tokensPerMinute,
      parallelRequests: null,
    }
    const tokens = neededTokens(limits, call)
    const decide = (verdict: LimitVerdict): boolean => {
      if (verdict.allowed) {
        this.#held.set(attempt, { reservation: verdict, tokens })
        return true
      }
      const untilMs = this.#clock.monotonicMs() + verdict.retryAfterMs
      this.#full.set(deployment.id, { limits, tokens: verdict.kind === 'tokens' ? tokens : 0, untilMs })
      return false
    }
    try {
      const verdict = this.#limiter.take([scope], tokens)
      return verdict instanceof Promise ? verdict.then(decide, () => true) : decide(verdict)
    } catch {
      return true
    }
  }

  /**
   * The attempt is over: its tokens become those that it has used; `call` undefined = nothing was sent. Before the call
   * begins a next one.
   */
  ended(attempt: AttemptAt, call: Call | undefined): void {
    const held = this.#held.size === 0 ? undefined : this.#held.get(attempt)
    if (!held) return
    this.#held.delete(attempt)
    held.reservation.release(call ? tokensOfAttempt(call, held.tokens) : 0)
  }
}

const neededTokens = ({ tokensPerMinute }: DeploymentRateLimits, call: Call): number =>
  tokensPerMinute === null ? 0 : call.estimatedInputTokens()
