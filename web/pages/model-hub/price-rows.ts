/** Prices by the names of their keys, as the rows of a table: what is charged, from which length on, for whom. */

/** One price. */
export interface PriceRow {
  /** The whole name, as `input_cost_per_token_above_200k_tokens_batches`. */
  readonly name: string
  /** What is charged: the name without tier and variant. */
  readonly key: string
  /** Tokens of input from which on it holds; null = from the first. */
  readonly fromTokens: number | null
  /** `batches`, `priority`, ...; empty = the normal service. */
  readonly variant: string
  /** US dollars for one. */
  readonly usd: number
  /** Of what. */
  readonly unit: 'token' | 'character' | 'piece'
  /** How many the price is told for: a million tokens or characters, one of all else. */
  readonly units: number
}

const pattern = /^(.*?)(?:_above_(\d+)k_tokens)?(?:_(batches|flex|priority|fast|ultrafast|scale|balanced|decisions))?$/
const million = 1_000_000

/** In the order of the keys, each with its tiers and variants behind it. */
export function priceRows(prices: Readonly<Record<string, number>>): PriceRow[] {
  const rows = Object.entries(prices).map(([name, usd]): PriceRow => {
    const [, key = name, tier, variant = ''] = pattern.exec(name) ?? []
    const unit = key.includes('token') ? 'token' : key.includes('character') ? 'character' : 'piece'
    return {
      name,
      key,
      fromTokens: tier === undefined ? null : Number(tier) * 1000,
      variant,
      usd,
      unit,
      units: unit === 'piece' ? 1 : million,
    }
  })
  const order = [...new Set(rows.map(one => one.key))]
  const sortKey = ({ key, variant, fromTokens }: PriceRow) => [order.indexOf(key), variant, fromTokens ?? 0] as const
  return rows.toSorted((one, other) => {
    const [[a, b, c], [x, y, z]] = [sortKey(one), sortKey(other)]
    return a - x || b.localeCompare(y) || c - z
  })
}

/**
 * The first price of a model that is paid by searches, images, seconds or characters; undefined = it is paid by tokens,
 * or no price is known. Lists say 0 for the tokens of such models.
 */
export function priceWithoutTokens(model: {
  readonly input_cost_per_token?: number | null
  readonly output_cost_per_token?: number | null
  readonly prices?: Readonly<Record<string, number>>
}): PriceRow | undefined {
  if (model.input_cost_per_token || model.output_cost_per_token) return undefined
  return priceRows(model.prices ?? {}).find(
    one => one.unit !== 'token' && one.usd > 0 && one.variant === '' && one.fromTokens === null,
  )
}
