import { builtInEntry } from '../config/prices/catalogue.ts'
import { builtInList } from '../config/prices/price-list.ts'
import { priceRows } from '../config/prices/price-rows.ts'
import type { PriceRow } from '../config/prices/price-rows.ts'
import { mergedEntry } from '../config/prices/merged-lists.ts'
import type { OperatorList } from '../config/prices/operator-list.ts'
import type { Prices } from '../core/usage/prices.ts'
import type { Command } from './command.ts'
import { print, table, UsageError } from './command.ts'
import { configFile, configFlag, jsonFlag } from './options.ts'
import { dollarsText, listAt } from './price-lists.ts'
import { pricesOfConfiguration } from './price-settings.ts'

/** One price on which a list differs from the built-in one. */
export interface PriceDifference {
  readonly model: string
  readonly unit: string
  readonly when: string
  /** Undefined = the list has no such price. */
  readonly builtIn: PriceRow | undefined
  readonly other: PriceRow | undefined
}

/** Exit code 0 also where lists differ. */
export const pricesDiff: Command = {
  name: 'prices diff',
  summary: 'Compare a price list (of the configuration, or FILE or address) with the built-in one',
  arguments: '[FILE|URL]',
  flags: { config: configFlag, json: jsonFlag },
  async run({ flags, environment, positionals }) {
    const file = configFile(flags, environment)
    const configured = await pricesOfConfiguration(file, environment)
    const source = positionals[0] ?? configured?.source
    if (source === undefined)
      throw new UsageError('the configuration has no `prices`; name a list: modelgate prices diff prices.json')
    const differences = differencesOf(await listAt(source, configured, file))
    if (flags.json) print(JSON.stringify(differences, null, 2))
    else if (differences.length === 0) print('no model of both lists has another price')
    else
      print(
        table(
          ['MODEL', 'WHAT', 'WHEN', 'BUILT IN', 'LIST'],
          differences.map(({ model, unit, when, builtIn, other }) => [
            model,
            unit,
            when,
            builtIn ? dollarsText(builtIn) : 'unknown',
            other ? dollarsText(other) : 'unknown',
          ]),
        ),
      )
    return 0
  },
}

/**
 * The prices that both lists have, and that differ; and those of a model that only one of them has, where both have the
 * model. Prices of variants count where both have the variant.
 */
export function differencesOf(list: OperatorList): PriceDifference[] {
  const differences: PriceDifference[] = []
  for (const [provider, rows] of Object.entries(builtInList().providers))
    for (const name of rows.flatMap(([names]) => names.split(' '))) {
      const found = list.find(provider, [name])
      const other = found && mergedEntry(found, null).prices
      if (!other) continue
      differences.push(...modelDifferences(`${provider}/${name}`, builtInEntry(provider, name)?.prices ?? {}, other))
    }
  return differences
}

function modelDifferences(model: string, builtIn: Prices, other: Prices): PriceDifference[] {
  const [ours, theirs] = [byKey(builtIn), byKey(other)]
  return [...new Set([...ours.keys(), ...theirs.keys()])].flatMap((key): PriceDifference[] => {
    const [own, given] = [ours.get(key), theirs.get(key)]
    const { unit, when } = (own ?? given)!
    if (own?.dollars === given?.dollars || (when !== '' && !(own && given))) return []
    return [{ model, unit, when, builtIn: own, other: given }]
  })
}

const byKey = (prices: Prices): Map<string, PriceRow> =>
  new Map(priceRows(prices).map(row => [`${row.when} ${row.unit}`, row]))
