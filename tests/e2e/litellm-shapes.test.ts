/** The keys and shapes of configurations that LiteLLM's users publish, with values of our own: each one starts. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startSimulator } from '../../simulator/index.ts'
import type { Simulator } from '../../simulator/index.ts'
import { readSettings } from '../../src/config/read-settings.ts'
import { providers } from '../../src/providers/index.ts'
import { startGateway } from './harness.ts'

const environment = {
  ...Object.fromEntries(
    ['OPENAI', 'ANTHROPIC', 'GEMINI', 'GROQ', 'MISTRAL', 'COHERE', 'CEREBRAS', 'OPENROUTER', 'VOYAGE', 'ZHIPU', 'XAI']
      .concat(['TOGETHER', 'DEEPSEEK', 'NVIDIA_NIM', 'CLOUDFLARE', 'GITHUB', 'AZURE', 'PERPLEXITYAI', 'VLLM'])
      .map(name => [`${name}_API_KEY`, `key-of-${name.toLowerCase()}`]),
  ),
  LITELLM_MASTER_KEY: 'sk-0Zq8vWm3Yx5Rk7Lp2Td9Nc4Hb6Jf1GsAe',
  DATABASE_URL: 'postgresql://llm:pw@db.internal:5432/litellm',
  CLOUDFLARE_ACCOUNT_ID: 'account',
  AZURE_API_BASE: 'https://unit.openai.azure.com',
  OLLAMA_API_BASE: 'http://ollama.internal:11434',
  REDIS_HOST: 'redis.internal',
  REDIS_PORT: '6379',
  REDIS_PASSWORD: 'secret',
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
  VERTEXAI_PROJECT: 'unit',
}

const read = (text: string, leavesOut = false) =>
  readSettings({ text, file: 'c.yaml', environment, providers, leavesOut })

const entry = (name: string, model: string, more = '') =>
  `  - { model_name: "${name}", litellm_params: { model: "${model}"${more} } }\n`
const keyed = (name: string, vendor: string) =>
  entry(name, name, `, api_key: os.environ/${vendor.toUpperCase()}_API_KEY`)
const host = ', api_base: "http://vllm.internal:8000/v1", api_key: none'

const shapes: Readonly<Record<string, string>> = {
  'free tiers of many vendors, Zhipu among them': `model_list:
${['gemini', 'mistral', 'groq', 'cerebras', 'cohere', 'openrouter', 'zhipu'].map(one => keyed(`${one}/m`, one)).join('')}
litellm_settings: { drop_params: true, set_verbose: false }
`,
  'GitHub Models and Workers AI in groups': `model_list:
${entry('default', 'github/openai/gpt-4.1', ', api_key: os.environ/GITHUB_API_KEY')}\
${entry('default', 'cloudflare/@cf/meta/llama-3.3-70b', ', api_key: os.environ/CLOUDFLARE_API_KEY')}\
${entry('default', 'nvidia_nim/meta/llama-3.3-70b', ', api_key: os.environ/NVIDIA_NIM_API_KEY')}\
${entry('local', 'ollama/small:latest', ', api_base: os.environ/OLLAMA_API_BASE, timeout: 180, stream_timeout: 300')}
router_settings: { routing_strategy: latency-based-routing, num_retries: 6, retry_after: 1, allowed_fails: 1,
  cooldown_time: 15, timeout: 35, stream_timeout: 90, cache_responses: true, enable_pre_call_checks: true }
general_settings: { master_key: os.environ/LITELLM_MASTER_KEY, json_logs: true }
litellm_settings: { drop_params: true, cache: true,
  cache_params: { type: redis, host: os.environ/REDIS_HOST, port: os.environ/REDIS_PORT, ttl: 18000 } }
`,
  'a list of dropped parameters': `model_list:
${entry('claude', 'openai//model', `${host}, merge_reasoning_content_in_choices: true, drop_params: ["tool_choice"]`)}
litellm_settings: { drop_params: true, request_timeout: 300, default_params: { temperature: 0.3 },
  use_chat_completions_url_for_anthropic_messages: true }
general_settings: {}
`,
  'one section twice': `model_list:
${keyed('openai/gpt-4o', 'openai')}${keyed('groq/llama', 'groq')}
litellm_settings: { drop_params: true, set_verbose: false }
general_settings: { master_key: os.environ/LITELLM_MASTER_KEY, disable_spend_logs: true, disable_error_logs: true }
litellm_settings:
  drop_params: true
`,
  'answers in Qdrant': `model_list:
${keyed('openai/gpt-4o', 'openai')}${keyed('gemini/gemini-2.5-flash', 'gemini')}
router_settings: { routing_strategy: latency-based-routing, routing_strategy_args: { ttl: 3600 },
  redis_host: os.environ/REDIS_HOST, redis_port: os.environ/REDIS_PORT, redis_password: os.environ/REDIS_PASSWORD }
litellm_settings: { cache: true, success_callback: ["prometheus"], failure_callback: ["prometheus"],
  cache_params: { type: qdrant, qdrant_api_base: "http://qdrant:6333", qdrant_collection_name: semantic_cache,
    similarity_threshold: 0.90, vector_size: 1536 } }
`,
  'Azure by the environment alone': `model_list:
${entry('gpt', 'azure/gpt-4o')}${entry('o3', 'azure/responses/o3', ', api_version: "2025-04-01-preview"')}
`,
  'Bedrock with prices in model_info': `model_list:
  - model_name: "bedrock-claude"
    litellm_params: { model: "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0", api_base: null, timeout: 60,
      max_tokens: 500, temperature: 0.7 }
    model_info: { description: "Claude", pricing: { input_cost_per_token: 0.000003 } }
router_settings: { enable_load_balancing: false, enable_cooldowns: true, cooldown_time: 0 }
general_settings: { log_verbose: true, log_level: DEBUG, enable_cors: true, cors_allow_origins: ["*"] }
health_check: { endpoint: "/health", model_list: ["bedrock-claude"] }
`,
  'models by API alone': `general_settings: { store_model_in_db: true, store_prompts_in_spend_logs: true,
  infer_model_from_keys: false, master_key: os.environ/LITELLM_MASTER_KEY }
litellm_settings: { set_verbose: true, cache: true, drop_params: true, success_callback: ["langfuse"] }
`,
  'a pattern and files_settings': `model_list:
${entry('openai/*', 'openai/*', ', api_key: os.environ/OPENAI_API_KEY, organization: org')}
general_settings: { debug: true, master_key: os.environ/LITELLM_MASTER_KEY }
litellm_settings: { cache: true, cache_params: { type: redis, ttl: 10368000, host: "127.0.0.1", port: "6379" } }
files_settings: [{ custom_llm_provider: openai, api_key: os.environ/OPENAI_API_KEY }]
`,
  'facts of their own in model_info': `model_list:
  - model_name: "Claude"
    litellm_params: { model: vertex_ai/claude-haiku-4-5@20251001, vertex_project: unit, vertex_location: europe-west1 }
    model_info: { context_window: '200K', costFactor: 1, hosted_in: EU, multimodal: true, research: false }
  - model_name: "Sonar"
    litellm_params: { model: perplexity/sonar, api_key: os.environ/PERPLEXITYAI_API_KEY }
    model_info: { knowledge_cutoff: null, zdr: false }
`,
  'thinking, reasoning and images': `model_list:
${entry('thinking', 'anthropic/claude-sonnet-4-6', ', thinking: { type: adaptive }')}\
${entry('deep', 'openai/gpt-5.4', ', reasoning_effort: "medium"')}
  - model_name: image
    litellm_params: { model: openai/gpt-image-1.5 }
    model_info: { mode: image_generation, input_cost_per_image: 0.04 }
litellm_settings: { json_logs: true, turn_off_message_logging: true, callbacks: ["prometheus"], modify_params: true,
  max_end_user_budget: 5.0, timezone: America/New_York, extra_spend_tag_headers: ["x-openwebui-user-id"] }
router_settings: { redis_host: redis, redis_port: 6379 }
`,
  'a server that stands in for others, by hundreds of rpm': `model_list:
${entry('default', 'openai/deepseek/v4', `${host}, rpm: 50`)}${entry('smart', 'gemini/gemini-3', ', rpm: 60')}\
${entry('smart', 'openai/google/gemini-3', `${host}, rpm: 30`)}
router_settings: { routing_strategy: usage-based-routing-v2, enable_pre_call_checks: true, allowed_fails: 2,
  fallbacks: [{ smart: ["default"] }] }
general_settings: { max_budget: 2.0, budget_duration: "1d" }
litellm_settings: { cache: true, cache_params: { type: local, ttl: 1800 }, success_callback: ["db"] }
`,
  'Ollama with fields of its own': `model_list:
${entry('llama', 'ollama_chat/llama3.2', ', api_base: "http://ollama:11434", num_ctx: 4096')}
  - model_name: qwen
    litellm_params: { model: ollama_chat/qwen3:4b, api_base: "http://ollama:11434",
      extra_body: { num_ctx: 4096, repeat_penalty: 1.1 } }
    model_info: { mode: chat, input_cost_per_token: 0, supports_function_calling: false }
litellm_settings: { fallbacks: [{ qwen: ["llama"] }], default_fallbacks: ["llama"], callbacks: [langfuse_otel],
  langfuse_default_tags: [rag], prometheus_initialize_budget_metrics: true }
`,
  'roles with fallbacks': `model_list:
${entry('fast', 'ollama/llama3.1:8b', ', api_base: "http://host.docker.internal:11434"')}\
${entry('deep', 'openai/opus', host)}${entry('gpt', 'openai/gpt-4o')}
router_settings: { routing_strategy: simple-shuffle, num_retries: 2, timeout: 120,
  fallbacks: [{ deep: ["gpt", "fast"] }, { gpt: ["fast"] }] }
`,
  'prompt caching at set places': `model_list:
${entry('opus', 'anthropic/claude-opus-4-8', ', cache_control_injection_points: [{ location: message, role: system }]')}
litellm_settings: { drop_params: true, cache: true, cache_params: { type: "redis", host: "redis", port: 6379 } }
`,
  'alerts by webhook': `model_list:
${keyed('anthropic/claude-haiku-4-5', 'anthropic')}${keyed('voyage/voyage-3', 'voyage')}
general_settings: { alerting: ["webhook"],
  alerting_args: { webhook_url: "http://tool:5001/budget", alert_types: ["budget_alerts"] } }
`,
  'limits of deployments in the words of keys': `model_list:
${entry('mind', 'hosted_vllm/org/model', `${host}, rpm_limit: 60, tpm_limit: 100000, temperature: 0.2`)}\
${entry('bge', 'openai/bge-m3', `${host}, rpm_limit: 120`)}
general_settings: { proxy_batch_write_at: 100, store_model_in_db: false, allow_user_auth: false }
litellm_settings: { request_timeout: 120, num_retries: 3, log_level: INFO, success_callback: ["prometheus"] }
`,
  'a default model': `model_list:
${keyed('openai/gpt-5.4-mini', 'openai')}${keyed('anthropic/claude-sonnet-4-5', 'anthropic')}
litellm_settings: { drop_params: true, num_retries: 2, request_timeout: 300, default_model: openai/gpt-5.4-mini }
`,
  'bare names and keys under other names': `model_list:
${entry('openai/gpt-4o', 'gpt-4o', ', api_key: os.environ/OPENAI_API_KEY')}\
${entry('llama', 'together_ai/meta-llama/Llama-4', ', api_key: os.environ/TOGETHER_API_KEY, max_tokens: 131072')}
general_settings: { database_url: null, allowed_ips: null }
`,
  'names without keys': `model_list:
${entry('embed', 'openai/nomic-embed', host)}${entry('chat', 'ollama/llama2:70b', ', api_base: "http://localhost:11434"')}
`,
  'Kubernetes, with certificates': `model_list:
${entry('vllm', 'hosted_vllm/model', `${host}, timeout: 300`)}
litellm_settings: { success_callback: ["redis"], cache: true, cache_params: { type: "redis", host: "redis", port: 6379,
  password: "pw", ssl: true, ssl_certfile: null, ssl_keyfile: null, ssl_ca_certs: null } }
general_settings: { disable_usage_tracking: false, disable_telemetry: true, allowed_origins: ["*"] }
`,
}

for (const [name, text] of Object.entries(shapes))
  test(`${name}: is read with warnings alone`, () => {
    const { mistakes, settings } = read(text)
    expect(mistakes).toEqual([])
    expect(settings).toBeDefined()
  })

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ seed: 1 })
})
afterAll(() => simulator.stop())

/** The vendors' addresses, by the variables in which LiteLLM looks for them. */
function simulated(url: string): Record<string, string> {
  const names = ['OPENAI', 'GROQ', 'MISTRAL', 'CEREBRAS', 'OPENROUTER', 'TOGETHER', 'DEEPSEEK', 'NVIDIA_NIM', 'XAI']
  const bases = [...names, 'ZHIPU', 'GITHUB', 'CLOUDFLARE'].map(name => [`${name}_API_BASE`, `${url}/v1`])
  return {
    ...Object.fromEntries(bases),
    ANTHROPIC_API_BASE: url,
    AZURE_API_BASE: url,
    GEMINI_API_BASE: `${url}/v1beta`,
  }
}

