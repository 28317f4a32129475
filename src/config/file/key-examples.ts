/**
 * An example of every key of the configuration file, for editors and docs/configuration.md. A key that the schema has
 * and this file has not is a type error.
 */
import type { z } from 'zod'

type Shape = Readonly<Record<string, z.ZodType>>

/** The same keys, each with its example beside its description. */
export function withExamples<T extends Shape>(shape: T, examples: Readonly<Record<keyof T, unknown>>): T {
  return Object.fromEntries(
    Object.entries(shape).map(([key, schema]) => [key, schema.meta({ examples: [examples[key]] })]),
  ) as unknown as T
}

/** Of `proxy_params`, without prices. */
export const paramExamples = {
  model: 'openai/gpt-4.1-mini',
  guardrails: ['pii'],
  credential_name: 'azure-west',
  custom_llm_provider: 'openai',
  api_key: 'os.environ/OPENAI_API_KEY',
  api_base: 'http://10.0.0.5:8000/v1',
  api_version: '2025-01-01-preview',
  organization: 'org-example',
  project: 'proj_example',
  extra_headers: { 'x-team': 'research' },
  tenant_id: 'os.environ/AZURE_TENANT_ID',
  client_id: 'os.environ/AZURE_CLIENT_ID',
  client_secret: 'os.environ/AZURE_CLIENT_SECRET',
  azure_ad_token: 'os.environ/AZURE_AD_TOKEN',
  num_ctx: 8192,
  keep_alive: '5m',
  anthropic_version: '2023-06-01',
  anthropic_beta: 'context-1m-2025-08-07',
  vertex_project: 'my-project',
  vertex_location: 'us-central1',
  vertex_credentials: '/etc/modelgate/google.json',
  aws_region_name: 'us-east-1',
  aws_access_key_id: 'os.environ/AWS_ACCESS_KEY_ID',
  aws_secret_access_key: 'os.environ/AWS_SECRET_ACCESS_KEY',
  aws_session_token: 'os.environ/AWS_SESSION_TOKEN',
  aws_role_name: 'arn:aws:iam::123456789012:role/models',
  aws_session_name: 'modelgate-production',
  aws_external_id: 'os.environ/AWS_EXTERNAL_ID',
  aws_bedrock_runtime_endpoint: 'https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com',
  max_tokens: 4096,
  timeout: 600,
  stream_timeout: 60,
  connect_timeout: 5,
  idle_timeout: 60,
  first_content_timeout: 600,
  content_timeout: 300,
  total_timeout: 1800,
  proxy: 'http://proxy.internal:3128',
  weight: 2,
  order: 1,
  drop_params: false,
  allowed_fields: ['models'],
  forward_unknown_fields: false,
}

/** Of `model_info`, without prices. */
export const infoExamples = {
  id: 'gpt-eu-1',
  mode: 'chat',
  base_model: 'gpt-4o',
  access_groups: ['research'],
  display_name: 'GPT-4.1 mini',
  description: 'Fast and cheap, for short texts.',
  max_tokens: 16_384,
  max_input_tokens: 128_000,
  max_output_tokens: 16_384,
  context_window: 128_000,
  output_vector_size: 1024,
  supports_vision: true,
  supports_function_calling: true,
  supports_parallel_function_calling: true,
  supports_tool_choice: true,
  supports_response_schema: true,
  supports_reasoning: false,
  supports_prompt_caching: false,
  supports_system_messages: true,
  supports_audio_input: false,
  supports_audio_output: false,
  supports_video_input: false,
  supports_pdf_input: false,
  supports_image_output: false,
  supports_web_search: false,
  supported_modalities: ['text', 'image'],
  supported_output_modalities: ['text'],
  tool_calling: 'prompted',
  thinking: 'tags',
  alternate_roles: true,
  structured_output: 'json_object',
  chat_api: 'responses',
  guard: false,
}

const fallbackExamples = {
  fallbacks: [{ fast: ['small', 'large'] }],
  context_window_fallbacks: [{ small: ['large'] }],
  content_policy_fallbacks: [{ fast: ['lenient'] }],
  default_fallbacks: ['small'],
}

/** Of `router_settings`. */
export const routerExamples = {
  num_retries: 2,
  max_attempts: 6,
  allowed_fails: 3,
  cooldown_time: 5,
  timeout: 600,
  stream_timeout: 60,
  ...fallbackExamples,
  model_group_alias: { 'gpt-4': 'gpt-4.1-mini' },
  provider_budget_config: { openai: { budget_limit: 100, time_period: '1d' } },
}

/** Of `default_internal_user_params`. */
export const limitExamples = {
  rpm_limit: 60,
  tpm_limit: 100_000,
  max_parallel_requests: 8,
  user_role: 'internal_user_viewer',
  models: ['gpt-4.1-mini'],
  max_budget: 10,
  budget_duration: '30d',
}

/** Examples of the keys of `settings`. */
export const commonExamples = {
  turn_off_message_logging: false,
  global_disable_no_log_param: false,
  request_timeout: 600,
  num_retries: 2,
  drop_params: true,
  forward_unknown_fields: false,
  ...fallbackExamples,
  cache: true,
  cache_params: { type: 'redis', ttl: 600, scope: 'team' },
  timezone: 'Europe/Berlin',
  max_budget: 1000,
  budget_duration: '1mo',
  max_end_user_budget: 5,
  end_user_budget_duration: '1d',
  default_internal_user_params: { rpm_limit: 60 },
  default_key_generate_params: { max_budget: 10, budget_duration: '30d', duration: '90d' },
  upperbound_key_generate_params: { max_budget: 100, duration: '365d' },
  max_internal_user_budget: 10,
  internal_user_budget_duration: '30d',
  cost_discount_config: { vertex_ai: 0.05 },
  cost_margin_config: { global: 0.1, openai: { percentage: 0.08, fixed_amount: 0.0005 } },
  cost_terms: { teams: { 'team-a': { discount: 0.2 } }, keys: { 'key-b': { margin: 0.5 } } },
  public_model_groups: ['gpt-4.1-mini'],
  public_model_prices: false,
}

