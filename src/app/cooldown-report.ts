/** Who hears of a deployment that cools down: the log, and the other workers. */
import type { SharedCooldown, WorkerLink } from '../core/workers.ts'
import type { Cooldown } from '../pipeline/routing/cooldown.ts'
import type { LogFields, Logger } from '../telemetry/log.ts'

/** Is called once for each cooldown that begins here. */
export function reportCooldown(cooldown: Cooldown, logger: Logger, worker: WorkerLink | undefined): void {
  logger.warn('a deployment failed and cools down, others go first', cooldownFields(cooldown))
  worker?.cooled(sharedCooldown(cooldown))
}

function sharedCooldown({ deployment: { id, target }, cooldownMs, error }: Cooldown): SharedCooldown {
  const isRateLimited = error.kind === 'upstream-rate-limited'
  return { deploymentId: id, model: target.model, cooldownMs, isRateLimited }
}

function cooldownFields({ deployment, cooldownMs, failsInARow, error }: Cooldown): LogFields {
  return {
    deployment: deployment.id,
    model: deployment.modelName,
    provider: deployment.target.provider.name,
    cooldown_ms: cooldownMs,
    failures: failsInARow,
    error: error.kind,
    error_message: error.message,
  }
}
