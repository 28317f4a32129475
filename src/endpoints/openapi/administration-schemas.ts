/** Keys, the ledger, models, utilities and health: what the gateway says of itself. */
import { batchKeys, tieredKeys, tokenKeys, unitKeys } from '../../accounts/price-keys.ts'
import { spendLogSchema } from '../administration/spend.ts'
import {
  anyObject,
  boolean,
  constant,
  dateTime,
  described,
  either,
  integer,
  listOf,
  mapOf,
  nullable,
  number,
  oneOf,
  open,
  reference,
  shape,
  text,
  unixSeconds,
} from './schema.ts'
import type { Properties, Schema } from './schema.ts'

const key: Properties = {
  token: described("The key's hash.", text),
  token_id: text,
  key_name: described('The last characters of the key.', text),
  key_alias: nullable(text),
  user_id: nullable(text),
  team_id: nullable(text),
  models: described('Names, patterns or access groups; an empty list = all models.', listOf(text)),
  expires: nullable(dateTime),
  blocked: boolean,
  rpm_limit: nullable(described('Requests a minute.', integer)),
  tpm_limit: nullable(described('Tokens a minute.', integer)),
  max_parallel_requests: nullable(integer),
  metadata: anyObject,
  created_at: dateTime,
  created_by: nullable(text),
  updated_at: dateTime,
}

const keyWarnings = described('What was accepted, and is probably a mistake; absent = nothing.', listOf(text))

const keySchemas: Readonly<Record<string, Schema>> = {
  Key: shape(key),
  NewKey: shape({ key: described('The key itself, shown this once.', text), ...key }, { warnings: keyWarnings }),
  ChangedKey: shape({ key: key.key_name!, ...key }, { warnings: keyWarnings }),
  KeyInfo: shape({ key: described('As it was asked for.', text), info: reference('Key') }),
  KeyList: shape({
    keys: listOf(either(described('The hash of a key.', text), reference('Key'))),
    total_count: integer,
    current_page: integer,
    total_pages: integer,
  }),
  DeletedKeys: shape({ deleted_keys: described('As they were named.', listOf(text)) }),
}

const dollars = nullable({ ...number, description: 'Dollars for one; null = not known.' })
const priceNames = Object.keys({ ...tokenKeys, ...batchKeys, ...unitKeys })
/** Prices that are always shown, and those that a model may have. */
const alwaysPriced = Object.fromEntries(tieredKeys.map(name => [name, dollars]))
const otherPrices = Object.fromEntries(priceNames.filter(name => !(name in alwaysPriced)).map(name => [name, dollars]))

/** An object with facts of a model whose names the catalogue and the configuration decide. */
const withFacts = (required: Properties, optional: Properties): Schema => ({
  ...shape(required, optional),
  patternProperties: {
    '^supports_': { type: ['boolean', 'null'] },
    '^supported_': nullable(listOf(text)),
    '_above_\\d+k_tokens$': dollars,
  },
})

const modelEntry: Properties = {
  id: text,
  object: constant('model'),
  created: unixSeconds,
  owned_by: text,
  type: constant('model'),
  display_name: text,
  created_at: dateTime,
  context_length: nullable(integer),
  max_output_tokens: nullable(integer),
}
const priceSource = nullable(described('Where the prices come from.', text))

const modelSchemas: Readonly<Record<string, Schema>> = {
  Model: withFacts(modelEntry, {
    mode: text,
    max_input_tokens: nullable(integer),
    ...alwaysPriced,
    ...otherPrices,
    price_source: priceSource,
    metadata: shape({ fallbacks: listOf(text) }),
  }),
  ModelList: shape({
    object: constant('list'),
    data: listOf(reference('Model')),
    has_more: boolean,
    first_id: nullable(text),
    last_id: nullable(text),
  }),
  CodexCatalogue: described(
    'For clients that send `client_version`.',
    shape({
      models: listOf(open(shape({ slug: text, display_name: text, context_window: integer, priority: integer }))),
    }),
  ),
  ModelInfoList: shape({
    data: listOf(
      shape({
        model_name: text,
        proxy_params: shape({ model: text }, { api_base: described('With the master key only.', text) }),
        model_info: open(
          withFacts(
            {
              id: described('The `x-proxy-model-id` of calls.', text),
              db_model: constant(false),
              mode: text,
              provider: text,
              source: text,
              ...alwaysPriced,
              price_source: priceSource,
            },
            otherPrices,
          ),
        ),
      }),
    ),
  }),
}

const tokenCount = shape({
  total_tokens: integer,
  request_model: text,
  model_used: text,
  tokenizer_type: described('`openai_tokenizer`, `estimate`, or `NAME_api` of the provider that counted.', text),
  original_response: described(
    "The answer of the provider's counter; null when it was not asked.",
    nullable(anyObject),
  ),
  error: described("The provider's counter failed; the count was made here.", boolean),
  error_message: nullable(text),
  status_code: nullable(integer),
})

/** By their names under `#/components/schemas/`. */
export const administrationSchemas: Readonly<Record<string, Schema>> = {
  ...keySchemas,
  ...modelSchemas,
  SpendLog: spendLogSchema,
  SpendLogs: shape({ data: listOf(reference('SpendLog')), next_cursor: nullable(text) }),
  TokenCount: tokenCount,
  SupportedCompatParams: shape({ supported_compat_params: listOf(text) }),
  SupportedOpenaiParams: shape({ supported_openai_params: listOf(text) }),
  RawRequest: shape({
    raw_request_api_base: nullable(text),
    raw_request_body: nullable(anyObject),
    raw_request_headers: nullable(mapOf(text)),
    dropped_params: nullable(listOf(text)),
    error: nullable(described('Why there is no such request; all else is then null.', text)),
  }),
  OpenapiDocument: open(shape({ openapi: text, info: anyObject, paths: anyObject, components: anyObject })),
  Liveliness: constant("I'm alive!"),
  Readiness: shape(
    {
      status: oneOf('healthy', 'unhealthy'),
      db: oneOf('connected', 'disconnected'),
      redis: oneOf('connected', 'disconnected', 'not configured'),
      ledger: described('`ok`, or what is wrong.', text),
      ledger_backlog: described(
        'What is journalled and not in the database yet; a call has two records.',
        shape({ bytes: integer, records: integer, oldest_seconds: integer }),
      ),
      version: text,
    },
    {
      limits: described('While Redis is away: what decides on limits.', text),
      replicas: text,
      draining: constant(true),
    },
  ),
}
