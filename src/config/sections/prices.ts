/** Keys of prices in `proxy_params` and `model_info`, in dollars, as the reference of the configuration lists them. */
import { z } from 'zod'
import { priceSourceExamples, withExamples } from './key-examples.ts'

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

const dollars = z.union([z.number(), z.string()])
const suffixes =
  ' With `_above_200k_tokens` (any number) it is that of calls with more input than so many thousand tokens, with ' +
  '`_batches`, `_flex`, `_priority`, `_fast`, `_ultrafast` or `_scale` at the end that of calls so served.'

/** At most 1 dollar for a token, 1000 for other units; a number, or a text of one. */
export const prices = {
  ...mapped(pricedUnits, (key, unit) =>
    dollars.optional().describe(`Dollars for ${unit}.${key === 'input_cost_per_token' ? suffixes : ''}`),
  ),
  search_context_cost_per_query: z
    .record(z.string(), dollars)
    .optional()
    .describe("Dollars for a search of the web by the vendor's tool; it needs one price for all sizes."),
  tiered_pricing: z
    .array(z.record(z.string(), z.unknown()))
    .optional()
    .describe('Prices by the length of the input: entries with a `range` and prices of tokens.'),
  off_peak_pricing: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Prices of certain hours: prices of tokens, and `windows` with `hours_utc` and `weekdays`.'),
}

/** An example of each key of `prices`. */
export const priceExamples = {
  ...mapped(pricedUnits, key => (/token/.test(key) ? 0.000001 : 0.002)),
  search_context_cost_per_query: { search_context_size_medium: 0.01 },
  tiered_pricing: [
    { range: [0, 128_000], input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 },
    { range: [128_000, 1_000_000], input_cost_per_token: 0.000002, output_cost_per_token: 0.000004 },
  ],
  off_peak_pricing: {
    input_cost_per_token: 0.0000005,
    windows: [{ hours_utc: '16:30-00:30', weekdays: [1, 2, 3, 4, 5] }],
  },
}

function mapped<Key extends string, Value>(
  given: Readonly<Record<Key, string>>,
  value: (key: Key, unit: string) => Value,
): Record<Key, Value> {
  const entries = Object.entries(given) as [Key, string][]
  return Object.fromEntries(entries.map(([key, unit]) => [key, value(key, unit)])) as Record<Key, Value>
}

/** `prices` of the file: where a list of the operator is. */
export const priceSource = z.strictObject(
  withExamples(
    {
      source: z
        .string()
        .min(1)
        .refine(
          one => !/^http:\/\/(?!127\.|localhost[:/]|\[::1\])/.test(one),
          'must be a file, or an address with https://',
        )
        .describe('A file, relative to this one, or an address. It is read again when it changes.'),
      sha256: z
        .string()
        .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256: 64 hexadecimal digits')
        .optional()
        .describe('The hash of the list; another list is refused.'),
      public_key: z
        .string()
        .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be an Ed25519 public key: 32 bytes in base64')
        .optional()
        .describe('The key that the list is signed by; the signature is at the same place, with `.sig` at its end.'),
      refresh_seconds: z
        .number()
        .int()
        .min(60)
        .max(604_800)
        .optional()
        .describe('How often an address is read again; 3600 unless said.'),
    },
    priceSourceExamples,
  ),
)
