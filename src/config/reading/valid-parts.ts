/**
 * Extracts the valid parts of an invalid configuration, so that later checks still run and one run reports every
 * mistake.
 */
import type { z } from 'zod'
import { isObject, valueAt } from '../../lib/json/json-values.ts'
import { schemaOf } from '../../core/setting-keys.ts'
import { configSchema } from '../sections/file.ts'
import type { Config } from '../sections/file.ts'
import { modelEntryKeys } from '../sections/models.ts'
import type { ModelEntry } from '../sections/models.ts'
import { pathInFile } from './paths.ts'
import type { KeptItems, Path } from './paths.ts'

/** An entry of the model list. */
interface PartialEntry {
  /** Index in the list. */
  readonly at: number
  /** undefined = there is no valid name. */
  readonly name: string | undefined
  /** Without the invalid parts; undefined = too little is left. */
  readonly entry: ModelEntry | undefined
  /**
   * Paths inside the entry that were removed from `entry`, such as `proxy_params.model`. Empty = the entry is valid.
   */
  readonly removed: readonly string[]
}

/** The valid parts of a file. The model list is separate, entry by entry. */
export interface PartialConfig {
  /** Without its model list if something is invalid. */
  readonly config: Config
  /** undefined = the file has no model list; null = it has one that is not a list. */
  readonly entries: readonly PartialEntry[] | undefined | null
  readonly kept?: KeptItems
}

/** `invalidPaths` = values to leave out in addition, such as variables that are not set. */
export function validParts(value: unknown, invalidPaths: readonly Path[]): PartialConfig {
  const { model_list: list, ...rest } = isObject(value) ? value : {}
  const { value: left = {}, kept } = validPart(configSchema(), rest, invalidPaths)
  const common = { config: left, ...(kept.size > 0 && { kept }) }
  if (list === undefined) return { ...common, entries: undefined }
  if (!Array.isArray(list)) return { ...common, entries: null }
  const entries = list.map((entry: unknown, at): PartialEntry => {
    const inside = invalidPaths.filter(path => path[0] === 'model_list' && path[1] === at).map(path => path.slice(2))
    const { value: left, removed } = validPart(schemaOf(modelEntryKeys), entry, inside)
    const name = left?.model_name ?? (isObject(entry) && !removed.includes('model_name') ? entry.model_name : undefined)
    return { at, name: typeof name === 'string' ? name : undefined, entry: left, removed }
  })
  return { ...common, entries }
}

interface ValidPart<T> {
  readonly value: T | undefined
  /** Paths in the given value. */
  readonly removed: readonly string[]
  readonly kept: KeptItems
}

/** Removes what the schema refuses until the rest is valid. Each round removes at least one value, so the loop ends. */
function validPart<T>(schema: z.ZodType<T>, value: unknown, invalidPaths: readonly Path[]): ValidPart<T> {
  const rest = new Remainder(value)
  rest.remove(invalidPaths)
  for (;;) {
    const checked = schema.safeParse(rest.value)
    const { removed, kept } = rest
    if (checked.success) return { value: checked.data, removed: [...removed], kept }
    if (!rest.remove(checked.error.issues.flatMap(pathsOf))) return { value: undefined, removed: [...removed], kept }
  }
}

function pathsOf(issue: z.core.$ZodIssue): Path[] {
  const path = issue.path.map(part => (typeof part === 'number' ? part : String(part)))
  return issue.code === 'unrecognized_keys' ? issue.keys.map(key => [...path, key]) : [path]
}

/** What is left of a value. */
class Remainder {
  readonly value: unknown
  /** Paths in the given value, joined with dots. */
  readonly removed = new Set<string>()
  readonly kept = new Map<string, number[]>()

  constructor(value: unknown) {
    this.value = structuredClone(value)
  }

  /** Paths as the value is now. false = nothing could be removed. */
  remove(paths: readonly Path[]): boolean {
    // From the end of each list, so that the paths of the others still hold.
    const ordered = [...paths].sort((one, other) => compare(other, one))
    const gone: Path[] = []
    for (const path of ordered) {
      const isGone = gone.some(one => one.every((part, at) => path[at] === part))
      const removed = isGone ? undefined : this.#removeAt(path)
      if (removed) gone.push(removed)
    }
    return gone.length > 0
  }

  /** Returns what was removed: for a missing value the map or the item of a list that it is missing from. */
  #removeAt(path: Path): Path | undefined {
    for (let length = path.length; length > 0; length--) {
      const holder = valueAt(this.value, path.slice(0, length - 1))
      const key = path[length - 1]!
      const found = path.slice(0, length)
      const place = pathInFile(this.kept, found).join('.')
      if (Array.isArray(holder)) {
        if (typeof key !== 'number' || key >= holder.length) continue
        this.#placesOf(path.slice(0, length - 1), holder).splice(key, 1)
        holder.splice(key, 1)
      } else {
        if (!isObject(holder) || !Object.hasOwn(holder, key)) continue
        delete holder[key]
      }
      this.removed.add(place)
      return found
    }
    return undefined
  }

  #placesOf(path: Path, list: readonly unknown[]): number[] {
    const key = JSON.stringify(path)
    const known = this.kept.get(key) ?? [...list.keys()]
    this.kept.set(key, known)
    return known
  }
}

/** Items of a list by their index, all else by its name. */
function compare(one: Path, other: Path): number {
  for (const [at, part] of one.entries()) {
    const beside = other[at]
    if (part === beside) continue
    if (beside === undefined) return 1
    if (typeof part === 'number' && typeof beside === 'number') return part - beside
    return String(part) < String(beside) ? -1 : 1
  }
  return one.length - other.length
}
