/** Prices from the catalogue of @pydantic/genai-prices, as exact integers, and from the operator's own decimals. */
import { createRequire } from 'node:module'
import type * as Catalogue from '@pydantic/genai-prices'
import type { Prices } from '../core/usage.ts'

/** Our names where the catalogue has others. */
const catalogueNames: Readonly<Record<string, string>> = {
  together_ai: 'together',
  fireworks_ai: 'fireworks',
  xai: 'x-ai',
  moonshot: 'moonshotai',
  text_completion_openai: 'openai',
}

let catalogue: typeof Catalogue | undefined

/** Loaded when the first price is asked for: it is 22 MB in memory, and who gives prices never needs it. */
function loadCatalogue(): typeof Catalogue {
  return (catalogue ??= createRequire(import.meta.url)('@pydantic/genai-prices') as typeof Catalogue)
}

/** Dollars a token as a decimal (`3e-06`) in nano-dollars a million tokens; exact, no float arithmetic. */
export function nanoUsdPerMillion(dollarsPerToken: number): bigint {
  return scaled(String(dollarsPerToken), 15)
}

/** A decimal text times ten to the power of `digits`, half up. */
function scaled(decimal: string, digits: number): bigint {
  const [mantissa, exponent = '0'] = decimal.toLowerCase().split('e')
  const [whole, fraction = ''] = mantissa!.split('.')
  const shift = Number(exponent) + digits - fraction.length
  const units = BigInt(`${whole}${fraction}`)
  if (shift >= 0) return units * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  return (units + divisor / 2n) / divisor
}

/** A price a million tokens; a tiered one counts with its base tier. */
function perMillion(value: unknown): bigint | undefined {
  if (typeof value === 'number') return scaled(String(value), 9)
  const base = (value as { base?: unknown } | null | undefined)?.base
  return typeof base === 'number' ? scaled(String(base), 9) : undefined
}

/** The catalogue's prices; null when it does not know the model. About 20 us: once a deployment, never a call. */
export function catalogPrices(provider: string, model: string): Prices | null {
  if (provider === 'local') return { input: 0n, output: 0n }
  // A host of one's own has no list price.
  if (provider === 'custom_openai' || provider === 'hosted_vllm') return null
  const found = loadCatalogue().calcPrice({ input_tokens: 1, output_tokens: 1 }, model, { providerId: catalogueNames[provider] ?? provider })
  const price = found?.model_price as Record<string, unknown> | undefined
  const input = perMillion(price?.input_mtok)
  if (input === undefined) return null
  const optional = (name: keyof Prices, value: unknown) => {
    const amount = perMillion(value)
    return amount === undefined ? {} : { [name]: amount }
  }
  return {
    input,
    output: perMillion(price!.output_mtok) ?? 0n,
    ...optional('cacheRead', price!.cache_read_mtok),
    ...optional('cacheWrite', price!.cache_write_mtok),
    ...optional('inputAudio', price!.input_audio_mtok),
    ...optional('outputAudio', price!.output_audio_mtok),
  }
}

/** What the operator wrote for a model; undefined when there is no price for input. */
export interface GivenPrices {
  readonly input_cost_per_token?: number | undefined
  readonly output_cost_per_token?: number | undefined
  readonly cache_read_input_token_cost?: number | undefined
  readonly cache_creation_input_token_cost?: number | undefined
}

export function givenPrices(given: GivenPrices): Prices | undefined {
  if (given.input_cost_per_token === undefined) return undefined
  const read = given.cache_read_input_token_cost
  const write = given.cache_creation_input_token_cost
  return {
    input: nanoUsdPerMillion(given.input_cost_per_token),
    output: nanoUsdPerMillion(given.output_cost_per_token ?? 0),
    ...(read !== undefined && { cacheRead: nanoUsdPerMillion(read) }),
    ...(write !== undefined && { cacheWrite: nanoUsdPerMillion(write) }),
  }
}
