/** Prices of models in `proxy_params` and `model_info`, in dollars, and the price list of the operator. */
import { z } from 'zod'
import { settingKeys } from '../../core/setting-keys.ts'
import { openMap, text } from './value-types.ts'

/** Checked by price-entries.ts, with what may follow a key: a tier, and a variant. */
const pricedUnits = {
  input_cost_per_token: 'a token of input',
  output_cost_per_token: 'a token of output',
  cache_read_input_token_cost: 'a token of input that was read from a cache',
  cache_read_input_audio_token_cost: 'a token of audio that was read from a cache',
  cache_read_input_image_token_cost: 'a token of an image that was read from a cache',
  cache_creation_input_token_cost: 'a token of input that was written to a cache',
  cache_creation_input_token_cost_above_1hr: 'a token of input that was written to a cache for an hour',
  input_cost_per_audio_token: 'a token of audio input',
  output_cost_per_audio_token: 'a token of audio output',
  input_cost_per_image_token: 'a token of image input',
  output_cost_per_image_token: 'a token of image output',
  input_cost_per_video_token: 'a token of video input',
  output_cost_per_video_token: 'a token of video output',
  output_cost_per_reasoning_token: 'a token of thinking',
  output_cost_per_image: 'an image that is made',
  input_cost_per_image: 'an image that is made, of a model for images',
  input_cost_per_character: 'a character of a text that is spoken',
  output_cost_per_character: 'a character of a text that is spoken',
  input_cost_per_second: 'a second of audio input',
  output_cost_per_second: 'a second of audio output',
  input_cost_per_audio_per_second: 'a second of audio input',
  output_cost_per_video_per_second: 'a second of a video that is made',
  input_cost_per_query: 'a search of a reranking model',
  input_cost_per_request: 'a call',
  input_cost_per_page: 'a page of a document',
  ocr_cost_per_page: 'a page of a document',
  file_search_cost_per_1k_calls: "a thousand searches of files by the vendor's tool",
  code_interpreter_cost_per_session: "a session of the vendor's tool that runs code",
} as const

const dollars = () => z.union([z.number(), z.string()])
const suffixes =
  ' With `_above_200k_tokens` (any number) it is that of calls with more input than so many thousand tokens, with ' +
  '`_batches`, `_flex`, `_priority`, `_fast`, `_ultrafast` or `_scale` at the end that of calls so served.'

const priceKey = (key: string, unit: string) => ({
  type: dollars,
  description: `The price in dollars that is charged for ${unit}.${key === 'input_cost_per_token' ? suffixes : ''}`,
  example: /token/.test(key) ? 0.000001 : 0.002,
})

const unitKeys = Object.fromEntries(
  Object.entries(pricedUnits).map(([key, unit]) => [key, priceKey(key, unit)]),
) as Record<keyof typeof pricedUnits, ReturnType<typeof priceKey>>

/**
 * Keys of `proxy_params` and of `model_info`: at most 1 dollar for a token, 1000 for other units; a number, or a text
 * of one.
 */
export const priceKeys = settingKeys('prices', {
  ...unitKeys,
  search_context_cost_per_query: {
    type: () => z.record(z.string(), dollars()),
    description: "The price in dollars that a search of the web by the vendor's tool costs; all sizes need one price.",
    example: { search_context_size_medium: 0.01 },
  },
  tiered_pricing: {
    type: () => z.array(openMap()),
    description: 'Prices that hold by the length of the input: entries with a `range` and prices of tokens.',
    example: [
      { range: [0, 128_000], input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 },
      { range: [128_000, 1_000_000], input_cost_per_token: 0.000002, output_cost_per_token: 0.000004 },
    ],
  },
  off_peak_pricing: {
    type: openMap,
    description: 'Prices that hold at certain hours: prices of tokens, and `windows` with `hours_utc` and `weekdays`.',
    example: {
      input_cost_per_token: 0.0000005,
      windows: [{ hours_utc: '16:30-00:30', weekdays: [1, 2, 3, 4, 5] }],
    },
  },
})

/** Keys of `prices` of the file: where a list of the operator is. */
export const priceSourceKeys = settingKeys('prices', {
  source: {
    type: () =>
      text().refine(
        one => !/^http:\/\/(?!127\.|localhost[:/]|\[::1\])/.test(one),
        'must be a file, or an address with https://',
      ),
    isRequired: true,
    description:
      'The file, relative to this one, or the address that holds the price list. It is read again when it changes.',
    example: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
  },
  sha256: {
    type: () => z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256: 64 hexadecimal digits'),
    description: 'The hash of the price list; another list is refused.',
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  },
  public_key: {
    type: () => z.string().regex(/^[A-Za-z0-9+/]{43}=$/, 'must be an Ed25519 public key: 32 bytes in base64'),
    description:
      'The key that the price list is signed by; the signature is at the same place, with `.sig` at its end.',
    example: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
  },
  refresh_seconds: {
    usedWith: { path: 'prices' },
    type: () => z.number().int().min(60).max(604_800),
    default: 3600,
    description: 'How many seconds pass until an address is read again.',
    example: 3600,
  },
})
