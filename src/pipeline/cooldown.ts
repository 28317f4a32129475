/** Cooldowns of deployments: after one rate limit or refused credentials, or several other failures in a row. */
import { LRUCache } from 'lru-cache'
import type { Deployment } from '../core/deployment.ts'
import type { GatewayError } from '../core/errors.ts'
import type { RouterSettings } from '../core/settings.ts'
import type { Clock } from '../lib/clock.ts'

const cooldownMsMax = 60_000

interface Health {
  readonly deployment: Deployment
  failsInARow: number
  coolsUntilMs: number
  rateLimited: boolean
}

/** A cooldown that has just begun, for the operator. */
export interface Cooldown {
  readonly deployment: Deployment
  readonly cooldownMs: number
  readonly failsInARow: number
  /** The last of the failures. */
  readonly error: GatewayError
}

/**
 * Per process. A cooldown is as long as the upstream asks for, else as the settings say; a minute at most.
 */
export class Cooldowns {
  readonly #clock: Clock
  readonly #report: (cooldown: Cooldown) => void
  /** By deployment and upstream model: a wildcard stands for many models. Only those that failed are stored. */
  readonly #health = new LRUCache<string, Health>({ max: 10_000 })

  constructor(clock: Clock, report: (cooldown: Cooldown) => void = () => {}) {
    this.#clock = clock
    this.#report = report
  }

  /** The deployments in cooldown now. */
  coolingDown(): Deployment[] {
    return [...this.#health.values()]
      .filter(health => health.coolsUntilMs > this.#clock.monotonicMs())
      .map(health => health.deployment)
  }

  succeeded(deployment: Deployment): void {
    if (this.#health.size > 0) this.#health.delete(keyOf(deployment))
  }

  /** Counts the failure. `report` is called when a cooldown begins, not when one is extended. */
  failed(deployment: Deployment, error: GatewayError, settings: RouterSettings): void {
    const nowMs = this.#clock.monotonicMs()
    const before = this.#health.get(keyOf(deployment))
    const failsInARow = (before?.failsInARow ?? 0) + 1
    const atOnce = error.kind === 'upstream-rate-limited' || error.kind === 'upstream-credentials'
    const cools = atOnce || failsInARow >= settings.allowedFails
    const cooldownMs = Math.min(error.retryAfterMs ?? settings.cooldownMs, cooldownMsMax)
    this.#health.set(keyOf(deployment), {
      deployment,
      failsInARow,
      coolsUntilMs: cools ? nowMs + cooldownMs : (before?.coolsUntilMs ?? 0),
      rateLimited: error.kind === 'upstream-rate-limited',
    })
    if (cools && (before?.coolsUntilMs ?? 0) <= nowMs) this.#report({ deployment, cooldownMs, failsInARow, error })
  }

  /** Milliseconds until it is available; 0 = now. */
  remainingMs(deployment: Deployment): number {
    const health = this.#health.get(keyOf(deployment))
    return health ? Math.max(health.coolsUntilMs - this.#clock.monotonicMs(), 0) : 0
  }

  /** Its provider asked for the wait: it is not chosen even when all others are in cooldown. */
  isRateLimited(deployment: Deployment): boolean {
    return this.#health.get(keyOf(deployment))?.rateLimited === true && this.remainingMs(deployment) > 0
  }
}

function keyOf(deployment: Deployment): string {
  return `${deployment.id} ${deployment.target.model}`
}
