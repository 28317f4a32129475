/** Makes the costs of the ledger's rows anew from what stands in them. */
import { usageOfRow } from '../pricing/ledger-usage.ts'
import { costUnder, readTerms } from '../pricing/price-terms.ts'
import { requestCost } from '../pricing/request-cost.ts'
import { priceListVersion } from '../config/prices/catalogue.ts'
import { catalogPrices } from '../config/prices/prices.ts'
import type { Deployment } from '../core/deployment.ts'
import type { LedgerRow } from '../core/ledger/ledger-columns.ts'

/** A row whose cost is another than its facts say. Nano-dollars. */
interface PriceDifference {
  readonly request_id: string
  readonly what: 'cost' | 'list cost'
  readonly found: string
  readonly expected: string
}

const differencesMax = 10_000

/** Adds up what was checked, row by row. */
export class PriceCheck {
  readonly counts = { rows: 0, terms: 0, usage: 0, skipped: 0 }
  /** The first of them. */
  readonly different: PriceDifference[] = []
  readonly #deployments: ReadonlyMap<string, Deployment>

  constructor(deployments: readonly Deployment[]) {
    this.#deployments = new Map(deployments.map(one => [one.id, one]))
  }

  /** Rows without a cost are not looked at. */
  add(row: LedgerRow): void {
    const { cost_nano_usd: cost, price_terms: text } = row
    if (cost === null) return
    this.counts.rows++
    const list = text === null ? cost : row.list_cost_nano_usd
    if (text !== null) {
      this.counts.terms++
      const terms = readTerms(text)
      const expected =
        terms && list !== null ? String(costUnder(terms, BigInt(list))) : 'not known: its terms are damaged'
      this.#compare(row, 'cost', cost, expected)
    }
    const made = this.#listCost(row)
    if (made === undefined || list === null) this.counts.skipped++
    else {
      this.counts.usage++
      this.#compare(row, 'list cost', list, made)
    }
  }

  /**
   * undefined = it cannot be made here: another price list, several requests to upstreams, lines of a batch, a cost
   * that the upstream said, a deployment that is not configured any more.
   */
  #listCost(row: LedgerRow): string | undefined {
    if (row.cost_source !== 'prices' || row.attempts !== 1 || row.operation === 'batches') return undefined
    if (row.price_list !== priceListVersion() || row.input_tokens === null) return undefined
    const deployment = this.#deployments.get(row.deployment_id ?? '')
    if (!deployment) return undefined
    const times = { atMs: row.started_at_ms, endedAtMs: row.started_at_ms + row.duration_ms }
    const { nanoUsd } = requestCost(usageOfRow(row), deployment, times, catalogPrices)
    return nanoUsd === null ? undefined : String(nanoUsd)
  }

  #compare(row: LedgerRow, what: PriceDifference['what'], found: string, expected: string): void {
    if (found === expected || this.different.length >= differencesMax) return
    this.different.push({ request_id: row.request_id, what, found, expected })
  }
}
