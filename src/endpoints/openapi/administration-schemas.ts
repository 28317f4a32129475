/** Keys, the ledger, models, utilities and health: what the gateway says of itself. */
import { alwaysShownKeys, tokenKeys, unitKeys } from '../../pricing/price-keys.ts'
import {
  anyObject,
  boolean,
  constant,
  dateTime,
  described,
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

const dollars = nullable({ ...number, description: 'Dollars for one; null = not known.' })
const priceNames = Object.keys({ ...tokenKeys, ...unitKeys })
/** Prices that are always shown, and those that a model may have. */
const alwaysPriced = Object.fromEntries(alwaysShownKeys.map(name => [name, dollars]))
const otherPrices = Object.fromEntries(priceNames.filter(name => !(name in alwaysPriced)).map(name => [name, dollars]))

/** An object with facts of a model whose names the catalogue and the configuration decide. */
const withFacts = (required: Properties, optional: Properties): Schema => ({
  ...shape(required, optional),
  patternProperties: {
    '^supports_': { type: ['boolean', 'null'] },
    '^supported_': nullable(listOf(text)),
    '_above_\\d+k_tokens': dollars,
    '_(?:batches|flex|priority|fast|ultrafast|scale|balanced|decisions)$': dollars,
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

const infoParams = shape(
  { model: text },
  {
    api_base: described('With a key of an administrator only.', text),
    litellm_credential_name: described('The credential that the model names.', text),
  },
)
const modelInfo = shape({
  model_name: text,
  proxy_params: infoParams,
  litellm_params: described('The same as `proxy_params`.', infoParams),
  model_info: open(
    withFacts(
      {
        id: described('The `x-proxy-model-id` of calls.', text),
        db_model: described('Made by API.', boolean),
        mode: text,
        provider: text,
        litellm_provider: described('The same as `provider`.', text),
        key: described('The name of the model at its provider.', text),
        max_tokens: nullable(described('The same as `max_output_tokens`.', integer)),
        source: text,
        blocked: described('An administrator has switched it off: it gets no calls.', boolean),
        ...alwaysPriced,
        price_source: priceSource,
      },
      {
        ...otherPrices,
        source_where: described(
          '`config.yaml:12`, or the variable or address it comes from; for readers of all.',
          text,
        ),
        blocked_by: described('Of one that is blocked, for readers of all; so are the next two.', nullable(text)),
        blocked_at: nullable(dateTime),
        blocked_reason: nullable(text),
        version: integer,
        created_at: dateTime,
        created_by: text,
        updated_at: dateTime,
        updated_by: text,
      },
    ),
  ),
})

/** What a public name can do: true where one of its deployments can. */
export const groupFlags = [
  'supports_vision',
  'supports_function_calling',
  'supports_parallel_function_calling',
  'supports_response_schema',
  'supports_web_search',
  'supports_reasoning',
  'supports_audio_input',
  'supports_audio_output',
  'supports_pdf_input',
  'supports_prompt_caching',
] as const

const groupPrices: Properties = {
  input_cost_per_token: dollars,
  output_cost_per_token: dollars,
  prices: described('Every price that is known, in dollars for one, by the name of its key.', mapOf(number)),
}
const groupFacts: Properties = {
  model_group: text,
  providers: listOf(text),
  mode: described('null = its deployments have several.', nullable(text)),
  description: nullable(text),
  aliases: described('Other names for it.', listOf(text)),
  max_input_tokens: nullable(integer),
  max_output_tokens: nullable(integer),
  ...Object.fromEntries(groupFlags.map(name => [name, nullable(boolean)])),
  supports_thinking_mode: described('Takes `chat_template_kwargs.thinking_mode`.', boolean),
  supported_openai_params: described('What every deployment takes.', listOf(text)),
  blocked: described('Every deployment is switched off; only fallbacks answer.', boolean),
  is_public_model_group: described('The model hub shows it without a key.', boolean),
  health_status: described(
    'Deployments that are blocked, or in a cooldown after failures: none, some, or all of them.',
    oneOf('healthy', 'degraded', 'unhealthy'),
  ),
}
const modelGroup = (required: Properties, optional: Properties): Schema => open(withFacts(required, optional))

const modelSchemas: Readonly<Record<string, Schema>> = {
  Model: withFacts(modelEntry, {
    mode: text,
    max_input_tokens: nullable(integer),
    ...alwaysPriced,
    ...otherPrices,
    price_source: priceSource,
    blocked: described('Every deployment is switched off; only fallbacks answer. Absent = it is not.', constant(true)),
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
  ModelInfo: modelInfo,
  ModelInfoList: shape({ data: listOf(reference('ModelInfo')) }),
  ModelInfoPage: shape({
    data: listOf(reference('ModelInfo')),
    total_count: integer,
    current_page: integer,
    total_pages: integer,
    size: integer,
  }),
  ModelGroupList: shape({ data: listOf(modelGroup({ ...groupPrices, ...groupFacts }, {})) }),
  PublicModels: listOf(modelGroup(groupFacts, groupPrices)),
  PublicModelNames: shape({ message: text, public_model_groups: listOf(text), updated_by: text }),
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
  ...modelSchemas,
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
  RouteList: shape({
    routes: listOf(shape({ path: text, methods: listOf(text), name: text, endpoint: text })),
  }),
  ModelHealth: shape({
    healthy_endpoints: listOf(reference('EndpointHealth')),
    unhealthy_endpoints: listOf(reference('EndpointHealth')),
    unchecked_endpoints: listOf(reference('EndpointHealth')),
    healthy_count: integer,
    unhealthy_count: integer,
    unchecked_count: integer,
  }),
  EndpointHealth: shape(
    { model_id: text, model_name: text, model: text, api_base: text, mode: text },
    {
      response_time_ms: integer,
      error: described('What its call ended with.', text),
      error_code: described('The `code` of that error.', nullable(text)),
      reason: described('Why it was not called.', text),
      blocked: described('An administrator has switched it off.', constant(true)),
    },
  ),
  Liveliness: constant("I'm alive!"),
  Readiness: shape(
    {
      status: oneOf('healthy', 'unhealthy'),
      db: described('`read-only`: it answers, and takes no changes.', oneOf('connected', 'read-only', 'disconnected')),
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
