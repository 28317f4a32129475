import { useSearch } from '@tanstack/react-router'
import type { HubModel } from '../../api/model-groups.ts'
import { SearchField } from '../../components/forms/search-field.tsx'
import { Select } from '../../components/forms/select.tsx'
import { useChangeSearch } from '../../lib/address.ts'
import type { SearchValues } from '../../lib/address.ts'
import { formatCompact, formatMoney } from '../../lib/format.ts'
import { useSearchText } from '../../lib/search-text.ts'
import { t } from '../model-hub.page.ts'
import { abilities, abilityWords } from './abilities.ts'
import { priceWithoutTokens } from './price-rows.ts'

/** The facets as they stand in the address; absent = all. */
const facets = ['provider', 'mode', 'ability', 'price', 'context'] as const
type Facet = (typeof facets)[number]

const million = 1_000_000
/** US dollars for a million tokens of input, at most. */
const prices = ['0', '0.5', '1', '3', '10']
/** Tokens of input, at least. */
const contexts = ['32000', '128000', '200000', '1000000']

/** Every value of a facet, once, in its order. */
const valuesOf = (values: readonly (string | null)[]): string[] =>
  [...new Set(values)].filter(value => value !== null).toSorted()

/** What is searched for, and the function that says whether a model fits. */
export function useHubFilter() {
  const search: SearchValues = useSearch({ strict: false })
  const wanted = (search.q ?? '').toLowerCase()
  const { provider, mode, ability, price, context } = search
  const names = (model: HubModel) => [model.model_group, ...model.aliases, model.description ?? '']
  const fits = (model: HubModel): boolean =>
    names(model).some(one => one.toLowerCase().includes(wanted)) &&
    (!provider || model.providers.includes(provider)) &&
    (!mode || model.mode === mode) &&
    (!ability || abilities(model).some(one => one === ability)) &&
    (!price || isCheap(model, Number(price))) &&
    (!context || (model.max_input_tokens ?? 0) >= Number(context))
  const values = Object.fromEntries(['q', ...facets].map(name => [name, search[name]]))
  return { fits, values }
}

/** A price that is not known fits no limit of a price of tokens, nor does one of something else. */
function isCheap(model: HubModel, limit: number): boolean {
  const price = model.input_cost_per_token
  return price !== null && price !== undefined && price * million <= limit && !priceWithoutTokens(model)
}

/** The field and the facets, which offer what the models have. */
export function HubFilters({ models }: { readonly models: readonly HubModel[] }) {
  const { text, type } = useSearchText()
  const hasPrices = models.some(one => one.input_cost_per_token !== undefined)
  const found = valuesOf(models.flatMap(abilities))
  return (
    <>
      <SearchField label={t('hub.search')} value={text} onChange={type} />
      <FacetSelect
        name="provider"
        label={t('hub.provider')}
        every={t('hub.everyProvider')}
        values={valuesOf(models.flatMap(one => one.providers))}
      />
      <FacetSelect
        name="mode"
        label={t('hub.mode')}
        every={t('hub.everyMode')}
        values={valuesOf(models.map(one => one.mode))}
      />
      <FacetSelect
        name="ability"
        label={t('hub.ability')}
        every={t('hub.everyAbility')}
        values={found}
        word={one => t(abilityWords[one as keyof typeof abilityWords])}
      />
      {hasPrices && (
        <FacetSelect
          name="price"
          label={t('hub.price')}
          every={t('hub.everyPrice')}
          values={prices}
          word={one => (one === '0' ? t('hub.free') : t('hub.priceMost', { price: formatMoney(Number(one)) }))}
        />
      )}
      <FacetSelect
        name="context"
        label={t('hub.context')}
        every={t('hub.everyContext')}
        values={contexts}
        word={one => t('hub.contextLeast', { count: formatCompact(Number(one)) })}
      />
    </>
  )
}

interface FacetSelectProps {
  readonly name: Facet
  readonly label: string
  /** The choice of all. */
  readonly every: string
  readonly values: readonly string[]
  /** What a value is called; absent = as it is. */
  readonly word?: (value: string) => string
}

function FacetSelect({ name, label, every, values, word = one => one }: FacetSelectProps) {
  const search: SearchValues = useSearch({ strict: false })
  const change = useChangeSearch()
  return (
    <Select
      isCompact
      label={label}
      choices={[{ value: '', label: every }, ...values.map(value => ({ value, label: word(value) }))]}
      value={search[name] ?? ''}
      onChange={value => change({ [name]: value || undefined })}
    />
  )
}
