/** Which deployments rest: after a rate limit or refused credentials at once, after other failures in a row. */
import { LRUCache } from 'lru-cache'
import type { Deployment } from '../core/deployment.ts'
import type { GatewayError } from '../core/errors.ts'
import type { RouterSettings } from '../core/settings.ts'
import type { Clock } from '../lib/clock.ts'

const restMsMax = 60_000

interface Health {
  readonly deployment: Deployment
  failsInARow: number
  restsUntilMs: number
  rateLimited: boolean
}

/** A deployment that has just begun to rest, for the operator. */
export interface Rest {
  readonly deployment: Deployment
  readonly restMs: number
  readonly failsInARow: number
  /** The last of the failures. */
  readonly error: GatewayError
}

/**
 * Of this process alone. A rest is as long as the upstream asks for, else as the settings say, and a minute at most.
 */
export class Cooldowns {
  readonly #clock: Clock
  readonly #report: (rest: Rest) => void
  /** By deployment and upstream model: a wildcard is many models. Only those that failed are here. */
  readonly #health = new LRUCache<string, Health>({ max: 10_000 })

  constructor(clock: Clock, report: (rest: Rest) => void = () => {}) {
    this.#clock = clock
    this.#report = report
  }

  /** Those that rest now. */
  resting(): Deployment[] {
    return [...this.#health.values()]
      .filter(health => health.restsUntilMs > this.#clock.monotonicMs())
      .map(health => health.deployment)
  }

  succeeded(deployment: Deployment): void {
    if (this.#health.size > 0) this.#health.delete(keyOf(deployment))
  }

  /** Counts the failure. Told to `report` when a rest begins with it, not when one becomes longer. */
  failed(deployment: Deployment, error: GatewayError, settings: RouterSettings): void {
    const nowMs = this.#clock.monotonicMs()
    const before = this.#health.get(keyOf(deployment))
    const failsInARow = (before?.failsInARow ?? 0) + 1
    const atOnce = error.kind === 'upstream-rate-limited' || error.kind === 'upstream-credentials'
    const rests = atOnce || failsInARow >= settings.allowedFails
    const restMs = Math.min(error.retryAfterMs ?? settings.cooldownMs, restMsMax)
    this.#health.set(keyOf(deployment), {
      deployment,
      failsInARow,
      restsUntilMs: rests ? nowMs + restMs : (before?.restsUntilMs ?? 0),
      rateLimited: error.kind === 'upstream-rate-limited',
    })
    if (rests && (before?.restsUntilMs ?? 0) <= nowMs) this.#report({ deployment, restMs, failsInARow, error })
  }

  /** Milliseconds it still rests; 0 = available. */
  restMs(deployment: Deployment): number {
    const health = this.#health.get(keyOf(deployment))
    return health ? Math.max(health.restsUntilMs - this.#clock.monotonicMs(), 0) : 0
  }

  /** It rests by the word of its provider: it is not chosen even where all others rest too. */
  isRateLimited(deployment: Deployment): boolean {
    return this.#health.get(keyOf(deployment))?.rateLimited === true && this.restMs(deployment) > 0
  }
}

function keyOf(deployment: Deployment): string {
  return `${deployment.id} ${deployment.target.model}`
}
