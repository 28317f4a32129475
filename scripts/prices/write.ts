/** Writes the merged list in the form that src/config/prices/price-list.ts reads, one line for each set of prices. */
import { flags } from '../../src/config/models/capabilities.ts'
import { isDeepStrictEqual } from 'node:util'
import { pricesOf } from '../../src/config/prices/list-prices.ts'
import type { ListedPrices } from '../../src/config/prices/list-prices.ts'
import type { ListedRow, PriceListFile } from '../../src/config/prices/price-list.ts'
import { listedPrices } from './flat.ts'
import type { ListedFacts } from './flat.ts'
import { listNames } from './merge.ts'
import type { Merged, MergedModel } from './merge.ts'

/** The rows of one provider: models that a list calls by several names, and says the same of, are one. */
function rowsOf(models: ReadonlyMap<string, MergedModel>): ListedRow[] {
  const rows = new Map<string, { names: string[]; rest: ListedRow[1] }>()
  for (const [name, model] of [...models].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const rest = rowOf(model)
    const key = JSON.stringify(rest)
    const row = rows.get(key)
    if (row) row.names.push(name)
    else rows.set(key, { names: [name], rest })
  }
  return [...rows.values()].map(({ names, rest }) => [names.join(' '), rest])
}

function rowOf({ prices, whole, facts = {}, lists, unknown, disputed }: MergedModel): ListedRow[1] {
  const listed: ListedPrices = { ...withShortVariants(withUnknown(listedPrices(prices), unknown)), ...whole }
  return {
    ...(facts.contextWindow !== undefined &&
      facts.contextWindow !== facts.maxInputTokens && { window: facts.contextWindow }),
    ...(facts.maxInputTokens !== undefined && { in: facts.maxInputTokens }),
    ...(facts.maxOutputTokens !== undefined && { out: facts.maxOutputTokens }),
    ...(facts.mode !== undefined && facts.mode !== 'chat' && { mode: facts.mode }),
    ...flagText(facts),
    lists: lists.map(list => listNames.indexOf(list)).join(''),
    ...(disputed && { disputed: disputed.join(' ') }),
    prices: listed,
  }
}

/** With what is not known of each variant. */
function withUnknown(listed: ListedPrices, unknown: MergedModel['unknown'] = {}): ListedPrices {
  const variants = Object.entries(listed.variants ?? {}).map(([name, given]): [string, ListedPrices | number] => [
    name,
    typeof given === 'number' || !unknown[name] ? given : { ...given, unknown: unknown[name] },
  ])
  return variants.length === 0 ? listed : { ...listed, variants: Object.fromEntries(variants) }
}

/** Writes a variant as a percentage where that gives exactly its prices. */
function withShortVariants(listed: ListedPrices): ListedPrices {
  const { variants = {}, ...standard } = listed
  if (Object.keys(variants).length === 0) return listed
  const short = Object.entries(variants).map(([name, given]): [string, ListedPrices | number] => {
    if (typeof given === 'number') return [name, given]
    const percent = Math.round(((given.input ?? 0) / (standard.input ?? 1)) * 100)
    const own = pricesOf(gapsClosed(given, standard))
    const scaled = pricesOf({ ...standard, variants: { [name]: percent } })?.variants?.[name]
    return [name, isDeepStrictEqual(own, scaled) ? percent : gapsClosed(given, standard)]
  })
  return { ...standard, variants: Object.fromEntries(short) }
}

/** Long inputs have prices of their own: a variant that a list gives none for them has no known price there. */
function gapsClosed(variant: ListedPrices, { tiers = [] }: ListedPrices): ListedPrices {
  const [first] = tiers
  return first && !variant.tiers ? { ...variant, tiers: [[first[0], null]] } : variant
}

/** One letter a flag, in the order of `flags`: capital = true, small = false. */
function flagText({ flags: given = {} }: ListedFacts): { can?: string } {
  const text = flags
    .flatMap((flag, at) => {
      const letter = String.fromCharCode('a'.charCodeAt(0) + at)
      return given[flag] === undefined ? [] : [given[flag] ? letter.toUpperCase() : letter]
    })
    .join('')
  return text === '' ? {} : { can: text }
}

/** The file, one line for each row, so that updates give readable diffs. */
export function asText(head: Omit<PriceListFile, 'providers' | 'written'>, merged: Merged): string {
  const written = [...merged.models]
    .map(([provider, models]) => [provider, [...models.values()].flatMap(one => one.written ?? []).sort()] as const)
    .filter(([, names]) => names.length > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([provider, names]) => `"${provider}":${JSON.stringify(names.join(' '))}`)
  const blocks = [...merged.models]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([provider, models]) => {
      const rows = rowsOf(models).map(row => JSON.stringify(row))
      return `"${provider}":[\n${rows.join(',\n')}]`
    })
  const parts = [
    JSON.stringify(head, null, 1).slice(0, -2),
    `"written":{\n${written.join(',\n')}}`,
    `"providers":{\n${blocks.join(',\n')}}}`,
  ]
  return `${parts.join(',\n')}\n`
}
