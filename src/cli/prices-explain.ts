import { openSettings } from '../config/settings-source.ts'
import { catalogueModel } from '../config/models/catalogue-model.ts'
import { catalogueEntry, priceListVersion } from '../config/prices/catalogue.ts'
import type { CatalogueEntry } from '../config/prices/catalogue.ts'
import { placeOf } from '../config/prices/place-names.ts'
import { builtInModels } from '../config/prices/price-list.ts'
import { priceRows } from '../config/prices/price-rows.ts'
import type { Deployment } from '../core/deployment.ts'
import { closestMatch } from '../lib/closest-match.ts'
import { providers, splitModel } from '../providers/index.ts'
import type { Command } from './command.ts'
import { print, printError, table, UsageError } from './command.ts'
import { configFile, configFlag, jsonFlag } from './options.ts'
import { dollarsText } from './price-lists.ts'

/** Exit code 1 = the model has no known price. */
export const pricesExplain: Command = {
  name: 'prices explain',
  summary: 'Show what a model costs, and where each price comes from',
  arguments: 'MODEL',
  flags: { config: configFlag, json: jsonFlag },
  async run({ flags, environment, positionals }) {
    const [name] = positionals
    if (name === undefined) throw new UsageError('name a model: modelgate prices explain openai/gpt-5.5')
    const source = await openSettings({ configFile: configFile(flags, environment), environment, providers })
    const fetched = await source.fetchPrices()
    for (const problem of fetched?.problems ?? []) printError(problem)
    const configured = source.current().deployments.filter(one => one.modelName === name)
    const listed = configured.length > 0 ? undefined : catalogueModel(name)
    const found = listed ? [listed] : configured
    if (found.length === 0) {
      printError(unknownText(name))
      return 1
    }
    const shown = found.map(explained)
    print(flags.json ? JSON.stringify(shown, null, 2) : shown.map(asText).join('\n\n'))
    return shown.every(one => one.prices.length > 0) ? 0 : 1
  },
}

type Explained = ReturnType<typeof explained>

function explained(deployment: Deployment) {
  const { prices, priceSource, info, mode, modelName, target } = deployment
  const model = typeof info.base_model === 'string' ? info.base_model : target.model
  const split = splitModel(model)
  const place = placeOf(target.provider.name, target.options)
  const entry =
    catalogueEntry(target.provider.name, model, place) ??
    (split.provider === undefined ? undefined : catalogueEntry(split.provider, split.model))
  return {
    name: modelName,
    upstream: `${target.provider.name}/${target.model}`,
    mode,
    price_source: priceSource,
    price_list: priceListVersion(),
    row: entry ? `${entry.provider}/${entry.name}` : null,
    lists: entry?.lists ?? [],
    place: place ?? null,
    place_percent: prices?.regionPercent ?? {},
    prices: prices ? priceRows(prices).map(({ path, ...row }) => ({ ...row, ...originOf(path, entry) })) : [],
  }
}

/** Whose price it is, and whether public lists differ on it: the dearest holds then. */
function originOf(path: string, entry: CatalogueEntry | undefined) {
  const isOfOperator = entry?.ofOperator.has(path) ?? false
  const builtIn = entry?.lists.slice(entry.ofOperator.size > 0 ? 1 : 0).join(', ') ?? ''
  return {
    list: isOfOperator ? entry!.lists[0]! : builtIn,
    disputed: entry?.disputed.has(path) ?? false,
  }
}

function asText(one: Explained): string {
  const places = Object.entries(one.place_percent).map(([place, percent]) => `${place} ${percent} %`)
  const head = [
    `${one.name} (${one.upstream}, ${one.mode})`,
    `source: ${sourceText(one)}`,
    ...(one.place === null ? [] : [`place: ${one.place}`]),
    ...(places.length > 0 ? [`places, of the prices of tokens: ${places.join(', ')}`] : []),
  ]
  if (one.prices.length === 0) return [...head, 'no price is known: calls cost null'].join('\n')
  const isListed = one.price_source !== 'config'
  const rows = one.prices.map(row => [
    row.unit,
    dollarsText(row),
    row.when,
    ...(isListed ? [`${row.list}${row.disputed ? ' (lists differ: the dearest holds)' : ''}`] : []),
  ])
  return [...head, table(['WHAT', 'PRICE', 'WHEN', ...(isListed ? ['LIST'] : [])], rows)].join('\n')
}

function sourceText({ price_source: source, price_list: version, row, lists }: Explained): string {
  const list = row === null ? 'no price list has it' : `price list ${version}, row ${row}, of ${lists.join(', ')}`
  return source === 'config' ? `the configuration, over ${list}` : list
}

function unknownText(name: string): string {
  if (/(?:^|\/)arn:aws/.test(name))
    return (
      `'${name}' does not name its model; configure it with \`model_info.base_model\`, or ask for the model: ` +
      'modelgate prices explain bedrock/REGION/MODEL'
    )
  const { provider, model } = splitModel(name)
  const near = provider === undefined ? undefined : closestMatch(model, builtInModels(provider).keys())
  const proposal = near === undefined || `${provider}/${near}` === name ? '' : `, did you mean '${provider}/${near}'?`
  return `no model of the configuration or of a price list is called '${name}'${proposal || '; give provider/model'}`
}
