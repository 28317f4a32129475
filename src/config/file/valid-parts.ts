/** What of a faulty configuration is still good: later checks find more in it, so that one run names every mistake. */
import type { z } from 'zod'
import { isObject } from '../../lib/json/json-values.ts'
import { configSchema, modelEntrySchema } from './schema.ts'
import type { Config, ModelEntry } from './schema.ts'

type Path = readonly (string | number)[]

/** An entry of the model list. */
interface SalvagedEntry {
  /** Its place in the list. */
  readonly at: number
  /** undefined = it has none that can be read. */
  readonly name: string | undefined
  /** Without what is wrong in it; undefined = too little is left. */
  readonly entry: ModelEntry | undefined
  /** Inside of the entry: what is missing from `entry`, as `proxy_params.model`. Empty = nothing was wrong. */
  readonly lost: readonly string[]
}

/** The good parts of a file. The model list stands apart, entry by entry. */
export interface SalvagedConfig {
  /** Without its model list where something is wrong. */
  readonly config: Config
  /** undefined = the file has no model list; null = it has one that is no list. */
  readonly entries: readonly SalvagedEntry[] | undefined | null
}

/** `wrong` = further places whose values must not be looked at, such as variables that are not set. */
export function salvage(value: unknown, wrong: readonly Path[]): SalvagedConfig {
  const { model_list: list, ...rest } = isObject(value) ? value : {}
  const config = salvaged(configSchema, rest, wrong).value ?? {}
  if (list === undefined) return { config, entries: undefined }
  if (!Array.isArray(list)) return { config, entries: null }
  const entries = list.map((entry: unknown, at): SalvagedEntry => {
    const inside = wrong.filter(path => path[0] === 'model_list' && path[1] === at).map(path => path.slice(2))
    const { value: left, lost } = salvaged(modelEntrySchema, entry, inside)
    const name = left?.model_name ?? (isObject(entry) && !lost.includes('model_name') ? entry.model_name : undefined)
    return { at, name: typeof name === 'string' ? name : undefined, entry: left, lost }
  })
  return { config, entries }
}

interface Salvaged<T> {
  readonly value: T | undefined
  readonly lost: readonly string[]
}

/** Takes out what the schema refuses until it refuses nothing; each round takes out something, so that there is an end. */
function salvaged<T>(schema: z.ZodType<T>, value: unknown, wrong: readonly Path[]): Salvaged<T> {
  const copy: unknown = structuredClone(value)
  const lost = new Set<string>()
  for (const path of wrong) takeOut(copy, path, lost)
  for (;;) {
    const checked = schema.safeParse(copy)
    if (checked.success) return { value: checked.data, lost: [...lost] }
    const places = checked.error.issues.flatMap(placesOf)
    const taken = places.filter(path => takeOut(copy, path, lost))
    if (taken.length === 0) return { value: undefined, lost: [...lost] }
  }
}

function placesOf(issue: z.core.$ZodIssue): Path[] {
  const path = issue.path.map(part => (typeof part === 'number' ? part : String(part)))
  return issue.code === 'unrecognized_keys' ? issue.keys.map(key => [...path, key]) : [path]
}

/** What is missing cannot be taken out, but what it is missing from. Lists go as a whole: their numbers are places. */
function takeOut(root: unknown, path: Path, lost: Set<string>): boolean {
  for (let length = path.length; length > 0; length--) {
    const holder = valueAt(root, path.slice(0, length - 1))
    const key = String(path[length - 1])
    if (!isObject(holder) || !Object.hasOwn(holder, key)) continue
    delete holder[key]
    lost.add(path.slice(0, length).join('.'))
    return true
  }
  return false
}

function valueAt(root: unknown, path: Path): unknown {
  let at = root
  for (const part of path)
    at = typeof at === 'object' && at !== null ? (at as Record<string | number, unknown>)[part] : undefined
  return at
}
