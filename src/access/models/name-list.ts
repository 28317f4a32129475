/** The list of models of a key or of an access group: names, and patterns with `*`. */
import { wildcardRest } from './model-index.ts'

type AccessGroups = Readonly<Record<string, readonly string[]>>

/** A list prepared for fast look-ups: it is consulted on every call. */
export class NameList {
  readonly #names: ReadonlySet<string>
  readonly #patterns: readonly string[]
  /** The lists of the groups that this list names, for the access groups `of`. */
  #grouped: { readonly of: AccessGroups; readonly lists: readonly NameList[] } | undefined

  private constructor(names: readonly string[]) {
    this.#names = new Set(names)
    this.#patterns = names.filter(name => name.includes('*'))
  }

  /** Cached by the array's identity, so the array must not be changed afterwards; keys and settings are immutable. */
  static of(names: readonly string[]): NameList {
    let list = made.get(names)
    if (!list) made.set(names, (list = new NameList(names)))
    return list
  }

  names(name: string): boolean {
    return this.#names.has(name)
  }

  matches(model: string): boolean {
    return this.#names.has(model) || this.#patterns.some(pattern => wildcardRest(pattern, model) !== undefined)
  }

  /** true = `model` is in one of the groups that this list names. */
  matchesInGroups(model: string, groups: AccessGroups): boolean {
    if (this.#grouped?.of !== groups) {
      const named = [...this.#names].filter(name => Object.hasOwn(groups, name))
      this.#grouped = { of: groups, lists: named.map(name => NameList.of(groups[name]!)) }
    }
    return this.#grouped.lists.some(list => list.matches(model))
  }
}

const made = new WeakMap<readonly string[], NameList>()
