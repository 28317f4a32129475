import { t } from '../model-hub.page.ts'
import type { StringKey } from '../model-hub.page.ts'
import { formatCount, formatMoney } from '../../lib/format.ts'
import { priceRows } from './price-rows.ts'
import type { PriceRow } from './price-rows.ts'

/** The words of what is charged; a price without a word here is shown by its key. */
const words: Readonly<Record<string, StringKey>> = {
  input_cost_per_token: 'hub.price.input',
  output_cost_per_token: 'hub.price.output',
  cache_read_input_token_cost: 'hub.price.cacheRead',
  cache_creation_input_token_cost: 'hub.price.cacheWrite',
  cache_creation_input_token_cost_above_1hr: 'hub.price.cacheWriteHour',
  input_cost_per_audio_token: 'hub.price.inputAudio',
  output_cost_per_audio_token: 'hub.price.outputAudio',
  input_cost_per_image_token: 'hub.price.inputImage',
  output_cost_per_image_token: 'hub.price.outputImage',
  output_cost_per_reasoning_token: 'hub.price.reasoning',
  output_cost_per_image: 'hub.price.image',
  input_cost_per_character: 'hub.price.character',
  input_cost_per_second: 'hub.price.second',
  output_cost_per_second: 'hub.price.second',
  input_cost_per_query: 'hub.price.query',
  input_cost_per_request: 'hub.price.request',
  ocr_cost_per_page: 'hub.price.page',
}

/** What a price is for, in words. */
export const wordOf = ({ key }: PriceRow): string => {
  const word = words[key]
  return word ? t(word) : key
}

/** When a price holds: always, from so many tokens of input on, for a service tier. */
function termOf({ fromTokens, variant }: PriceRow): string {
  const from = fromTokens === null ? '' : t('hub.price.from', { count: formatCount(fromTokens) })
  return [from, variant].filter(Boolean).join(', ')
}

/** Every price of a model, with the tiers by length and the variants by service. */
export function PriceTable({ prices }: { readonly prices: Readonly<Record<string, number>> }) {
  const rows = priceRows(prices)
  if (rows.length === 0) return <p className="text-muted">{t('hub.price.none')}</p>
  return (
    <table className="w-full">
      <caption className="sr-only">{t('hub.prices')}</caption>
      <thead>
        <tr className="border-b border-line-strong text-left text-muted">
          <th scope="col" className="py-2 font-medium">
            {t('hub.price.what')}
          </th>
          <th scope="col" className="py-2 text-right font-medium">
            {t('hub.price')}
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={row.name} className="border-b border-line">
            <td className="py-2">
              {wordOf(row)} {termOf(row) && <span className="text-muted">{termOf(row)}</span>}
            </td>
            <td className="numbers whitespace-nowrap py-2 text-right" title={`${row.usd} USD / ${row.unit}`}>
              {formatMoney(row.usd * row.units)}{' '}
              <span className="text-muted">{row.units > 1 ? t('hub.price.million') : t('hub.price.each')}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
