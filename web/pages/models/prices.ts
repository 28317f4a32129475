import type { ModelInfo } from '../../api/schema.d.ts'
import { formatMoney } from '../../lib/format.ts'
import { priceWithoutTokens } from '../model-hub/price-rows.ts'
import type { PriceRow } from '../model-hub/price-rows.ts'

type Info = ModelInfo['model_info']

/** Prices a token, which are shown for a million. */
const perToken = /_per_(?:audio_|image_|video_|reasoning_)?token(?:_|$)|_token_cost/

/** Every price that is known, as the API names it and as people read it: `$3.00 / M tokens`. */
export function pricesOf(info: Info): { readonly name: string; readonly text: string }[] {
  return Object.entries(info).flatMap(([name, value]) => {
    if (typeof value !== 'number' || !/_cost(?:_|$)/.test(name)) return []
    const text = perToken.test(name) ? `${formatMoney(value * 1e6)} / M tokens` : formatMoney(value)
    return [{ name: name.replaceAll('_', ' ').replace(' per token', ''), text }]
  })
}

/** Of a deployment that is paid by something else than tokens. */
export function otherPriceOf(info: Info): PriceRow | undefined {
  const prices = Object.entries(info).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && /_cost(?:_|$)/.test(entry[0]),
  )
  return priceWithoutTokens({ ...info, prices: Object.fromEntries(prices) })
}

/** For a million tokens; null = not known. */
export const perMillion = (perTokenUsd: number | null): string | null =>
  perTokenUsd === null ? null : formatMoney(perTokenUsd * 1e6)
