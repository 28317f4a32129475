/** The built-in price list: prices.json, which scripts/prices/refresh.ts makes of three public lists. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { lazy } from '../../lib/lazy.ts'
import { gunzipIfNeeded } from '../../lib/program-files.ts'
import type { ListedPrices } from './list-prices.ts'
import listFile from './prices.json' with { type: 'file' }

/** One public list that the built-in one is made of. */
export interface SourceList {
  readonly name: string
  readonly version: string
  /** SHA-256 of the package that was read. */
  readonly sha256: string
  readonly licence: string
}

/** What the list says of the models of these names. */
export interface ListedEntry {
  /** Tokens of input and output together; absent = `in`. */
  readonly window?: number
  /** Tokens of input at most; absent = not stated. */
  readonly in?: number
  /** Tokens of output at most. */
  readonly out?: number
  /** `mode` as in `model_info`; absent = chat, or not stated. */
  readonly mode?: string
  /** Flags of capabilities by letter, in the order of `flags`: capital = true, small = false. */
  readonly can?: string
  /** The lists that have the model, by their index in `sources`. */
  readonly lists: string
  /** Paths of prices (`input variants.flex.output`) on which the lists differ: the dearest holds. */
  readonly disputed?: string
  readonly prices: ListedPrices
}

/** Names as of `listName`, separated by blanks, and what holds for all of them. */
export type ListedRow = readonly [names: string, entry: ListedEntry]

/** The format of prices.json. */
export interface PriceListFile {
  readonly notice: string
  /** The day on which the list was made, and a number for that day: `2026-11-23.1`. */
  readonly version: string
  readonly sources: readonly SourceList[]
  /** Providers whose models a host also sells at its vendor's prices. */
  readonly fallbacks: Readonly<Record<string, readonly string[]>>
  /** Names as vendors write them, separated by blanks, where these are not as of `listName`. */
  readonly written: Readonly<Record<string, string>>
  readonly providers: Readonly<Record<string, readonly ListedRow[]>>
}

/** After bundling the path is relative to this module. */
const listPath = resolve(import.meta.dirname, listFile)
const byName = new WeakMap<PriceListFile, Map<string, ReadonlyMap<string, ListedEntry>>>()

/**
 * Read when it is looked at (5 ms), and not kept: of 21,000 objects a configuration needs a few, while it is read.
 */
export const builtInList = lazy(
  () => JSON.parse(Buffer.from(gunzipIfNeeded(readFileSync(listPath))).toString('utf8')) as PriceListFile,
)

/** The models of one provider of the built-in list by name; empty for one that it does not have. */
export function builtInModels(provider: string): ReadonlyMap<string, ListedEntry> {
  const list = builtInList()
  const known = byName.get(list)?.get(provider)
  if (known) return known
  const rows = Object.hasOwn(list.providers, provider) ? list.providers[provider]! : []
  const models = new Map(rows.flatMap(([names, entry]) => names.split(' ').map(name => [name, entry] as const)))
  byName.set(list, (byName.get(list) ?? new Map<string, ReadonlyMap<string, ListedEntry>>()).set(provider, models))
  return models
}