/** Of `general_settings`. */
export const generalExamples = {
  master_key: 'os.environ/MASTER_KEY',
  database_url: 'os.environ/DATABASE_URL',
  max_keys_per_user: 5,
  max_key_age: '90d',
  key_rotation_grace: '14d',
  key_reminders: ['14d', '1d'],
  store_model_in_db: true,
  secret_file_directories: ['/run/secrets'],
  secret_refresh_seconds: 300,
  rate_limit_counts: 'calls',
  limits_without_redis: 'share',
  budget_fit: 'shrink',
  budget_unknown_price: 'reserve',
  budget_reserve: 0.1,
  alert_to_webhook_url: { budget_alerts: 'https://alerts.example.com/budgets' },
  alert_to_email: { budget_alerts: 'money@example.com' },
  max_request_size_mb: 32,
  max_body_memory_mb: 512,
  max_stored_objects_per_key: 100_000,
  max_stored_mb_per_key: 1024,
  maximum_spend_logs_retention_period: '90d',
  store_prompts_in_spend_logs: true,
  maximum_stored_bodies_retention_period: '30d',
  max_stored_body_kb: 1024,
  max_stored_bodies_mb: 10_240,
  max_waiting_bodies_mb: 64,
  stored_bodies_readers: 'owners',
  usage_export: { webhook_url: 'https://billing.example.com/usage' },
  maximum_daily_usage_retention_period: '24mo',
  managed_settings: { permissions: { deny: ['WebFetch'] } },
  managed_settings_of_teams: { 'team-a': { env: { ANTHROPIC_MODEL: 'claude-sonnet-5' } } },
  agent_telemetry_endpoint: 'http://collector.internal:4318',
  agent_telemetry_headers: { 'x-tenant': 'agents' },
  agent_telemetry_signals: ['metrics', 'logs'],
  agent_token_minutes: 60,
  agent_sign_in_idle_days: 14,
  agent_sign_in_days: 90,
  agent_refresh_reuse: 'end',
  batch_poll_seconds: 60,
  require_auth_for_metrics_endpoint: true,
  header_prefix: 'x-proxy',
  disable_local_models: true,
  provider_object_ids: 'master_key',
  moderation_model: 'omni-moderation-latest',
  image_generation_model: 'gpt-image-1',
  files_model: 'gpt-4.1-mini',
  proxy: 'http://proxy.internal:3128',
  response_retention_days: 30,
  chat_retention_days: 365,
  sso: [{ name: 'keycloak', issuer: 'https://login.example.com/realms/main', client_id: 'modelgate' }],
  session_idle_minutes: 720,
  session_lifetime_hours: 168,
  trusted_proxies: ['10.0.0.0/8'],
  enable_jwt_auth: true,
  jwt_auth: { issuer: 'https://login.example.com/realms/main', audience: 'modelgate' },
}

/** Of an entry of `sso`. */
export const identityProviderExamples = {
  name: 'keycloak',
  display_name: 'Keycloak',
  issuer: 'https://login.example.com/realms/main',
  client_id: 'modelgate',
  client_secret: 'os.environ/KEYCLOAK_SECRET',
  token_endpoint_auth_method: 'client_secret_basic',
  scope: 'openid email profile groups',
  authorization_endpoint: 'https://login.example.com/authorize',
  token_endpoint: 'https://login.example.com/token',
  userinfo_endpoint: 'https://login.example.com/userinfo',
  jwks_uri: 'https://login.example.com/keys',
  end_session_endpoint: 'https://login.example.com/logout',
  user_id_claim: 'oid',
  email_claim: 'mail',
  name_claim: 'preferred_username',
  role_claim: 'realm_access.roles',
  roles: { 'gateway-admins': 'proxy_admin', staff: 'internal_user' },
  team_claim: 'groups',
  teams: { 'data-science': 'team-ds' },
  organization_claim: 'department',
  organizations: { research: 'org-research' },
  required_claims: { groups: ['gateway-users'] },
  allowed_email_domains: ['example.com'],
  trust_email: true,
  create_users: false,
  clock_tolerance: 30,
}

/** Of `jwt_auth`. */
export const tokenExamples = {
  issuer: 'https://login.example.com/realms/main',
  audience: 'modelgate',
  jwks_uri: 'https://login.example.com/realms/main/protocol/openid-connect/certs',
  public_key_ttl: 600,
  user_id_jwt_field: 'sub',
  user_email_jwt_field: 'email',
  user_allowed_email_domain: 'example.com',
  user_id_upsert: true,
  team_id_jwt_field: 'team',
  team_ids_jwt_field: 'groups',
  team_id_default: 'team-everyone',
  teams: { 'data-science': 'team-ds' },
  service_accounts: [{ name: 'nightly-builds', claims: { azp: 'ci-runner', idtyp: 'app' }, team_id: 'team-platform' }],
  required_claims: { scope: 'models' },
  trust_email: true,
  clock_tolerance: 30,
}

/** Of an entry of `service_accounts`. */
export const serviceAccountExamples = {
  name: 'nightly-builds',
  claims: { azp: 'ci-runner', idtyp: 'app' },
  team_id: 'team-platform',
}

/** Examples of the keys of `prices`. */
export const priceSourceExamples = {
  source: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  public_key: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
  refresh_seconds: 3600,
}
