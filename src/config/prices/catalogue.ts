/** What is known of a model by its name: the price lists in force, with limits, modes and abilities. */
import type { Prices } from '../../core/usage/prices.ts'
import { flags } from '../models/capabilities.ts'
import type { Capabilities } from '../models/capabilities.ts'
import { builtInList, builtInModels } from './price-list.ts'
import type { ListedEntry } from './price-list.ts'
import { pricesOf } from './list-prices.ts'
import { listNames } from './model-names.ts'
import type { OperatorList } from './operator-list.ts'

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
  /** The public lists that have it. */
  readonly lists: readonly string[]
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
 * (the first lookup of all reads the list).
 */
export function catalogueEntry(provider: string, model: string): CatalogueEntry | undefined {
  const own = operatorList?.find(provider, listNames(model))
  const builtIn = builtInEntry(provider, model)
  if (!own) return builtIn
  return {
    ...builtIn,
    provider,
    name: own.name,
    prices: own.prices ?? builtIn?.prices ?? null,
    capabilities: { ...builtIn?.capabilities, ...own.capabilities },
    lists: own.prices ? [operatorList!.source] : (builtIn?.lists ?? []),
  }
}

/** The entry of the built-in list; undefined = it does not have the model. */
export function builtInEntry(provider: string, model: string): CatalogueEntry | undefined {
  const { fallbacks, sources } = builtInList()
  const names = listNames(model)
  for (const listed of [provider, ...(Object.hasOwn(fallbacks, provider) ? fallbacks[provider]! : [])]) {
    const models = builtInModels(listed)
    const name = names.find(one => models.has(one))
    if (name === undefined) continue
    const entry = models.get(name)!
    const lists = [...entry.lists].map(index => sources[Number(index)]!.name)
    return { prices: pricesOf(entry.prices), capabilities: capabilitiesOf(entry), provider: listed, name, lists }
  }
  return undefined
}

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
