/**
 * LiteLLM's names in configuration files: those that mean one of our keys, which are declared with the keys, and those
 * without a function here, which are warnings with what to do instead. Sources: LiteLLM's pages "All settings",
 * "Config.yaml" and its routing pages. A pattern is `section.key`, with `*` for every entry of a list, in our own names
 * of the sections.
 */
import type { SettingKeys } from '../../core/setting-keys.ts'
import { fileKeys } from '../sections/file.ts'
import { credentialParamKeys } from '../sections/models.ts'

/** Patterns of LiteLLM's names, with our name of the last part. */
export const otherNames: ReadonlyMap<string, string> = new Map([
  ...namesIn(fileKeys, ''),
  ...namesIn(credentialParamKeys, 'credential_list.*.credential_values.'),
])

function namesIn(keys: SettingKeys, prefix: string): (readonly [pattern: string, name: string])[] {
  return Object.entries(keys).flatMap(([name, key]) => {
    const own = key.litellm === undefined ? [] : [[`${prefix}${key.litellm}`, name] as const]
    if ('keys' in key) return [...own, ...namesIn(key.keys, `${prefix}${name}.`)]
    return 'list' in key ? [...own, ...namesIn(key.entries, `${prefix}${name}.*.`)] : own
  })
}

/** Sections, as LiteLLM's users write them, that take any key: those without a function here are warnings. */
export const openSections: ReadonlySet<string> = new Set(['litellm_params', 'litellm_settings', 'model_info'])

/** Patterns of sections of one name at LiteLLM and here; in its files they take any key. '' = the file itself. */
export const sharedSections: ReadonlySet<string> = new Set([
  '',
  'general_settings',
  'router_settings',
  'router_settings.routing_strategy_args',
  'router_settings.retry_policy',
  'router_settings.allowed_fails_policy',
  'settings.cache_params',
])

/** Patterns of sections in which an empty value of a file of LiteLLM is one that is not given. */
export const sectionsWithDefaults: ReadonlySet<string> = new Set([
  'general_settings',
  'router_settings',
  'settings',
  'model_list.*.proxy_params',
])

const isPrometheus = (value: unknown): boolean => /^prometheus(?:_system)?$/.test(String(value))
const isInMetrics = (value: unknown): boolean => [value].flat().every(isPrometheus)

/** By pattern: whether a value of a key without a function asks for what is so here in any case. */
const fulfilled: Readonly<Record<string, (value: unknown) => boolean>> = {
  'settings.callbacks': isInMetrics,
  'settings.success_callback': isInMetrics,
  'settings.failure_callback': isInMetrics,
  'settings.service_callback': isInMetrics,
  'settings.service_callbacks': isInMetrics,
  'settings.json_logs': value => value === true,
  'general_settings.json_logs': value => value === true,
}

