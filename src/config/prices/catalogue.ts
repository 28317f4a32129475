/**
 * List prices and context windows by provider and model, from prices.json, an extract of @pydantic/genai-prices written
 * by scripts/extract-prices.ts. Names are matched by the library's rules, in the library's order.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { LaterPrices, Prices, PriceTier } from '../../core/usage.ts'
import { scaleDecimal } from './decimal.ts'
import extractFile from './prices.json' with { type: 'file' }

/** `=name` equals, `^` starts, `$` ends, `~` contains, `/` pattern; a list = any of them. All in lower case. */
export type ExtractedMatch = string | readonly ExtractedMatch[] | { readonly and: readonly ExtractedMatch[] }

/**
 * Dollars per million tokens (per hour of audio, per thousand calls); a list is [base, above tokens, price, above ...].
 */
export type ExtractedPrices = Readonly<Record<string, number | readonly number[]>>

/** Names, context window (0 = unknown), and prices: one set, or one set for each start date. */
export type ExtractedModel = readonly [
  ExtractedMatch,
  number,
  ExtractedPrices | readonly (readonly [string, ExtractedPrices])[],
]

/** The format of prices.json. `fallbacks` are the vendors whose models a host serves. */
export interface Extract {
  readonly notice: string
  readonly version: string
  /** Our name of a provider, mapped to the library's. */
  readonly names: Readonly<Record<string, string>>
  readonly providers: Readonly<
    Record<string, { readonly fallbacks: readonly string[]; readonly models: readonly ExtractedModel[] }>
  >
}

/** Catalogue data of one model. */
interface CatalogueEntry {
  /** null = the model is known, but not its price. */
  readonly prices: Prices | null
  /** In tokens. */
  readonly contextWindow: number | undefined
}

/**
 * TypeScript takes the import for the file's content; at run time it is a path, after bundling relative to this module.
 */
const extractPath = resolve(import.meta.dirname, extractFile as unknown as string)
let extract: Extract | undefined

/** Loaded at the first lookup, which saves memory if the configuration gives all prices. */
function loadExtract(): Extract {
  return (extract ??= JSON.parse(readFileSync(extractPath, 'utf8')) as Extract)
}

/**
 * undefined = the catalogue does not know the model. Takes about 50 us, once for each deployment, never during a call.
 */
export function catalogueEntry(provider: string, model: string): CatalogueEntry | undefined {
  const { names } = loadExtract()
  const id = Object.hasOwn(names, provider) ? names[provider]! : undefined
  if (id === undefined) return undefined
  const name = model.toLowerCase().trim()
  const found = findModel(id, name) ?? findModel(id, withDashedDates(name))
  if (!found) return undefined
  const [, contextWindow, prices] = found
  return { prices: allPrices(prices), contextWindow: contextWindow || undefined }
}

/**
 * The first matching rule counts, even without a price; after the provider's own models, those of the vendors it hosts.
 */
function findModel(id: string, name: string): ExtractedModel | undefined {
  const { providers } = loadExtract()
  const own = providers[id]!
  for (const one of [id, ...own.fallbacks]) {
    const found = providers[one]!.models.find(([match]) => matches(match, name))
    if (found) return found
  }
  return undefined
}

function matches(match: ExtractedMatch, name: string): boolean {
  if (typeof match !== 'string')
    return 'and' in match ? match.and.every(one => matches(one, name)) : match.some(one => matches(one, name))
  const text = match.slice(1)
  switch (match[0]) {
    case '=':
      return name === text
    case '^':
      return name.startsWith(text)
    case '$':
      return name.endsWith(text)
    case '~':
      return name.includes(text)
    default:
      return new RegExp(text).test(name)
  }
}

/** `model-20250929` as `model-2025-09-29`: vendors use both forms. Invalid dates are unchanged. */
function withDashedDates(name: string): string {
  return name.replace(
    /-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)/g,
    (text, year: string, month: string, day: string) => {
      const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
      return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${year}-${month}-${day}`)
        ? `-${year}-${month}-${day}`
        : text
    },
  )
}

function allPrices(given: ExtractedModel[2]): Prices | null {
  const periods = Array.isArray(given)
    ? (given as readonly (readonly [string, ExtractedPrices])[])
    : [['', given as ExtractedPrices] as const]
  const [first, ...later] = periods.map(([day, prices]) => ({ day, prices: periodPrices(prices) }))
  const replaced = later.map(
    ({ day, prices }): LaterPrices => ({ fromMs: Date.parse(`${day}T00:00:00Z`), prices: prices ?? {} }),
  )
  if (!first?.prices && replaced.length === 0) return null
  return { ...first?.prices, ...(replaced.length > 0 && { later: replaced }) }
}

/**
 * The extract's price names, with the power of ten and the divisor that convert them to nano-dollars per million units.
 */
const scales: readonly [name: string, price: keyof Prices, digits: number, divisor: bigint][] = [
  ...(
    [
      'input',
      'output',
      'cacheRead',
      'cacheWrite',
      'cacheWriteOneHour',
      'inputAudio',
      'outputAudio',
      'inputImage',
      'outputImage',
      'reasoning',
      'character',
    ] as const
  ).map((name): [string, keyof Prices, number, bigint] => [name, name, 9, 1n]),
  ['audioHour', 'audioSecond', 15, 3600n],
  ['searchUnits1000', 'searchUnit', 12, 1n],
  ['requests1000', 'request', 12, 1n],
]

function periodPrices(given: ExtractedPrices): Prices | null {
  const base = pricesAbove(given, -1)
  if (Object.keys(base).length === 0) return null
  const starts = new Set(
    Object.values(given).flatMap(price => (typeof price === 'number' ? [] : price.filter((_, at) => at % 2 === 1))),
  )
  const tiers = [...starts]
    .sort((a, b) => a - b)
    .map((start): PriceTier => ({ aboveInputTokens: start, prices: pricesAbove(given, start) }))
  return { ...base, ...(tiers.length > 0 && { tiers }) }
}

/** The prices for calls with more than `start` input tokens. */
function pricesAbove(given: ExtractedPrices, start: number): Prices {
  const prices: Partial<Record<keyof Prices, bigint | number>> = {}
  for (const [name, price, digits, divisor] of scales) {
    const value = given[name]
    if (value === undefined) continue
    const dollars = typeof value === 'number' ? value : tierPrice(value, start)
    prices[price] = (scaleDecimal(String(dollars), digits) + divisor / 2n) / divisor
  }
  if (typeof given.secondsMin === 'number') prices.audioSecondsMin = given.secondsMin
  return prices as Prices
}

function tierPrice(list: readonly number[], start: number): number {
  let price = list[0]!
  for (let at = 1; at < list.length; at += 2) if (list[at]! <= start) price = list[at + 1]!
  return price
}
