/** The names of a dialect's top-level fields, and those that steer an upstream instead of describing the call. */

/**
 * Fields by which hosts let a client choose another model, route, plugin or data source than the operator's: OpenRouter
 * (models, route, provider, plugins, preset, transforms), Vercel (providerOptions), LiteLLM (model_list, deployment_id,
 * mock_response, allowed_model_region, extra_body), Azure (data_sources), xAI (search_parameters), DashScope
 * (enable_search), Groq (compound_custom, search_settings), Together (safety_model), Mistral (agent_id), servers of
 * adapters (lora_path, lora_request, adapter_id, adapter_source). Sources: each host's API reference.
 */
const routingNames = [
  ...['models', 'route', 'provider', 'plugins', 'preset', 'transforms', 'providerOptions', 'provider_options'],
  ...[
    'model_list',
    'deployment_id',
    'mock_response',
    'allowed_model_region',
    'extra_body',
    'extra_query',
    'litellm_params',
  ],
  ...['data_sources', 'dataSources', 'search_parameters', 'enable_search', 'compound_custom', 'search_settings'],
  ...['safety_model', 'agent_id', 'lora_path', 'lora_request', 'adapter_id', 'adapter_source'],
]
/** Never sent to an upstream whose deployment does not allow them (`allowed_fields`). */
export const routingFields: ReadonlySet<string> = new Set(routingNames)

/** Names with the same fold differ only by case; also letters that fold to ASCII (the Kelvin sign, the long s). */
const folded = (name: string): string => name.toUpperCase().toLowerCase()

const routingFolds: ReadonlyMap<string, string> = new Map(routingNames.map(name => [folded(name), name]))

/** What a dialect calls its fields, those for the gateway included. Made once, when its module is loaded. */
export class FieldNames {
  readonly #names: ReadonlySet<string>
  readonly #folds: ReadonlyMap<string, string>

  constructor(names: Iterable<string>) {
    this.#names = new Set(names)
    this.#folds = new Map([...this.#names].map(name => [folded(name), name]))
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** The known name that `name` differs from only by case; undefined = none. `name` is not known itself. */
  variantOf(name: string): string | undefined {
    const fold = folded(name)
    return this.#folds.get(fold) ?? (routingFields.has(name) ? undefined : routingFolds.get(fold))
  }
}