/** Whether a key without a function here misses nothing by its value: it is off, empty, or so in any case. */
export function asksForNothing(pattern: string, value: unknown): boolean {
  if (Object.hasOwn(fulfilled, pattern) && fulfilled[pattern]!(value)) return true
  if (value === false) return !pattern.endsWith('.ssl_verify')
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** What a mode of LiteLLM's that is none here is taken for: by what the model's name says. */
export const otherModes: ReadonlySet<unknown> = new Set([
  'batch',
  'image_edit',
  'ocr',
  'realtime',
  'responses',
  'search',
  'vector_store',
  'video_generation',
])

/** Strategies of LiteLLM's that have another name here. */
export const strategyNames: ReadonlyMap<unknown, string> = new Map([['usage-based-routing-v2', 'usage-based-routing']])

/** Stores of answers that LiteLLM has and this gateway has not. */
export const otherStores: ReadonlySet<unknown> = new Set([
  'azure-blob',
  'disk',
  'gcs',
  'qdrant',
  'qdrant-semantic',
  's3',
  'valkey-semantic',
])

/** Spellings of modes that LiteLLM lets pass, with the mode that is meant. */
export const modeSpellings: ReadonlyMap<unknown, string> = new Map([['embeddings', 'embedding']])

/** What becomes of fields that an upstream does not take. */
const droppedFields =
  'fields that an upstream does not take are dropped and named in a header; `drop_params: false` refuses them'

const remedies = {
  none: '',
  limits: 'limit keys (`rpm_limit`, `tpm_limit`, `max_parallel_requests`)',
  rates: 'limit the deployment by `rpm_limit` and `tpm_limit`, and share calls by `weight`',
  budgets: 'budgets stand on keys, users, teams and the like, and reset by themselves (docs/budgets.md)',
  everyModel: 'set it for all models in `router_settings`',
  client: 'clients send it with their calls',
  upstream: 'fields beyond those of the API are not sent; extra headers are (`extra_headers`)',
  redis: 'give the address of Redis as `redis_url`, or as REDIS_URL where the gateway runs',
  logging:
    'read calls in the ledger (GET /spend/logs), in the log and in /metrics, or send them to S3, GCS, Azure, ' +
    'ClickHouse, Kafka, Langfuse, Datadog, syslog or a file by `usage_export.sinks`, to a collector by ' +
    '`open_telemetry` (docs/usage-and-spending.md#sinks)',
  logLevel: 'set MODELGATE_LOG_LEVEL; the log is JSON',
  cache: 'answers are kept by `settings.cache` (docs/cache.md)',
  cached: 'every field that shapes the answer is in the key (docs/cache.md)',
  cacheStore: 'answers are kept in memory or in Redis (docs/cache.md)',
  health: 'a deployment is judged by the calls that it gets',
  file: 'models and settings stand in this file, which is read again when it changes',
  tags: 'give such models a `model_name` of their own, and name it in the keys that may use them',
  keys: 'callers have virtual keys (POST /key/generate)',
  oneKey: 'give `api_key` in the entry of the model',
  policies: 'a rule of your own is a policy (docs/policies.md)',
  paths: 'only the paths in /openapi.json are served',
  secrets: 'give secrets as environment variables',
  ledger: 'every call has its row in the ledger',
  tls: 'certificates are always checked',
  tokens: 'a token has the rights of its user, and `required_claims` says which tokens count (docs/sign-in.md)',
  alerts: '`alert_to_webhook_url` and `alert_to_email` tell of outages, budgets and keys; for all else watch /metrics',
  retries: '`num_retries` and `max_attempts` bound the attempts of a call',
  fails: '`cooldown_time: 0` is no cooldown',
  refusals: 'what the request of a client is refused for cools no deployment down',
  dropping: droppedFields,
  network: 'restrict addresses in front of the gateway',
  guardrails: 'write its rules as `guardrails`, with `default_on` or named by keys and teams (docs/guardrails.md)',
  modelBudgets:
    'budgets of models stand on keys, users and teams (`model_max_budget`), those of providers in ' +
    '`router_settings.provider_budget_config`',
  mocks: 'its calls would go to the upstream; take the entry out, or use a built-in model (`local/...`)',
  hooks:
    'what only records stands in `success_callback`, and what refuses or changes calls is a guardrail ' +
    '(docs/guardrails.md) or a policy of your own (docs/policies.md)',
  teams: 'give teams their models, limits and members one by one (POST /team/new, POST /team/member_add)',
  keyRules:
    '`settings.upperbound_key_generate_params` bounds new keys, `enforced_params` of a key says what its calls must ' +
    'have',
  endlessBudgets: 'a budget without `budget_duration` never begins anew',
  ownPolicies: 'write it as a policy of your own (docs/policies.md)',
  routes: 'keys have `allowed_routes`; other paths are restricted in front of the gateway',
} as const

/** By section: a remedy, and the keys it is for. */
const sections: readonly (readonly [section: string, keys: Partial<Record<keyof typeof remedies, string>>])[] = [
  [
    '',
    {
      logging: 'callback_settings',
      none:
        'assistant_settings files_settings finetune_settings search_tools vector_store_registry prompts ' +
        'agent_list mcp_tools',
    },
  ],
  ['model_list.*.', { rates: 'rpm tpm', limits: 'max_parallel_requests' }],
  [
    'model_list.*.proxy_params.',
    {
      rates: 'rpm tpm',
      limits: 'max_parallel_requests',
      everyModel: 'max_retries num_retries allowed_fails',
      tags: 'region_name',
      client:
        'n stream stream_options logit_bias response_format tools tool_choice user metadata max_completion_tokens ' +
        'modalities safety_settings service_tier verbosity',
      dropping: 'allowed_openai_params modify_params',
      oneKey: 'configurable_clientside_auth_params',
      none:
        'use_litellm_proxy litellm_trace_id max_file_size_mb gcs_bucket_name vector_store_id milvus_text_field ' +
        'watsonx_region_name auto_router_config auto_router_config_path auto_router_default_model ' +
        'auto_router_embedding_model model_info mock_timeout use_in_pass_through ' +
        'merge_reasoning_content_in_choices ' +
        's3_bucket_name s3_region_name aws_batch_role_arn',
      tls: 'ssl_verify',
    },
  ],
  [
    'model_list.*.model_info.',
    {
      health: 'health_check_model health_check_timeout health_check_voice disable_background_health_check',
      file: 'db_model',
      rates: 'rpm tpm',
      tags: 'tier',
      none:
        'supports_assistant_prefill supports_computer_use supports_native_streaming supports_url_context ' +
        'supports_embedding_image_input supports_audio supports_code_execution supports_file_search litellm_provider ' +
        'metadata',
    },
  ],
  [
    'router_settings.',
    {
      none:
        'default_priority polling_interval enable_pre_call_checks enable_pre_call_check optional_pre_call_checks ' +
        'client_ttl search_tools',
      redis: 'cache_kwargs',
      cache: 'cache_responses caching_groups',
      retries: 'retry_after max_fallbacks',
      fails: 'disable_cooldowns',
      client: 'default_litellm_params',
      logLevel: 'set_verbose debug_level',
      alerts: 'alerting_config',
    },
  ],
  [
    'router_settings.allowed_fails_policy.',
    { refusals: 'BadRequestErrorAllowedFails ContentPolicyViolationErrorAllowedFails' },
  ],
  [
    'settings.',
    {
      logging:
        'success_callback failure_callback service_callbacks service_callback audit_log_callbacks ' +
        'langfuse_default_tags s3_callback_params redact_user_api_key_info ' +
        'prometheus_metrics_config custom_prometheus_metadata_labels custom_prometheus_tags ' +
        'prometheus_initialize_budget_metrics ' +
        'disable_add_user_agent_to_request_tags disable_end_user_cost_tracking ' +
        'disable_end_user_cost_tracking_prometheus_only default_team_settings telemetry',
      cached: 'enable_caching_on_provider_specific_optional_params',
      logLevel: 'set_verbose json_logs',
      dropping: 'modify_params',
      tls: 'ssl_verify ssl_certificate',
      keys: 'enable_key_alias_format_validation',
      limits: 'priority_reservation',
      none:
        'force_ipv4 public_model_groups_links enable_json_schema_validation ' +
        'enable_preview_features include_cost_in_streaming_usage mcp_aliases return_response_headers ' +
        'disable_hf_tokenizer_download disable_copilot_system_to_assistant ' +
        'use_chat_completions_url_for_anthropic_messages disable_add_transform_inline_image_block',
    },
  ],
  [
    'settings.cache_params.',
    {
      none: 'max_connections',
      cacheStore:
        'vector_size redis_startup_nodes ' +
        'service_name sentinel_nodes sentinel_password gcp_service_account redis_flush_size ' +
        's3_bucket_name s3_region_name s3_api_version s3_use_ssl s3_verify s3_endpoint_url s3_aws_access_key_id ' +
        's3_aws_secret_access_key s3_aws_session_token s3_config s3_path disk_cache_dir ' +
        'gcs_bucket_name gcs_path_service_account gcs_path qdrant_api_base qdrant_api_key qdrant_collection_name ' +
        'qdrant_quantization_config qdrant_semantic_cache_embedding_model',
    },
  ],
  [
    'settings.default_internal_user_params.',
    {
      budgets: 'soft_budget',
      keys: 'auto_create_key',
    },
  ],
  [
    'general_settings.alert_to_webhook_url.',
    {
      alerts:
        'llm_exceptions llm_too_slow llm_requests_hanging spend_reports failed_tracking_spend db_exceptions ' +
        'daily_reports cooldown_deployment new_model_added outage_alerts region_outage_alerts fallback_reports ' +
        'new_virtual_key_created virtual_key_updated virtual_key_deleted new_team_created team_updated team_deleted ' +
        'new_internal_user_created internal_user_updated internal_user_deleted',
    },
  ],
  [
    'general_settings.jwt_auth.',
    {
      tokens: 'admin_jwt_scope team_jwt_scope team_id_upsert oidc_userinfo_enabled oidc_userinfo_endpoint',
    },
  ],
  [
    'general_settings.',
    {
      file: 'supported_db_objects infer_model_from_keys',
      none:
        'database_connection_pool_limit database_connection_timeout database_extra_connection_params ' +
        'disable_prisma_schema_update disable_master_key_return disable_adding_master_key_hash_to_db ' +
        'allow_requests_on_db_unavailable user_api_key_cache_ttl use_redis_transaction_buffer ' +
        'always_include_stream_usage completion_model embedding_model ' +
        'proxy_batch_polling_interval max_response_size_mb litellm_license user_mcp_management_mode ' +
        'enable_claude_code_gateway allow_cli_sso_verification_uri_complete ' +
        'disable_responses_id_security disable_retry_on_max_parallel_request_limit_error enable_public_model_hub',
      ledger:
        'disable_spend_logs disable_spend_updates disable_error_logs ' +
        'maximum_spend_logs_retention_interval proxy_batch_write_at',
      budgets: 'proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time',
      alerts: 'alerting alerting_threshold alert_types alerting_args spend_report_frequency',
      health:
        'background_health_checks health_check_interval health_check_concurrency health_check_details ' +
        'use_shared_health_check',
      paths: 'public_routes pass_through_endpoints',
      network: 'use_x_forwarded_for',
      limits: 'token_rate_limit_type',
      keys:
        'custom_sso enable_oauth2_auth enable_oauth2_proxy_auth oauth2_config_mappings allow_user_auth ' +
        'litellm_key_header_name allow_client_side_credentials ' +
        'use_client_credentials_pass_through_routes',
      secrets: 'key_management_system key_management_settings use_azure_key_vault use_google_kms',
      upstream: 'forward_client_headers_to_llm_api forward_llm_provider_auth_headers forward_openai_org_id',
      logLevel: 'set_verbose json_logs',
    },
  ],
]

/**
 * Those that restrict who may do what, what may be spent, or where data may go. A gateway that went on without them
 * would do what its operator forbade, so a file with one is refused until it says the same in our terms.
 */
const restrictions: typeof sections = [
  ['', { guardrails: 'policies', file: 'include' }],
  [
    'model_list.*.proxy_params.',
    { modelBudgets: 'max_budget budget_duration', tags: 'tag_regex', mocks: 'mock_response' },
  ],
  ['router_settings.', { guardrails: 'guardrail_list', limits: 'default_max_parallel_requests' }],
  [
    'settings.',
    {
      hooks: 'callbacks',
      budgets: 'tag_budget_config',
      keyRules: 'key_generation_settings',
      limits: 'max_parallel_requests',
    },
  ],
  ['settings.default_internal_user_params.', { teams: 'teams' }],
  [
    'general_settings.jwt_auth.',
    {
      tokens:
        'admin_allowed_routes team_allowed_routes public_allowed_routes team_alias_jwt_field org_id_jwt_field ' +
        'org_alias_jwt_field object_id_jwt_field roles_jwt_field role_mappings role_permissions user_roles_jwt_field ' +
        'user_allowed_roles jwt_litellm_role_map sync_user_role_and_teams enforce_rbac enforce_scope_based_access ' +
        'scope_mappings scope_based_access enforce_team_based_model_access custom_validate',
      client: 'end_user_id_jwt_field',
    },
  ],
  [
    'general_settings.',
    {
      endlessBudgets: 'disable_reset_budget',
      keyRules: 'enforce_user_param enforced_params service_account_settings custom_key_generate default_team_disabled',
      ownPolicies: 'reject_clientside_metadata_tags custom_auth custom_auth_run_common_checks',
      routes: 'allowed_routes admin_only_routes ui_access_mode',
      network: 'allowed_ips',
      limits: 'max_parallel_requests global_max_parallel_requests',
      client: 'user_header_mappings',
    },
  ],
]

type Remedies = readonly (readonly [pattern: string, remedy: string])[]

const remediesOf = (table: typeof sections): Remedies =>
  table.flatMap(([section, groups]) =>
    Object.entries(groups).flatMap(([remedy, keys]) =>
      keys.split(' ').map(key => [`${section}${key}`, remedies[remedy as keyof typeof remedies]] as const),
    ),
  )

/** LiteLLM's keys that restrict and that this gateway does not enforce, by pattern: what to do instead. */
export const unenforcedKeys: ReadonlyMap<string, string> = new Map(remediesOf(restrictions))

/** LiteLLM's keys without a function here: what to do instead, by pattern; an empty text = nothing is missing. */
export const keysWithoutFunction: ReadonlyMap<string, string> = new Map(remediesOf([...sections, ...restrictions]))

/** Callbacks of LiteLLM's that only record; its others can refuse or change calls. */
const recorders = new Set(
  (
    'langfuse langfuse_otel langsmith helicone datadog datadog_llm_observability prometheus sentry posthog otel s3 ' +
    's3_v2 gcs_bucket gcs_pubsub azure_storage arize arize_phoenix braintrust lunary athina galileo mlflow opik ' +
    'logfire ' +
    'literal_ai wandb traceloop slack supabase promptlayer openmeter lago dynamodb sqs generic_api ' +
    'opentelemetry agentops humanloop deepeval aws_sqs cloudzero'
  ).split(' '),
)

/** Whether a value of one of `unenforcedKeys` restricts anything. */
export function restricts(pattern: string, value: unknown): boolean {
  if (value === null || value === false || value === '') return false
  if (pattern === 'settings.callbacks') return [value].flat().some(one => !recorders.has(String(one)))
  if (pattern === 'general_settings.ui_access_mode') return value !== 'all'
  return typeof value !== 'object' || Object.keys(value).length > 0
}
