/** Finds the endpoints of a path; loads those that are not needed for calls at the first request for them. */
import type { Endpoint } from '../core/endpoint.ts'
import type { HttpRequest } from '../core/request.ts'
import { PathTable } from '../lib/path-table.ts'
import { PathHints } from './unknown-path.ts'

/** Endpoints with a module of their own, whose code is not held before the first request for one of them. */
export interface LazyGroup {
  /** Each of its paths has one of these as a segment. */
  readonly segments: readonly string[]
  load(): Promise<readonly Endpoint[]>
}

/** The endpoints of one path by their methods. */
export type Methods = ReadonlyMap<string, Endpoint>

/** Endpoints may share a path where their methods differ; of two with the same method the later one is used. */
export class EndpointTable {
  readonly #paths = new PathTable<Map<string, Endpoint>>()
  readonly #endpoints: Endpoint[] = []
  /** Those that are not loaded yet, with the promise of those that are being loaded. */
  readonly #lazyGroups: Map<LazyGroup, Promise<void> | undefined>
  #hints: PathHints | undefined

  constructor(endpoints: readonly Endpoint[], lazyGroups: readonly LazyGroup[] = []) {
    this.#lazyGroups = new Map(lazyGroups.map(group => [group, undefined]))
    this.#add(endpoints)
  }

  find(path: string): { readonly value: Methods; readonly params: Record<string, string> } | undefined {
    return this.#paths.find(path)
  }

  /**
   * For a path that is not found: loads the groups that may have it; after that, what is not found is not there.
   * undefined = there is none. Rejects when a module cannot be loaded; the next request tries again.
   */
  loadFor(path: string): Promise<unknown> | undefined {
    if (this.#lazyGroups.size === 0) return undefined
    const parts = new Set(path.split('/'))
    const matching = [...this.#lazyGroups.keys()].filter(({ segments }) => segments.some(word => parts.has(word)))
    return matching.length === 0 ? undefined : Promise.all(matching.map(group => this.#load(group)))
  }

  /** What to do next after a wrong path, as the part of a sentence; empty = nothing is near. */
  nextStep(request: Pick<HttpRequest, 'method' | 'path'>): string {
    this.#hints ??= new PathHints(this.#paths, this.#endpoints)
    return this.#hints.nextStep(request)
  }

  #load(group: LazyGroup): Promise<void> {
    const loading = this.#lazyGroups.get(group) ?? this.#loadNow(group)
    this.#lazyGroups.set(group, loading)
    return loading
  }

  async #loadNow(group: LazyGroup): Promise<void> {
    try {
      this.#add(await group.load())
      this.#lazyGroups.delete(group)
    } catch (error) {
      this.#lazyGroups.set(group, undefined)
      throw error
    }
  }

  #add(endpoints: readonly Endpoint[]): void {
    this.#endpoints.push(...endpoints)
    this.#hints = undefined
    for (const endpoint of endpoints)
      for (const path of endpoint.paths) {
        const methods = this.#paths.at(path) ?? new Map<string, Endpoint>()
        methods.set(endpoint.method, endpoint)
        this.#paths.add(path, methods)
      }
  }
}
