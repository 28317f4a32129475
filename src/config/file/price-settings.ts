/** Keys of prices in `proxy_params` and `model_info`, in dollars. */
import { z } from 'zod'
import { tokenPriceKeys, unitPriceKeys } from '../prices/prices.ts'
import type { TokenPriceKey, UnitPriceKey } from '../prices/prices.ts'

const pricedUnits: Readonly<Record<string, string>> = {
  input_cost_per_token: 'a token of input',
  output_cost_per_token: 'a token of output',
  cache_read_input_token_cost: 'a token of input that was read from a cache',
  cache_creation_input_token_cost: 'a token of input that was written to a cache',
  cache_creation_input_token_cost_above_1hr: 'a token of input that was written to a cache for an hour',
  input_cost_per_audio_token: 'a token of audio input',
  output_cost_per_audio_token: 'a token of audio output',
  input_cost_per_image_token: 'a token of image input',
  output_cost_per_image_token: 'a token of image output',
  output_cost_per_reasoning_token: 'a token of thinking',
  input_cost_per_token_batches: 'a token of input in a batch',
  output_cost_per_token_batches: 'a token of output in a batch',
  output_cost_per_image: 'an image that is made',
  input_cost_per_character: 'a character of a text that is spoken',
  input_cost_per_second: 'a second of audio input',
  output_cost_per_second: 'a second of audio output',
  input_cost_per_query: 'a search of a reranking model',
  input_cost_per_request: 'a call',
}

/** At most 1 dollar for a token, 1000 for other units. */
export const prices = {
  ...keysOf<TokenPriceKey>(tokenPriceKeys, z.number().min(0).max(1)),
  ...keysOf<UnitPriceKey>(unitPriceKeys, z.number().min(0).max(1000)),
}

function keysOf<Key extends string>(keys: readonly Key[], price: z.ZodNumber) {
  const entries = keys.map(key => [key, price.optional().describe(priceSentence(key))])
  return Object.fromEntries(entries) as Record<Key, z.ZodOptional<z.ZodNumber>>
}

/** What a key with a price means, made from its name. */
function priceSentence(key: string): string {
  const [, name = '', over] = /^(.*?)(?:_above_(\d+)k_tokens)?$/.exec(key)!
  const tier = over === undefined ? '' : `, of calls with more than ${over},000 tokens of input`
  return `Dollars for ${pricedUnits[name]}${tier}.`
}

/** An example of each. */
export const priceExamples = {
  ...exampleOf<TokenPriceKey>(tokenPriceKeys, 0.000001),
  ...exampleOf<UnitPriceKey>(unitPriceKeys, 0.002),
}

function exampleOf<Key extends string>(keys: readonly Key[], example: number) {
  return Object.fromEntries(keys.map(key => [key, example])) as Record<Key, number>
}
