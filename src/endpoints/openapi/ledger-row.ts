/** One row of the ledger in answers: the one place of the API document that lists its columns. */
import { boolean, dateTime, described, integer, nullable, number, oneOf, shape, text } from './schema.ts'
import type { Properties, Schema } from './schema.ts'

const count = (description: string): Schema => nullable(described(description, integer))

const tokens: Properties = {
  input_tokens: count('All of the input, cached tokens included.'),
  output_tokens: count('All of the output, reasoning included.'),
  cached_input_tokens: count("Of the input: read from the provider's cache."),
  cache_write_tokens: count("Of the input: written to the provider's cache."),
  cache_write_one_hour_tokens: count('Of `cache_write_tokens`: with a lifetime of one hour.'),
  reasoning_tokens: count('Of the output.'),
  input_audio_tokens: count('Of the input.'),
  output_audio_tokens: count('Of the output.'),
  input_image_tokens: count('Of the input.'),
  output_image_tokens: count('Of the output.'),
  images: count('Pictures made.'),
  characters: count('Characters to be spoken.'),
  audio_microseconds: count('Audio heard or spoken, exact.'),
  search_units: nullable(described('Of a reranker.', number)),
}

/** The columns as they are stored. */
const columns: Properties = {
  request_id: text,
  started_at_ms: described('Milliseconds since 1970.', integer),
  route: text,
  operation: text,
  outcome: oneOf('success', 'error', 'client_closed', 'upstream_cut', 'interrupted'),
  status: integer,
  error_kind: nullable(text),
  model: text,
  deployment_id: nullable(text),
  provider: nullable(text),
  upstream_model: nullable(text),
  key_id: text,
  key_alias: nullable(text),
  user_id: nullable(text),
  team_id: nullable(text),
  end_user: nullable(text),
  stream: boolean,
  ...tokens,
  usage_source: described('Who counted.', oneOf('upstream', 'estimated', 'none')),
  cost_nano_usd: nullable(described('Nano-dollars; null = the price or the usage is not known.', text)),
  duration_ms: number,
  first_byte_ms: nullable(number),
  attempts: integer,
  client_address: nullable(text),
  user_agent: nullable(text),
}

/** What an answer adds to the columns (endpoints/spend.ts). Null = it was not counted, or is not known. */
export const ledgerRow: Schema = shape({
  ...columns,
  started_at: dateTime,
  spend: nullable(described('The cost in dollars, as decimal text.', text)),
  audio_seconds: nullable(described('`audio_microseconds` in seconds.', number)),
})
