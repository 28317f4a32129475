/** Prices as rows for people: one line for each price, with what it holds for. */
import type { Prices } from '../../core/usage/prices.ts'
import { priceUnits, unitScales } from './list-prices.ts'
import type { PriceUnit } from './list-prices.ts'

/** One price of a model, as tables show it. */
export interface PriceRow {
  readonly unit: PriceUnit
  /** Dollars for a million tokens or characters, else for one. */
  readonly dollars: number
  readonly per: 'million' | 'one'
  /** What it holds for: empty = standard calls; else `flex`, `from 272,001 input tokens`, `on 2027-01-01`. */
  readonly when: string
  /** As in `CatalogueEntry.disputed`; of prices of certain hours and dates that of the standard price. */
  readonly path: string
}

/** All prices of a model, standard ones first. */
export function priceRows(prices: Prices, when: readonly string[] = [], scope = ''): PriceRow[] {
  const own = priceUnits.flatMap((unit): PriceRow[] => {
    const price = prices[unit]
    if (price === undefined) return []
    const per = unitScales[unit]
    const dollars = Number(price) / (per === 'million' ? 1e9 : 1e15)
    return [{ unit, dollars, per, when: when.join(', '), path: `${scope}${unit}` }]
  })
  const inner = (others: Prices, condition: string, part = '') =>
    priceRows(others, [...when, condition], `${scope}${part}`)
  return [
    ...own,
    ...(prices.tiers ?? []).flatMap(({ fromInputTokens, prices: above }) =>
      inner(above, `from ${fromInputTokens.toLocaleString('en-US')} input tokens`, `tiers.${fromInputTokens}.`),
    ),
    ...(prices.hours ?? []).flatMap(({ prices: then, ...hours }) => inner(then, hoursText(hours))),
    ...Object.entries(prices.variants ?? {}).flatMap(([name, variant]) => inner(variant, name, `variants.${name}.`)),
    ...(prices.later ?? []).flatMap(({ fromMs, prices: then }) =>
      inner(then, `from ${new Date(fromMs).toISOString().slice(0, 10)} on`),
    ),
  ]
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

function hoursText({ windows, days }: Omit<NonNullable<Prices['hours']>[number], 'prices'>): string {
  const clock = (minute: number) => `${pad(Math.floor(minute / 60))}:${pad(minute % 60)}`
  const times = windows.map(({ fromMinute, toMinute }) => `${clock(fromMinute)}-${clock(toMinute)}`).join(' and ')
  return `${times} UTC${days ? ` on ${days.map(day => weekdays[day]).join(', ')}` : ''}`
}

const pad = (number: number): string => String(number).padStart(2, '0')
