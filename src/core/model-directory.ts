/** The models of the configuration in use, by the names that calls may give. Implemented by `access/models`. */
import type { Deployment } from './deployment.ts'
import type { Caller } from './caller.ts'
import type { Settings } from './settings.ts'

/** What the price lists know of models that the configuration does not name. */
export interface ModelCatalogue {
  /** What a deployment of the model would be, for questions about it; never to be called. undefined = not known. */
  find(name: string): Deployment | undefined
  /** The models of a provider as it calls them; empty = they are not known. */
  namesOf(provider: string): readonly string[]
}

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
  /** Names that fit a pattern, of the models that are known of its vendor; at most 5000. */
  patternedNames(): readonly string[]
  /**
   * The deployments behind a name, alias, deployment id or pattern; empty = no such model. Blocked ones are among them
   * only where all are.
   */
  resolve(name: string): readonly Deployment[]
  /** By its id. */
  isBlocked(deploymentId: string): boolean
  readonly catalogue: ModelCatalogue
}

/** The configuration in use. A reload replaces both at once; the values themselves never change. */
export interface CurrentConfiguration {
  readonly settings: Settings
  readonly models: ModelDirectory
}
