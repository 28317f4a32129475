/** What is known of a model by its name: the price lists in force, with limits, modes and abilities. */
import type { Prices } from '../../core/usage/prices.ts'
import { flags } from '../models/capabilities.ts'
import type { Capabilities } from '../models/capabilities.ts'
import { isRouter } from './litellm-names.ts'
import { builtInList, builtInModels } from './price-list.ts'
import type { ListedEntry } from './price-list.ts'
import { priceUnits, pricesOf } from './list-prices.ts'
import { agreesWith, mergedEntry } from './merged-lists.ts'
import type { OperatorEntry, OperatorList } from './operator-list.ts'
import { claudeByPlace, scaledTokens } from './place-premiums.ts'
import { lacksPremium, namesInPlace, neighboursOf } from './place-names.ts'
import type { DatedPriceList } from '../../core/usage/price-list-age.ts'

/** What the catalogue has of a model, and where it was found. */
export interface CatalogueEntry {
  /** null = the model is known, but not its price. */
  readonly prices: Prices | null
  /** Limits, mode and flags that the list states; absent = it does not say. */
  readonly capabilities: Capabilities
  /** The provider under which it stands, which may be the vendor whose models a host resells. */
  readonly provider: string
  /** The model's name at that provider. */
  readonly name: string
  /** The public lists that have it, and before them that of the operator. */
  readonly lists: readonly string[]
  /** Paths of prices (`input variants.flex.output`) on which lists differ: the dearest holds. */
  readonly disputed: ReadonlySet<string>
  /** Paths of the prices that are the operator's list's; all others are the built-in one's. */
  readonly ofOperator: ReadonlySet<string>
}

/** The list of the operator that is in force in this process, over the built-in one. */
let operatorList: OperatorList | undefined

/** Puts a list of the operator into force, for all lookups from now on; undefined = none. */
export function useOperatorList(list: OperatorList | undefined): void {
  operatorList = list
}

/** The list of the operator that is in force. */
export const operatorListInForce = (): OperatorList | undefined => operatorList

/**
 * undefined = the catalogue does not have the model. Takes microseconds, once for each deployment, never during a call
 * (the first lookup of all reads the list). `place` = where calls are computed (`placeOf`). The operator's list wins
 * price by price; where it only repeats the built-in price without a place, rows that are closer to the place win.
 */
export function catalogueEntry(provider: string, model: string, place?: string): CatalogueEntry | undefined {
  const groups = namesInPlace(model, place)
  const builtIn = builtInFound(provider, model, place)
  const own = operatorList && firstIn(groups, names => operatorList!.find(provider, names))
  const found = own ? overBuiltIn({ provider, model }, own, builtIn) : builtIn?.entry
  if (!found?.prices || !lacksPremium(model, found.name, place)) return found
  return { ...found, prices: scaledTokens(found.prices, BigInt(claudeByPlace.percent)) }
}

/** What was found, and how far it is from the place: the group of `namesInPlace`. */
interface Found<Entry> {
  readonly entry: Entry
  readonly distance: number
}

function firstIn<Entry>(
  groups: readonly (readonly string[])[],
  find: (names: readonly string[]) => Entry | undefined,
): Found<Entry> | undefined {
  for (const [distance, names] of groups.entries()) {
    const entry = find(names)
    if (entry !== undefined) return { entry, distance }
  }
  return undefined
}

function overBuiltIn(
  { provider, model }: { readonly provider: string; readonly model: string },
  own: Found<OperatorEntry>,
  builtIn: Found<CatalogueEntry> | undefined,
): CatalogueEntry {
  const { entry } = own
  const capabilities = { ...builtIn?.entry.capabilities, ...entry.capabilities }
  // The operator's list repeats the price without a place, which is not the price here.
  const isCloser = builtIn !== undefined && builtIn.distance < own.distance
  if (isCloser && agreesWith(entry, builtInEntry(provider, model)?.prices ?? null))
    return { ...builtIn.entry, capabilities }
  const { prices, ofOperator } = mergedEntry(entry, builtIn?.entry.prices ?? null)
  return {
    provider,
    name: entry.name,
    prices: prices && isRouter(provider, model) ? { ...prices, isFee: true } : prices,
    capabilities,
    lists: [...(ofOperator.size > 0 ? [operatorList!.source] : []), ...(builtIn?.entry.lists ?? [])],
    disputed: new Set([...(builtIn?.entry.disputed ?? [])].filter(path => !ofOperator.has(path))),
    ofOperator,
  }
}

