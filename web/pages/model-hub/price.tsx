import { formatMoney } from '../../lib/format.ts'
import { t } from '../model-hub.page.ts'
import type { PriceRow } from './price-rows.ts'
import { wordOf } from './price-table.tsx'

const million = 1_000_000

/** US dollars a million tokens; null = the price is not known, which is not zero. */
export function Price({ perToken }: { readonly perToken: number | null | undefined }) {
  if (perToken === null || perToken === undefined) return <span className="text-muted">{t('money.unknown')}</span>
  return (
    <span className="numbers whitespace-nowrap" title={`${perToken} USD / token`}>
      {formatMoney(perToken * million)}
    </span>
  )
}

/** Of a model that is not paid by tokens: "Search $0.0020 each". */
export function OtherPrice({ row }: { readonly row: PriceRow }) {
  return (
    <span className="numbers min-w-0 truncate" title={`${wordOf(row)}: ${row.usd} USD / ${row.unit}`}>
      <span className="text-muted">{wordOf(row)}</span> {formatMoney(row.usd * row.units)}{' '}
      <span className="text-muted">{t(row.units > 1 ? 'hub.price.million' : 'hub.price.each')}</span>
    </span>
  )
}
