/** The models of the configuration in use, by the names that calls may give. Implemented by `access/models`. */
import type { Deployment } from './deployment.ts'
import type { Caller } from './caller.ts'
import type { Settings } from './settings.ts'

/**
 * Resolves the names of models, under one set of settings. That of the configuration in use knows the models that
 * everybody shares; those of one team are found by `of` and `ofTeam` alone.
 */
export interface ModelDirectory {
  readonly settings: Settings
  /** The deployments that its names can lead to; those of the settings are all. */
  readonly deployments: readonly Deployment[]
  /** What the names mean to a caller: the models of its team stand before shared ones of the same name. */
  of(caller: Caller): ModelDirectory
  /** The same for a team; undefined or null = none. */
  ofTeam(teamId: string | null | undefined): ModelDirectory
  /** Public names without patterns, in order of the configuration, aliases last. */
  names(): readonly string[]
  /** Patterns such as `vendor/*`. */
  wildcardNames(): readonly string[]
  /**
   * The deployments behind a name, alias, deployment id or pattern; empty = no such model. Blocked ones are among them
   * only where all are.
   */
  resolve(name: string): readonly Deployment[]
  /** By its id. */
  isBlocked(deploymentId: string): boolean
  /** What a deployment of a model of the catalogue would be, for questions about it; never to be called. */
  readonly catalogued: (name: string) => Deployment | undefined
}

/** The configuration in use. A reload replaces both at once; the values themselves never change. */
export interface CurrentConfiguration {
  readonly settings: Settings
  readonly models: ModelDirectory
}