/** The entry of the built-in list; undefined = it does not have the model. */
export const builtInEntry = (provider: string, model: string): CatalogueEntry | undefined =>
  builtInFound(provider, model, undefined)?.entry

function builtInFound(provider: string, model: string, place: string | undefined): Found<CatalogueEntry> | undefined {
  const { fallbacks } = builtInList()
  const groups = namesInPlace(model, place)
  for (const listed of [provider, ...(Object.hasOwn(fallbacks, provider) ? fallbacks[provider]! : [])]) {
    const models = builtInModels(listed)
    const found = firstIn(groups, names => names.find(one => models.has(one)))
    if (!found) continue
    const { entry: name, distance } = found
    const isFar = distance === groups.length - 1
    const [dearest] = isFar ? dearestOf(neighboursOf(models.keys(), model, place), models) : []
    if (dearest === undefined) return { distance, entry: entryOf(listed, name, models.get(name)!) }
    const neighbour = models.get(dearest)!
    const disputed = new Set(pathsOf(neighbour))
    return { distance: distance - 0.5, entry: { ...entryOf(listed, dearest, neighbour), disputed } }
  }
  return undefined
}

/** By the price of input and output together. */
function dearestOf(names: readonly string[], models: ReadonlyMap<string, ListedEntry>): readonly string[] {
  const price = (name: string) => (models.get(name)!.prices.input ?? 0) + (models.get(name)!.prices.output ?? 0)
  return names.toSorted((one, other) => price(other) - price(one))
}

/** The standard prices, of which the region that no list has may have others. */
const pathsOf = ({ prices }: ListedEntry): readonly string[] => priceUnits.filter(unit => prices[unit] !== undefined)

function entryOf(provider: string, name: string, entry: ListedEntry): CatalogueEntry {
  return {
    prices: pricesOf(entry.prices),
    capabilities: capabilitiesOf(entry),
    provider,
    name,
    lists: [...entry.lists].map(index => builtInList().sources[Number(index)]!.name),
    disputed: new Set(entry.disputed?.split(' ')),
    ofOperator: noPaths,
  }
}

const noPaths: ReadonlySet<string> = new Set()

function capabilitiesOf({ window, in: input, out: output, mode, can = '' }: ListedEntry): Capabilities {
  const has: Record<string, unknown> = {}
  const whole = window ?? input
  if (whole !== undefined) has.context_window = whole
  if (input !== undefined) has.max_input_tokens = input
  if (output !== undefined) has.max_output_tokens = output
  if (mode !== undefined) has.mode = mode
  for (const letter of can) {
    const flag = flags[letter.toLowerCase().charCodeAt(0) - 'a'.charCodeAt(0)]
    if (flag !== undefined) has[flag] = letter !== letter.toLowerCase()
  }
  return has
}

/**
 * The version of the lists that prices are from, for records of what a call cost: the day of the built-in one, and the
 * beginning of the hash of the operator's (`2026-11-23+1a2b3c4d5e6f`).
 */
export function priceListVersion(): string {
  const { version } = builtInList()
  return operatorList ? `${version}+${operatorList.sha256.slice(0, 12)}` : version
}

/** What settings say of the lists in force: the operator's wins over the built-in one, price by price. */
export const priceListsInForce = () => ({ priceListVersion: priceListVersion(), priceLists: datedLists() })

function datedLists(): readonly DatedPriceList[] {
  const builtIn = { name: 'built-in' as const, datedMs: Date.parse(builtInList().version.slice(0, 10)) }
  return operatorList ? [{ name: 'operator', datedMs: operatorList.datedMs }, builtIn] : [builtIn]
}
