/** What a worker and the process that started it tell each other. */
import type { SharedCooldown } from '../../core/workers.ts'

/** The variable that makes a process a worker, as JSON of `WorkerPlace`. */
export const workerVariable = 'MODELGATE_WORKER'

/** Which worker a process is. */
export interface WorkerPlace {
  readonly number: number
  readonly count: number
  /** It is the first of this start, which tells the operator what is served. */
  readonly announces: boolean
  /** Where the process that started it keeps what workers share; absent = there is a Redis. */
  readonly sharedUrl?: string
  /** What that process was started with: one that is started anew does not take what the file has by then. */
  readonly started: StartedWith
}

/** Settings that take effect when the whole gateway starts, and never at one worker alone. */
export interface StartedWith {
  readonly databaseUrl: string
  readonly redisUrl?: string | undefined
  readonly masterKey?: string | undefined
}

/** Begins a worker's id among those who share limits. */
export const workerPrefix = (number: number): string => `worker-${number}-`

/** From a worker. */
export type FromWorker =
  | { readonly kind: 'serves'; readonly port: number }
  | { readonly kind: 'changed' }
  | { readonly kind: 'cooled'; readonly cooldown: SharedCooldown }
  /** It wants the metrics of all. */
  | { readonly kind: 'collect'; readonly id: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }

/** To a worker. */
export type ToWorker =
  | { readonly kind: 'changed' }
  | { readonly kind: 'cooled'; readonly cooldown: SharedCooldown }
  /** Another one wants its metrics. */
  | { readonly kind: 'render'; readonly id: number }
  | { readonly kind: 'collected'; readonly id: number; readonly texts: readonly string[] }
  /** Whether no other gateway uses the database, and how many workers serve now. */
  | { readonly kind: 'standing'; readonly isOnlyReplica: boolean; readonly serving: number }
