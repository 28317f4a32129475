/** How old the price lists in force are: prices of vendors change, and an old list charges what was. */

/** A price list in force. */
export interface DatedPriceList {
  readonly name: 'built-in' | 'operator'
  /** The day that its prices are of, in milliseconds since 1970; undefined = nothing says it. */
  readonly datedMs: number | undefined
}

/** An older list is reported. */
const priceListDaysMax = 30

const dayMs = 86_400_000

/** In whole days; undefined = nothing says it. */
export function ageInDays({ datedMs }: DatedPriceList, nowMs: number): number | undefined {
  return datedMs === undefined ? undefined : Math.max(Math.floor((nowMs - datedMs) / dayMs), 0)
}

/** The list whose price holds where both have one: the operator's, else the built-in one. */
const decidingList = (lists: readonly DatedPriceList[]): DatedPriceList | undefined => lists[0]

/** As readiness and the pages show the list that decides. */
export function priceListState(lists: readonly DatedPriceList[], nowMs: number) {
  const list = decidingList(lists)
  const days = list && ageInDays(list, nowMs)
  return {
    name: list?.name ?? ('built-in' as const),
    date: list?.datedMs === undefined ? null : dayOf(list.datedMs),
    age_days: days ?? null,
    is_old: days !== undefined && days > priceListDaysMax,
  }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** What to report of a list that decides and is too old; undefined = it is not, or nothing says how old it is. */
export function oldListReport(lists: readonly DatedPriceList[], nowMs: number) {
  const { name, date, age_days, is_old: isOld } = priceListState(lists, nowMs)
  if (!isOld) return undefined
  return {
    message: 'the price list is old, and calls are charged by it; `modelgate prices update` brings a newer one',
    fields: { list: name, dated: date, age_days },
  }
}