/** Their upstreams speak dialects that the simulator has not: Ollama's, Bedrock's, that of the Agent API. */
const elsewhere = new Set([
  'Bedrock with prices in model_info',
  'facts of their own in model_info',
  'Ollama with fields of its own',
])

for (const [name, text] of Object.entries(shapes))
  test(`${name}: a gateway starts with it, lists its models, and one of them answers`, async () => {
    const url = simulator.url.replace(/\/$/, '')
    const config = text.replaceAll('http://vllm.internal:8000', url)
    const variables = { ...environment, ...simulated(url) }
    const gateway = await startGateway({ config, environment: variables })
    try {
      const { data } = (await (await gateway.admin('/v1/models')).json()) as { data: { id: string }[] }
      expect(data.length).toBeGreaterThan(0)
      const { settings } = readSettings({ text: config, file: 'c.yaml', environment: variables, providers })
      const near = settings!.deployments.find(one => one.target.baseUrl.startsWith(url) && one.mode === 'chat')
      expect([name, near === undefined]).toEqual([name, elsewhere.has(name)])
      if (!near) return
      const model = near.modelName.replace('*', 'gpt-4o')
      const messages = [{ role: 'user', content: 'hi' }]
      const answer = await gateway.admin('/v1/chat/completions', { model, max_tokens: 300, messages })
      expect([answer.status, await answer.json()]).toMatchObject([200, { choices: [{ finish_reason: 'stop' }] }])
    } finally {
      await gateway.stop()
    }
  })

