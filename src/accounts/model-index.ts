/** Which deployments a model's name stands for: exact names, aliases, deployment ids, wildcards. */
import { LRUCache } from 'lru-cache'
import type { Deployment } from '../core/deployment.ts'
import type { ModelDirectory } from '../core/ports.ts'
import type { Settings } from '../core/settings.ts'

/** The deployment of a model that only a pattern names: its prices, abilities and profile are its own. */
type MakeConcrete = (pattern: Deployment, modelName: string, model: string) => Deployment

const wildcardCacheMax = 1000
/** No upstream has a model of a longer name. What a pattern let through would be kept wherever a model is remembered by its name. */
const patternedLengthMax = 500
const none: readonly Deployment[] = []

/**
 * Made anew for each settings. The last 1000 names that only a pattern matches keep their deployments; of more, the one
 * that was not asked for longest is made again.
 */
export class ModelIndex implements ModelDirectory {
  readonly settings: Settings
  readonly #byName = new Map<string, Deployment[]>()
  readonly #byId = new Map<string, Deployment[]>()
  readonly #wildcards: Deployment[] = []
  readonly #expanded = new LRUCache<string, Deployment[]>({ max: wildcardCacheMax })
  readonly #concrete: MakeConcrete
  /** Made once: whoever asks for a model that does not exist is answered from them. */
  readonly #names: readonly string[]
  readonly #wildcardNames: readonly string[]

  constructor(settings: Settings, concrete: MakeConcrete) {
    this.settings = settings
    this.#concrete = concrete
    for (const deployment of settings.deployments) {
      if (deployment.modelName.includes('*')) this.#wildcards.push(deployment)
      else pushTo(this.#byName, deployment.modelName, deployment)
      pushTo(this.#byId, deployment.id, deployment)
    }
    // The longest fixed prefix is the most specific pattern.
    this.#wildcards.sort((a, b) => b.modelName.indexOf('*') - a.modelName.indexOf('*'))
    this.#names = [...this.#byName.keys(), ...Object.keys(settings.aliases)]
    this.#wildcardNames = [...new Set(this.#wildcards.map(deployment => deployment.modelName))]
  }

  /** Public names without patterns, in order of the configuration. */
  names(): readonly string[] {
    return this.#names
  }

  wildcardNames(): readonly string[] {
    return this.#wildcardNames
  }

  /** Empty = no such model. */
  resolve(name: string): readonly Deployment[] {
    const exact = this.#byName.get(name)
    if (exact) return exact
    const alias = Object.hasOwn(this.settings.aliases, name) ? this.settings.aliases[name] : undefined
    if (alias !== undefined && alias !== name) return this.#byName.get(alias) ?? this.#match(alias)
    return this.#byId.get(name) ?? this.#match(name)
  }

  #match(name: string): readonly Deployment[] {
    if (this.#wildcards.length === 0 || name.length > patternedLengthMax) return none
    const known = this.#expanded.get(name)
    if (known) return known
    const pattern = this.#wildcards.find(deployment => wildcardRest(deployment.modelName, name) !== undefined)
    if (!pattern) return none
    const found = this.#wildcards
      .filter(deployment => deployment.modelName === pattern.modelName)
      .map(deployment => this.#expand(deployment, name))
    this.#expanded.set(name, found)
    return found
  }

  #expand(deployment: Deployment, name: string): Deployment {
    const rest = wildcardRest(deployment.modelName, name)!
    const model = deployment.target.model.replace('*', () => rest)
    return this.#concrete(deployment, name, model)
  }
}

/** What `*` stands for in `name`; undefined when the pattern does not match. */
export function wildcardRest(pattern: string, name: string): string | undefined {
  const star = pattern.indexOf('*')
  if (star < 0) return pattern === name ? '' : undefined
  const head = pattern.slice(0, star)
  const tail = pattern.slice(star + 1)
  if (name.length <= head.length + tail.length) return undefined
  return name.startsWith(head) && name.endsWith(tail) ? name.slice(head.length, name.length - tail.length) : undefined
}

function pushTo<K>(map: Map<K, Deployment[]>, key: K, value: Deployment): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
