/** Finds the endpoints of a path; loads those that are not needed for calls when they are first asked for. */
import type { Endpoint } from '../core/endpoint.ts'
import { PathTable } from '../lib/path-table.ts'
import { PathHints } from './unknown-path.ts'

/** Endpoints with a module of their own, whose code is not held before the first request for one of them. */
export interface Room {
  /** One of them is a part of each of its paths. */
  readonly words: readonly string[]
  load(): Promise<readonly Endpoint[]>
}

/** The endpoints of one path by their methods. */
export type Methods = ReadonlyMap<string, Endpoint>

/** Endpoints may share a path where their methods differ; of two with the same method the later one is used. */
export class EndpointTable {
  readonly #paths = new PathTable<Map<string, Endpoint>>()
  readonly #endpoints: Endpoint[] = []
  /** Those that are not loaded yet, with the promise of those that are being loaded. */
  readonly #rooms: Map<Room, Promise<void> | undefined>
  #hints: PathHints | undefined

  constructor(endpoints: readonly Endpoint[], rooms: readonly Room[] = []) {
    this.#rooms = new Map(rooms.map(room => [room, undefined]))
    this.#add(endpoints)
  }

  find(path: string): { readonly value: Methods; readonly params: Record<string, string> } | undefined {
    return this.#paths.find(path)
  }

  /**
   * For a path that is not found: loads the rooms that may have it; after that, what is not found is not there.
   * undefined = there is none. Rejects when a module cannot be loaded; the next request tries again.
   */
  loadFor(path: string): Promise<unknown> | undefined {
    if (this.#rooms.size === 0) return undefined
    const parts = new Set(path.split('/'))
    const asked = [...this.#rooms.keys()].filter(({ words }) => words.some(word => parts.has(word)))
    return asked.length === 0 ? undefined : Promise.all(asked.map(room => this.#load(room)))
  }

  /** What to do next after a wrong path, as the part of a sentence; empty = nothing is near. */
  nextStep(path: string): string {
    this.#hints ??= new PathHints(this.#paths, this.#endpoints)
    return this.#hints.nextStep(path)
  }

  #load(room: Room): Promise<void> {
    const loading = this.#rooms.get(room) ?? this.#loadNow(room)
    this.#rooms.set(room, loading)
    return loading
  }

  async #loadNow(room: Room): Promise<void> {
    try {
      this.#add(await room.load())
      this.#rooms.delete(room)
    } catch (error) {
      this.#rooms.set(room, undefined)
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
