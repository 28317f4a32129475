/** Resolves a model name to its deployments: exact names, aliases, deployment ids, wildcards. */
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../../lib/entry-limit.ts'
import { lazy } from '../../lib/lazy.ts'
import { isMaster } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { ModelCatalogue, ModelDirectory } from '../../core/model-directory.ts'
import type { Settings } from '../../core/settings.ts'
import { withGroupsAmong } from './access-groups.ts'

/** Makes the deployment of one model from that of a pattern, with that model's prices, abilities and profile. */
type ExpandPattern = (pattern: Deployment, modelName: string, model: string) => Deployment

const wildcardCacheMax = 1000
/**
 * Longer names match no pattern. No upstream has such a model, and matched names are kept in caches keyed by the name.
 */
const patternedLengthMax = 500
const none: readonly Deployment[] = []
const noCatalogue: ModelCatalogue = { find: () => undefined, namesOf: () => [] }
/** Bounds what a list of models takes to make. */
const patternedNamesMax = 5000

/** What an index knows of the deployments of its settings, where it is not what everybody shares. */
interface View {
  readonly isPart?: boolean
  /** Absent = those that everybody shares. */
  readonly deployments?: readonly Deployment[]
  /** Beside them, and found by their ids alone. */
  readonly byIdAlone?: readonly Deployment[]
}

function teamsIn(deployments: readonly Deployment[]): ReadonlyMap<string, readonly Deployment[]> | undefined {
  const owned = deployments.filter(one => one.teamId !== undefined)
  return owned.length === 0 ? undefined : Map.groupBy(owned, one => one.teamId!)
}

function sharedOf(deployments: readonly Deployment[]): readonly Deployment[] {
  return deployments.some(one => one.teamId !== undefined)
    ? deployments.filter(one => one.teamId === undefined)
    : deployments
}

/** A team's own model stands in the place of a shared one of its name: calls go where the team's model was put. */
function withOwn(shared: readonly Deployment[], own: readonly Deployment[]): readonly Deployment[] {
  const names = new Set(own.map(one => one.modelName))
  return [...own, ...shared.filter(one => !names.has(one.modelName))]
}

/**
 * One instance per settings. The deployments of the 1000 most recently used names that only a pattern matches are
 * cached.
 */
export class ModelIndex implements ModelDirectory {
  /** With the access groups of the deployments that are seen here. */
  readonly settings: Settings
  /** With those of all. */
  readonly #all: Settings
  readonly catalogue: ModelCatalogue
  readonly deployments: readonly Deployment[]
  /** By team; undefined = no model is a team's alone. */
  readonly #teams: ReadonlyMap<string, readonly Deployment[]> | undefined
  readonly #views = new Map<string | undefined, ModelIndex>()
  readonly #byName = new Map<string, Deployment[]>()
  readonly #byId = new Map<string, Deployment[]>()
  readonly #wildcards: Deployment[] = []
  readonly #blocked: ReadonlySet<string>
  readonly #expanded = new LRUCache<string, Deployment[]>(entryLimit(wildcardCacheMax))
  readonly #expandPattern: ExpandPattern
  /** Computed once, because every request for an unknown model reads them. */
  readonly #names: readonly string[]
  readonly #wildcardNames: readonly string[]
  readonly #patternedNames = lazy(() => this.#namesOfPatterns())

