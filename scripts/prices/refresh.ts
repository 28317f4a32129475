/**
 * Makes src/config/prices/prices.json of three public price lists, with tests/data/price-lists.json, what the lists say
 * where they are compared with it, and docs/priced-models.md: `npm run prices`. Differences that need a decision are
 * written to standard error, and so are prices out of all proportion; until decisions.json has one, they are unknown.
 * With `--again` the lists are read in the versions and on the day of the present prices.json: what changes then, rules
 * and decisions have changed. With `--coverage` nothing is written: how much of LiteLLM's newest list has a price in
 * the present prices.json is printed, by provider, with the reasons of what has none.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { comparedText } from './compared.ts'
import { coveragePage } from './coverage.ts'
import { coverageOf, coverageTable } from './litellm-coverage.ts'
import type { IsPriced } from './litellm-coverage.ts'
import { mergeLists } from './merge.ts'
import type { Decision } from './merge.ts'
import { withoutImplausible } from './plausibility.ts'
import { builtInList, builtInModels } from '../../src/config/prices/price-list.ts'
import type { PriceListFile } from '../../src/config/prices/price-list.ts'
import { fallbackProviders } from './provider-names.ts'
import { readNewestEntries, readSources } from './sources.ts'
import { asText } from './write.ts'

const root = join(import.meta.dirname, '../..')
const listFile = 'src/config/prices/prices.json'
const decisions = JSON.parse(readFileSync(join(import.meta.dirname, 'decisions.json'), 'utf8')) as Decision[]
if (process.argv.includes('--coverage')) {
  const { entries, source } = readNewestEntries()
  const isPriced: IsPriced = (provider, name) => {
    const entry = builtInModels(provider).get(name)
    return entry && Object.keys(entry.prices).length > 0
  }
  process.stdout.write(`litellm ${source.version}, prices of ${builtInList().version}\n\n`)
  process.stdout.write(`${coverageTable(coverageOf(entries, isPriced), decisions)}\n`)
  process.exit()
}
const isAgain = process.argv.includes('--again')
const present = isAgain ? (JSON.parse(readFileSync(join(root, listFile), 'utf8')) as PriceListFile) : undefined
const today = present?.version ?? new Date().toISOString().slice(0, 10)
const { lists, sources, entries } = readSources(today, present?.sources)
const isDecided = (provider: string, model: string): boolean =>
  decisions.some(one => one.provider === provider && one.models.includes(model))
const { merged, implausible } = withoutImplausible(mergeLists(lists, decisions), isDecided)
const head = {
  notice: 'Made by scripts/prices/refresh.ts of public lists under the MIT licence; see NOTICE. US dollars.',
  version: today,
  sources,
  fallbacks: fallbackProviders,
}
const isPriced: IsPriced = (provider, name) => {
  const model = merged.models.get(provider)?.get(name)
  return model && Object.keys(model.prices).length > 0
}
const written = [
  [listFile, asText(head, merged)],
  ['tests/data/price-lists.json', comparedText(lists, sources)],
  [
    'docs/priced-models.md',
    coveragePage(lists, merged, sources, coverageTable(coverageOf(entries, isPriced), decisions)),
  ],
] as const
for (const [path, text] of written) {
  writeFileSync(join(root, path), text)
  process.stdout.write(`${path}: ${text.length} bytes\n`)
}
const open = merged.differences.filter(one => one.open)
for (const { provider, model, path, values } of open)
  process.stderr.write(`undecided: ${provider} ${model} ${path} ${JSON.stringify(values)}\n`)
for (const { provider, model, unit, dollars, dearest } of implausible)
  process.stderr.write(
    `implausible: ${provider} ${model} ${unit} ${dollars}, where the dearest of its kind costs ${dearest}\n`,
  )
process.stdout.write(`${merged.differences.length} differences, ${open.length} without a decision\n`)
