/** Several processes that serve one port from one start; see `docs/decisions/0130-workers-are-local-replicas.md`. */

/** A cooldown that has begun at one worker, for the others. */
export interface SharedCooldown {
  readonly deploymentId: string
  /** The upstream's model: a wildcard stands for many. */
  readonly model: string
  readonly cooldownMs: number
  /** Its provider asked for it. */
  readonly isRateLimited: boolean
}

/** What one worker knows of the others, and tells them. */
export interface WorkerLink {
  /** From 1; the first one starts alone, and the others when it serves. */
  readonly number: number
  readonly count: number
  /** Others of the same start have the port already. */
  readonly joinsOthers: boolean
  /** Of them, those that serve now. */
  serving(): number
  /** What workers share is kept by the process that started them: no Redis is configured. */
  readonly hasOwnStore: boolean
  /** No other gateway uses the database. */
  isOnlyReplica(): boolean
  /** Keys, tenants, models, or what else the database holds, have changed here. */
  changed(): void
  /** Calls it after each change at another worker. */
  onChanged(listener: () => void): void
  cooled(cooldown: SharedCooldown): void
  onCooled(listener: (cooldown: SharedCooldown) => void): void
  /** What this worker adds to the metrics of all. */
  serveMetrics(render: () => string): void
  /** The texts of all workers that answer in time, this one included. */
  metrics(): Promise<readonly string[]>
}
