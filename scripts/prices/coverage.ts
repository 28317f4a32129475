/** Writes docs/priced-models.md: the most used models, which are those that two public lists name, and their prices. */
import type { SourceList } from '../../src/config/prices/price-list.ts'
import type { PriceList } from './flat.ts'
import type { ListName, Merged } from './merge.ts'

/** Names of snapshots: their model is in the list by its plain name. */
const snapshot = /-20\d\d-?\d\d-?\d\d|@|-\d{4}$|-v\d+:\d/

interface Row {
  readonly provider: string
  readonly priced: readonly string[]
  readonly unknown: readonly string[]
}

/** The whole page. */
export function coveragePage(
  lists: Readonly<Record<ListName, PriceList>>,
  merged: Merged,
  sources: readonly SourceList[],
  litellm: string,
): string {
  const rows = [...lists['genai-prices']].map(([provider, models]) => rowOf(provider, models, lists.litellm, merged))
  const shown = rows.filter(row => row.priced.length + row.unknown.length > 0)
  const priced = shown.reduce((sum, row) => sum + row.priced.length, 0)
  const all = shown.reduce((sum, row) => sum + row.priced.length + row.unknown.length, 0)
  const versions = sources.map(({ name, version }) => `${name} ${version}`).join(', ')
  const table = shown.map(
    ({ provider, priced: known, unknown }) =>
      `| ${provider} | ${known.length + unknown.length} | ${known.length} | ${unknown.map(code).join(', ')} |`,
  )
  const names = shown.map(({ provider, priced: known, unknown }) => {
    const text = [...known, ...unknown].sort().map(code).join(', ')
    return `## ${provider}\n\n${text}\n`
  })
  return `# The most used models, and which of them have a price

Written by \`npm run prices\`; do not edit it by hand. A model counts as much used if two public lists, genai-prices and
litellm, name it at the same provider; snapshots by date are left out. Lists: ${versions}.

${priced} of ${all} models have a price. Why the others have none is in \`scripts/prices/decisions.json\`.

| provider | models | with a price | without |
|---|---|---|---|
${table.join('\n')}

## LiteLLM's whole list

By \`npm run prices -- --coverage\` the same of the newest one.

${litellm}

${names.join('\n')}`
}

function rowOf(
  provider: string,
  models: ReadonlyMap<string, unknown>,
  litellm: PriceList,
  { models: merged }: Merged,
): Row {
  const names = [...models.keys()].filter(name => litellm.get(provider)?.has(name) && !snapshot.test(name)).sort()
  const isPriced = (name: string) => Object.keys(merged.get(provider)?.get(name)?.prices ?? {}).length > 0
  return { provider, priced: names.filter(isPriced), unknown: names.filter(name => !isPriced(name)) }
}

const code = (name: string): string => `\`${name}\``