  constructor(
    settings: Settings,
    expandPattern: ExpandPattern,
    catalogue: ModelCatalogue = noCatalogue,
    view: View = {},
  ) {
    this.catalogue = catalogue
    this.#expandPattern = expandPattern
    this.#teams = view.isPart === true ? undefined : teamsIn(settings.deployments)
    this.deployments = view.deployments ?? sharedOf(settings.deployments)
    this.#all = settings
    const seesAll = view.byIdAlone !== undefined || this.deployments === settings.deployments
    this.settings = seesAll ? settings : withGroupsAmong(this.deployments, settings)
    for (const one of view.byIdAlone ?? none) pushTo(this.#byId, one.id, one)
    for (const deployment of this.deployments) {
      if (deployment.modelName.includes('*')) this.#wildcards.push(deployment)
      else pushTo(this.#byName, deployment.modelName, deployment)
      pushTo(this.#byId, deployment.id, deployment)
    }
    for (const [name, group] of this.#byName) this.#byName.set(name, openOf(group))
    this.#blocked = new Set(settings.deployments.flatMap(one => (one.blocked ? [one.id] : [])))
    // The longest fixed prefix is the most specific pattern.
    this.#wildcards.sort((a, b) => b.modelName.indexOf('*') - a.modelName.indexOf('*'))
    this.#names = [
      ...this.#byName.keys(),
      ...Object.keys(settings.aliases).filter(name => !settings.hiddenAliases?.has(name) && !this.#isOfOthers(name)),
    ]
    this.#wildcardNames = [...new Set(this.#wildcards.map(deployment => deployment.modelName))]
  }

  /** Whether an alias stands for a model of another team. */
  #isOfOthers(alias: string): boolean {
    return this.deployments.length < this.settings.deployments.length && this.resolve(alias).length === 0
  }

  of(caller: Caller): ModelDirectory {
    if (this.#teams === undefined) return this
    return isMaster(caller) ? this.#view(undefined) : this.ofTeam(caller.team?.id)
  }

  ofTeam(teamId: string | null | undefined): ModelDirectory {
    return teamId != null && this.#teams?.has(teamId) ? this.#view(teamId) : this
  }

  /** That of a team, or undefined = of the master key, which may name each deployment by its id. */
  #view(teamId: string | undefined): ModelIndex {
    let view = this.#views.get(teamId)
    if (!view) {
      const part =
        teamId === undefined
          ? { byIdAlone: [...this.#teams!.values()].flat() }
          : { deployments: withOwn(this.deployments, this.#teams!.get(teamId)!) }
      view = new ModelIndex(this.#all, this.#expandPattern, this.catalogue, { ...part, isPart: true })
      this.#views.set(teamId, view)
    }
    return view
  }

  /** Public names and aliases without patterns, in order of the configuration. */
  names(): readonly string[] {
    return this.#names
  }

  wildcardNames(): readonly string[] {
    return this.#wildcardNames
  }

  patternedNames(): readonly string[] {
    return this.#patternedNames()
  }

  /** A pattern whose target is one model, and no pattern as well, takes any name: it has none to list. */
  #namesOfPatterns(): readonly string[] {
    const names = new Set<string>()
    for (const { modelName, target } of this.#wildcards) {
      if (!target.model.includes('*')) continue
      for (const known of this.catalogue.namesOf(target.provider.name)) {
        const rest = wildcardRest(target.model, known)
        const name = rest === undefined ? undefined : modelName.replace('*', () => rest)
        if (name !== undefined && name.length <= patternedLengthMax && !this.#byName.has(name)) names.add(name)
        if (names.size >= patternedNamesMax) return [...names]
      }
    }
    return [...names]
  }

  isBlocked(deploymentId: string): boolean {
    return this.#blocked.size > 0 && this.#blocked.has(deploymentId)
  }

  /** Empty = no such model. */
  resolve(name: string): readonly Deployment[] {
    const exact = this.#byName.get(name)
    if (exact) return exact
    const alias = Object.hasOwn(this.settings.aliases, name) ? this.settings.aliases[name] : undefined
    if (alias !== undefined && alias !== name) return this.#byName.get(alias) ?? this.#matchAny(alias)
    return this.#byId.get(name) ?? this.#matchAny(name)
  }

  /** Where no pattern matches a bare name, `vendor/*` does for that vendor's names: `gpt-4o` as `openai/gpt-4o`. */
  #matchAny(name: string): readonly Deployment[] {
    const found = this.#match(name)
    if (found.length > 0 || name.length > patternedLengthMax) return found
    for (const deployment of this.#wildcards) {
      const full = nameWithVendor(deployment, name)
      if (full !== undefined) return this.#match(full)
    }
    return none
  }

  #match(name: string): readonly Deployment[] {
    if (this.#wildcards.length === 0 || name.length > patternedLengthMax) return none
    const known = this.#expanded.get(name)
    if (known) return known
    const pattern = this.#wildcards.find(deployment => wildcardRest(deployment.modelName, name) !== undefined)
    if (!pattern) return none
    const group = this.#wildcards.filter(deployment => deployment.modelName === pattern.modelName)
    const found = openOf(group).map(deployment => this.#expand(deployment, name))
    if (found.some(one => dotSegment.test(one.target.model))) return none
    this.#expanded.set(name, found)
    return found
  }

  #expand(deployment: Deployment, name: string): Deployment {
    const rest = wildcardRest(deployment.modelName, name)!
    const model = deployment.target.model.replace('*', () => rest)
    return this.#expandPattern(deployment, name, model)
  }
}

/**
 * No model has such a name, and in the path of a URL it would lead to another place of the upstream: percent-encoding
 * leaves dots as they are (RFC 3986, 5.2.4 and 6.2.2.3).
 */
const dotSegment = /(^|\/)\.{1,2}(\/|$)/

/**
 * The name of a vendor's model by the pattern of the whole vendor, where `name` is a bare one: `openai/gpt-4o` for
 * `gpt-4o` and `openai/*`, `my/openai/gpt-4o` for `my/gpt-4o` and `my/openai/*`. Undefined = it is none.
 */
export function nameWithVendor({ modelName, target: { provider } }: Deployment, name: string): string | undefined {
  const ofVendor = `${provider.name}/*`
  if (!modelName.endsWith(ofVendor)) return undefined
  const prefix = modelName.slice(0, -ofVendor.length)
  if (!(prefix === '' || prefix.endsWith('/')) || !name.startsWith(prefix)) return undefined
  const bare = name.slice(prefix.length)
  return !bare.includes('/') && provider.ownNames?.test(bare) ? `${prefix}${provider.name}/${bare}` : undefined
}

/** The part of `name` that the pattern's `*` matches (at least one character); undefined = it does not match. */
export function wildcardRest(pattern: string, name: string): string | undefined {
  const star = pattern.indexOf('*')
  if (star < 0) return pattern === name ? '' : undefined
  const head = pattern.slice(0, star)
  const tail = pattern.slice(star + 1)
  if (name.length <= head.length + tail.length) return undefined
  return name.startsWith(head) && name.endsWith(tail) ? name.slice(head.length, name.length - tail.length) : undefined
}

/** Without those that are blocked; where all are, all of them: the model is known, and says why it does not answer. */
function openOf(group: Deployment[]): Deployment[] {
  const open = group.filter(one => one.blocked === undefined)
  return open.length > 0 ? open : group
}

function pushTo<K>(map: Map<K, Deployment[]>, key: K, value: Deployment): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
