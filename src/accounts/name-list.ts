/** Lists of models that a key or an access group lets through: names, and patterns with `*`. */
import { wildcardRest } from './model-index.ts'

type AccessGroups = Readonly<Record<string, readonly string[]>>

/** A list made ready to be asked: for every model of a list of models, and on every call. */
export class NameList {
  readonly #names: ReadonlySet<string>
  readonly #patterns: readonly string[]
  /** The groups that this list names, of those that were asked for last. */
  #grouped: { readonly of: AccessGroups; readonly lists: readonly NameList[] } | undefined

  private constructor(names: readonly string[]) {
    this.#names = new Set(names)
    this.#patterns = names.filter(name => name.includes('*'))
  }

  /** The same for the same array, which must not change: keys and settings are replaced, not edited. */
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

  /** In one of the groups that this list names. */
  matchesInGroups(model: string, groups: AccessGroups): boolean {
    if (this.#grouped?.of !== groups) {
      const named = [...this.#names].filter(name => Object.hasOwn(groups, name))
      this.#grouped = { of: groups, lists: named.map(name => NameList.of(groups[name]!)) }
    }
    return this.#grouped.lists.some(list => list.matches(model))
  }
}

const made = new WeakMap<readonly string[], NameList>()