const good = entry('good', 'openai/gpt-4o')

test('a broken entry is left out with its line, and what names it stays', () => {
  const text = `model_list:\n${good}${entry('far', 'nowhere/model')}${entry('warm', 'openai/gpt-4o', ', temperature: 9')}
router_settings: { fallbacks: [{ good: [far] }] }
`
  const strict = read(text)
  expect([strict.settings, strict.mistakes.length]).toEqual([undefined, 2])
  const { settings } = read(text, true)
  expect(settings!.deployments.filter(one => one.origin.kind === 'config').map(one => one.modelName)).toEqual(['good'])
  expect(settings!.leftOut).toEqual([
    expect.stringContaining('c.yaml:3:51 model_list.1.litellm_params.model: unknown provider `nowhere`'),
    expect.stringContaining('c.yaml:4:82 model_list.2.litellm_params.temperature: must be'),
  ])
  const { mistakes } = read(`${text}general_settings: { strict_configuration: true }\n`, true)
  expect(mistakes).toEqual(strict.mistakes)
})

test('a file is refused when more than entries is broken, when none is left, and when a pattern would take the calls', () => {
  const broken = entry('openai/gpt-4o', 'nowhere/model')
  for (const text of [
    `model_list:\n${broken}`,
    `model_list:\n${broken}${entry('openai/*', 'openai/*')}`,
    `model_list:\n${good}${broken}\ngeneral_settings: { max_request_size_mb: big }\n`,
    `model_list:\n${good}${broken}\nlitellm_settings: { callbacks: mine.handler }\n`,
  ])
    expect([text, read(text, true).settings]).toEqual([text, undefined])
})

test('the address of a vendor comes from its variable, where the entry gives none', () => {
  const addressOf = (model: string, more = '') =>
    read(`model_list:\n${entry('m', model, more)}`).settings!.deployments[0]!.target.baseUrl
  expect(addressOf('azure/gpt-4o')).toBe('https://unit.openai.azure.com')
  expect(addressOf('azure/gpt-4o', ', api_base: "https://other.openai.azure.com"')).toBe(
    'https://other.openai.azure.com',
  )
  expect(addressOf('cloudflare/@cf/meta/llama')).toBe('https://api.cloudflare.com/client/v4/accounts/account/ai/v1')
})
