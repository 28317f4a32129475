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

type Path = readonly (string | number)[]

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
}

/** `invalidPaths` = values to leave out in addition, such as variables that are not set. */
export function validParts(value: unknown, invalidPaths: readonly Path[]): PartialConfig {
  const { model_list: list, ...rest } = isObject(value) ? value : {}
  const config = validPart(configSchema(), rest, invalidPaths).value ?? {}
  if (list === undefined) return { config, entries: undefined }
  if (!Array.isArray(list)) return { config, entries: null }
  const entries = list.map((entry: unknown, at): PartialEntry => {
    const inside = invalidPaths.filter(path => path[0] === 'model_list' && path[1] === at).map(path => path.slice(2))
    const { value: left, removed } = validPart(schemaOf(modelEntryKeys), entry, inside)
    const name = left?.model_name ?? (isObject(entry) && !removed.includes('model_name') ? entry.model_name : undefined)
    return { at, name: typeof name === 'string' ? name : undefined, entry: left, removed }
  })
  return { config, entries }
}

interface ValidPart<T> {
  readonly value: T | undefined
  readonly removed: readonly string[]
}

/** Removes what the schema refuses until the rest is valid. Each round removes at least one value, so the loop ends. */
function validPart<T>(schema: z.ZodType<T>, value: unknown, invalidPaths: readonly Path[]): ValidPart<T> {
  const copy: unknown = structuredClone(value)
  const removed = new Set<string>()
  for (const path of invalidPaths) removeAt(copy, path, removed)
  for (;;) {
    const checked = schema.safeParse(copy)
    if (checked.success) return { value: checked.data, removed: [...removed] }
    const paths = checked.error.issues.flatMap(pathsOf)
    const removable = paths.filter(path => removeAt(copy, path, removed))
    if (removable.length === 0) return { value: undefined, removed: [...removed] }
  }
}

function pathsOf(issue: z.core.$ZodIssue): Path[] {
  const path = issue.path.map(part => (typeof part === 'number' ? part : String(part)))
  return issue.code === 'unrecognized_keys' ? issue.keys.map(key => [...path, key]) : [path]
}

/**
 * For a missing value, removes the map it is missing from. Lists are removed as a whole, because indexes are part of
 * paths.
 */
function removeAt(root: unknown, path: Path, removed: Set<string>): boolean {
  for (let length = path.length; length > 0; length--) {
    const holder = valueAt(root, path.slice(0, length - 1))
    const key = String(path[length - 1])
    if (!isObject(holder) || !Object.hasOwn(holder, key)) continue
    delete holder[key]
    removed.add(path.slice(0, length).join('.'))
    return true
  }
  return false
}
