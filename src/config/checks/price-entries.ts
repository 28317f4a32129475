/**
 * Prices in the entries of a configuration. There are more keys than a schema can name (every price in every tier and
 * variant), so they are checked here, and put back into the entry once the schema has checked the rest.
 */
import { isObject } from '../../lib/json/json-values.ts'
import { priceLimit, isReadPriceKey, readPriceKeys } from '../prices/read-price-keys.ts'
import type { PricedModel } from '../prices/read-price-keys.ts'
import type { ModelEntry } from '../sections/models.ts'
import type { Path } from '../reading/paths.ts'
import type { Finding } from '../reading/reading.ts'

/** The sections of an entry that take prices. */
const sections = ['proxy_params', 'model_info'] as const

type PriceFields = Partial<Record<(typeof sections)[number], Readonly<Record<string, unknown>>>>

/** A file without the prices of its entries. */
export interface WithoutPrices {
  readonly value: unknown
  /** By index in `model_list`. */
  readonly taken: ReadonlyMap<number, PriceFields>
  /** Values that are no prices. */
  readonly findings: readonly Finding[]
}

/** Takes the prices out of all entries and checks each. */
export function takePrices(value: unknown): WithoutPrices {
  if (!isObject(value) || !Array.isArray(value.model_list)) return { value, taken: new Map(), findings: [] }
  const taken = new Map<number, PriceFields>()
  const findings: Finding[] = []
  const list = value.model_list.map((entry: unknown, at) => {
    if (!isObject(entry)) return entry
    const rest: Record<string, unknown> = { ...entry }
    const prices: PriceFields = {}
    for (const section of sections) {
      const given = entry[section]
      if (!isObject(given) || !Object.keys(given).some(isReadPriceKey)) continue
      const all = Object.entries(given)
      rest[section] = Object.fromEntries(all.filter(([key]) => !isReadPriceKey(key)))
      const own = all.filter(([key, price]) => isReadPriceKey(key) && price !== null)
      for (const [key, price] of own) {
        const problem = priceProblem(key, price)
        if (problem !== undefined) findings.push({ path: ['model_list', at, section, key], message: problem })
      }
      prices[section] = Object.fromEntries(own)
    }
    if (Object.keys(prices).length > 0) taken.set(at, prices)
    return rest
  })
  return { value: { ...value, model_list: list }, taken, findings }
}

/** The entry with what was taken out of it. */
export function withPrices(entry: ModelEntry, taken: PriceFields | undefined): ModelEntry {
  if (!taken) return entry
  return {
    ...entry,
    proxy_params: { ...entry.proxy_params, ...taken.proxy_params },
    ...((entry.model_info ?? taken.model_info) && { model_info: { ...entry.model_info, ...taken.model_info } }),
  }
}

function priceProblem(key: string, given: unknown): string | undefined {
  const limit = priceLimit(key)
  if (limit === undefined) return undefined
  const price = typeof given === 'string' ? Number(given.trim() || 'none') : given
  if (typeof price === 'number' && price >= 0 && price <= limit) return undefined
  const shown = typeof given === 'object' ? 'a map or a list' : JSON.stringify(given)
  return `must be dollars for one, a number from 0 to ${limit}; got ${shown}`
}

/** Given prices that change nothing for this model, by their path in the entry. */
export function pricesWithoutEffect(entry: ModelEntry, model: PricedModel): { path: Path; message: string }[] {
  return sections.flatMap(section =>
    readPriceKeys(entry[section] ?? {}, model).withoutEffect.map(key => ({
      path: [section, key],
      message: `has no effect here: it is not what a model of the mode \`${model.mode ?? 'chat'}\` is billed by`,
    })),
  )
}
