/** The prices that at least two lists have, as a referee for the test of the built-in list. */
import type { SourceList } from '../../src/config/prices/price-list.ts'
import type { FlatPrices, PriceList } from './flat.ts'
import { listNames } from './merge.ts'
import type { ListName } from './merge.ts'

/** The format of tests/data/price-lists.json. Prices are in the order of `lists`; null = the list has none. */
export interface ComparedLists {
  readonly lists: readonly SourceList[]
  readonly prices: Readonly<
    Record<string, Readonly<Record<string, Readonly<Record<string, readonly (number | null)[]>>>>>
  >
}

/** One line for each model. */
export function comparedText(lists: Readonly<Record<ListName, PriceList>>, sources: readonly SourceList[]): string {
  const blocks = [...new Set(listNames.flatMap(list => [...lists[list].keys()]))].sort().map(provider => {
    const names = new Set(listNames.flatMap(list => [...(lists[list].get(provider)?.keys() ?? [])]))
    const lines = [...names].sort().flatMap(name => {
      const prices = comparedPrices(listNames.map(list => lists[list].get(provider)?.get(name)?.prices))
      return Object.keys(prices).length === 0 ? [] : [`${JSON.stringify(name)}:${JSON.stringify(prices)}`]
    })
    return lines.length === 0 ? undefined : `"${provider}":{\n${lines.join(',\n')}}`
  })
  const kept = blocks.filter(block => block !== undefined)
  return `{"lists":${JSON.stringify(sources)},\n"prices":{\n${kept.join(',\n')}}}\n`
}

/** By path, where at least two lists have a price. */
function comparedPrices(given: readonly (FlatPrices | undefined)[]): Record<string, (number | null)[]> {
  const compared: Record<string, (number | null)[]> = {}
  for (const path of new Set(given.flatMap(prices => Object.keys(prices ?? {})))) {
    const values = given.map(prices => prices?.[path] ?? null)
    if (values.filter(value => value !== null).length > 1) compared[path] = values
  }
  return compared
}
