/** The built-in price list: prices.json, which scripts/prices/refresh.ts makes of three public lists. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
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
  readonly prices: ListedPrices
}

/** Names as of `listName`, separated by blanks, and what holds for all of them. */
export type ListedRow = readonly [names: string, entry: ListedEntry]

/** What prices.json says of itself. */
export interface PriceListHead {
  readonly notice: string
  /** The day on which the list was made, and a number for that day: `2026-11-23.1`. */
  readonly version: string
  readonly sources: readonly SourceList[]
  /** Providers whose models a host also sells at its vendor's prices. */
  readonly fallbacks: Readonly<Record<string, readonly string[]>>
}

/** The format of prices.json; scripts/prices/write.ts writes each provider and each row on a line of its own. */
export interface PriceListFile extends PriceListHead {
  readonly providers: Readonly<Record<string, readonly ListedRow[]>>
}

/** The head of the list, and where in the file the rows of each provider stand, in bytes. */
interface ListIndex {
  readonly head: PriceListHead
  readonly places: ReadonlyMap<string, { readonly from: number; readonly to: number }>
}

/**
 * TypeScript takes the import for the file's content; at run time it is a path, after bundling relative to this module.
 */
const listPath = resolve(import.meta.dirname, listFile as unknown as string)
let index: ListIndex | undefined
const byName = new Map<string, ReadonlyMap<string, ListedEntry>>()

const noModels: ReadonlyMap<string, ListedEntry> = new Map()

const providersMark = ',\n"providers":{\n'

/**
 * Read at the first lookup, without the rows: all of them would be four megabytes of objects, and a configuration uses
 * the models of a few providers.
 */
function readIndex(): ListIndex {
  const bytes = readFileSync(listPath)
  // One character for each byte, so that places in the text are places in the file.
  const text = bytes.toString('latin1')
  const headEnd = text.indexOf(providersMark)
  const lines = /^"([^"]+)":\[$/gm
  lines.lastIndex = headEnd + providersMark.length
  const places = new Map<string, { from: number; to: number }>()
  let last: { from: number; to: number } | undefined
  for (let found = lines.exec(text); found; found = lines.exec(text)) {
    // `,` and a line break stand behind the rows before.
    if (last) last.to = found.index - 2
    last = { from: lines.lastIndex - 1, to: text.lastIndexOf(']') + 1 }
    places.set(found[1]!, last)
  }
  return { head: JSON.parse(`${bytes.toString('utf8', 0, headEnd)}}`) as PriceListHead, places }
}

/** The list without its rows. */
export function builtInList(): PriceListHead {
  return (index ??= readIndex()).head
}

/** The providers of the built-in list. */
export function builtInProviders(): string[] {
  return [...(index ??= readIndex()).places.keys()]
}

/** The models of one provider of the built-in list by name; empty for one that it does not have. */
export function builtInModels(provider: string): ReadonlyMap<string, ListedEntry> {
  const known = byName.get(provider)
  if (known) return known
  const rows = rowsOf(provider)
  if (rows.length === 0) return noModels
  const models = new Map(rows.flatMap(([names, entry]) => names.split(' ').map(name => [name, entry] as const)))
  byName.set(provider, models)
  return models
}

function rowsOf(provider: string): readonly ListedRow[] {
  const place = (index ??= readIndex()).places.get(provider)
  if (!place) return []
  const bytes = Buffer.allocUnsafe(place.to - place.from)
  const file = openSync(listPath, 'r')
  try {
    readSync(file, bytes, 0, bytes.length, place.from)
  } finally {
    closeSync(file)
  }
  return JSON.parse(bytes.toString()) as readonly ListedRow[]
}
