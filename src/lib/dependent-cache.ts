/** A cache whose values are dropped when something that they were made from changes. */
import { LRUCache } from 'lru-cache'
import { entryLimit } from './entry-limit.ts'

/** The name of something that values are made from. */
type Subject = string

/** Of the values used last, at most `max`. */
export class DependentCache<Value extends object> {
  readonly #values: LRUCache<string, Value>
  /** The names of the values that were made from a subject. */
  readonly #dependents = new Map<Subject, Set<string>>()
  readonly #subjectsOf: (name: string, value: Value) => readonly Subject[]
  /** What was requested last, mostly requested again within the same call; '' = nothing. */
  #lastName = ''
  #last: Value | undefined

  /** `subjectsOf` has to answer the same for a value as long as it is here. */
  constructor(max: number, subjectsOf: (name: string, value: Value) => readonly Subject[]) {
    this.#subjectsOf = subjectsOf
    this.#values = new LRUCache<string, Value>({
      ...entryLimit(max),
      dispose: (value, name) => this.#unlink(name, value),
    })
  }

  get(name: string): Value | undefined {
    if (name === this.#lastName) return this.#last
    const value = this.#values.get(name)
    if (value) {
      this.#lastName = name
      this.#last = value
    }
    return value
  }

  set(name: string, value: Value): void {
    // First: what it replaces is unlinked when it is set.
    this.#values.set(name, value)
    for (const subject of this.#subjectsOf(name, value)) {
      const names = this.#dependents.get(subject)
      if (names) names.add(name)
      else this.#dependents.set(subject, new Set([name]))
    }
  }

  /** Drops every value that was made from the subject; of those only the ones that `isOld` says. */
  drop(subject: Subject, isOld: (value: Value) => boolean = () => true): void {
    const names = this.#dependents.get(subject)
    // A copy: dropping a value changes the set.
    if (names) for (const name of [...names]) if (isOld(this.#values.peek(name)!)) this.#values.delete(name)
  }

  clear(): void {
    this.#values.clear()
    this.#dependents.clear()
  }

  /** Those used last, at most `count`, the one used last first. */
  newest(count: number): [name: string, value: Value][] {
    const found: [string, Value][] = []
    for (const entry of this.#values.entries()) {
      if (found.length >= count) break
      found.push(entry)
    }
    return found
  }

  #unlink(name: string, value: Value): void {
    if (name === this.#lastName) {
      this.#lastName = ''
      this.#last = undefined
    }
    for (const subject of this.#subjectsOf(name, value)) {
      const names = this.#dependents.get(subject)
      names?.delete(name)
      if (names?.size === 0) this.#dependents.delete(subject)
    }
  }
}
