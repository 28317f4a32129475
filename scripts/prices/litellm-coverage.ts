/**
 * How much of LiteLLM's list has a price here, by provider, and why the rest has none: a section of
 * docs/priced-models.md, and `npm run prices -- --coverage` for the newest list.
 */
import { isListedAs, isPartOfModel, writtenName } from '../../src/config/prices/litellm-names.ts'
import { listName } from '../../src/config/prices/model-names.ts'
import { readPriceKeys } from '../../src/config/prices/read-price-keys.ts'
import { otherModes } from './litellm-list.ts'
import type { LiteLLMEntries, LiteLLMEntry } from './litellm-list.ts'
import type { Decision } from './merge.ts'
import { listedProviders } from './provider-names.ts'

/** Why an entry has no price here. */
export const reasons = {
  part: 'names no model, but a commitment or one size of a picture',
  mode: 'is called in a way that the gateway does not have (video, real time, search and the like)',
  free: 'has no price in the list',
  decided: 'has a price that is wrong or disputed by half and more: it is unknown here',
  newer: 'is not in the built-in list',
} as const
/** One of `reasons`. */
export type Reason = keyof typeof reasons

/** What the list has of one provider. */
export interface ProviderCoverage {
  readonly provider: string
  readonly entries: number
  readonly priced: number
  /** Names as of `listName`, by the reason. */
  readonly without: Readonly<Record<Reason, readonly string[]>>
}

/** The whole list. */
export interface Coverage {
  readonly providers: readonly ProviderCoverage[]
  /** Entries by `litellm_provider`, of providers whose prices are not listed here. */
  readonly others: ReadonlyMap<string, number>
}

/** undefined = the built-in list does not have the model; else whether it has a price. */
export type IsPriced = (provider: string, name: string) => boolean | undefined

/** Every entry is counted once. */
export function coverageOf(entries: LiteLLMEntries, isPriced: IsPriced): Coverage {
  const found = new Map<string, { entries: number; priced: number; without: Record<Reason, string[]> }>()
  const others = new Map<string, number>()
  for (const [key, entry] of Object.entries(entries)) {
    if (key === 'sample_spec') continue
    const word = typeof entry.litellm_provider === 'string' ? entry.litellm_provider : 'without a provider'
    const provider = providerOf(word)
    if (provider === undefined) {
      others.set(word, (others.get(word) ?? 0) + 1)
      continue
    }
    const row = found.get(provider) ?? {
      entries: 0,
      priced: 0,
      without: { part: [], mode: [], free: [], decided: [], newer: [] },
    }
    found.set(provider, row)
    row.entries++
    const name = listName(writtenName(provider, key, word))
    const reason = reasonFor(key, entry, isPriced(provider, name))
    if (reason === undefined) row.priced++
    else row.without[reason].push(name)
  }
  const providers = [...found].map(([provider, row]) => ({ provider, ...row }))
  return { providers: providers.sort((one, other) => other.entries - one.entries), others }
}

const providerOf = (word: string): string | undefined =>
  Object.keys(listedProviders).find(one => listedProviders[one]!.litellm && isListedAs(one, word))

/** undefined = it has a price. */
function reasonFor(key: string, entry: LiteLLMEntry, isPriced: boolean | undefined): Reason | undefined {
  if (isPriced) return undefined
  if (isPartOfModel(key)) return 'part'
  if (otherModes.test(String(entry.mode ?? ''))) return 'mode'
  if (!readPriceKeys(entry, {}).terms.some(({ price }) => price > 0n)) return 'free'
  return isPriced === undefined ? 'newer' : 'decided'
}

const shownNamesMax = 6

/** As Markdown. `decisions` say why a price is unknown. */
export function coverageTable({ providers, others }: Coverage, decisions: readonly Decision[]): string {
  const columns = Object.keys(reasons) as Reason[]
  const sum = (count: (row: ProviderCoverage) => number) => providers.reduce((all, row) => all + count(row), 0)
  const line = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`
  const cells = (name: string, count: (of: (row: ProviderCoverage) => number) => number) =>
    line([
      name,
      count(row => row.entries),
      count(row => row.priced),
      ...columns.map(one => count(row => row.without[one].length)),
    ])
  const elsewhere = [...others.values()].reduce((all, one) => all + one, 0)
  return [
    line(['provider', 'entries', 'priced', ...columns]),
    line(['---', ...['', '', ...columns].map(() => '---:')]),
    ...providers.map(row => cells(row.provider, of => of(row))),
    cells('all', sum),
    '',
    ...columns.map(one => `- ${one}: the entry ${reasons[one]}.`),
    '',
    ...namesWithout(providers, decisions),
    `${elsewhere} further entries are of ${others.size} providers whose prices are not kept here: ` +
      `${[...others]
        .sort(([one, count], [other, counted]) => counted - count || (one < other ? -1 : 1))
        .map(([word, count]) => `${word} ${count}`)
        .join(', ')}. An operator's list brings them.`,
  ].join('\n')
}

const undecided = 'the lists differ by half and more, or it is out of all proportion.'

/** The models whose price the list has and we do not, each with its reason. */
function namesWithout(providers: readonly ProviderCoverage[], decisions: readonly Decision[]): string[] {
  const lines = providers.flatMap(({ provider, without: { decided, newer } }) => [
    ...[...new Set(decided)].map(name => {
      const decision = decisions.find(one => one.provider === provider && one.models.includes(name))
      return `- \`${provider}/${name}\`: ${decision?.because ?? undecided}`
    }),
    ...(newer.length > 0 ? [`- ${provider}, not in the built-in list: ${shown(newer)}`] : []),
  ])
  return lines.length > 0 ? ['Priced by the list and not here:', '', ...lines, ''] : []
}

function shown(names: readonly string[]): string {
  const text = names
    .slice(0, shownNamesMax)
    .map(name => `\`${name}\``)
    .join(', ')
  return names.length > shownNamesMax ? `${text} and ${names.length - shownNamesMax} more` : text
}
