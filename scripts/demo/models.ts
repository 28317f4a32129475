/** The models of the demo: names, prices and limits of real ones, deployments on the simulator. */

/** One deployment behind a public name. */
export interface DemoDeployment {
  readonly id: string
  /** `provider/model` as in a configuration; the price list knows it, or `prices` says what it costs. */
  readonly model: string
  /** Behind the address of the simulator. */
  readonly path: string
  readonly params?: Readonly<Record<string, unknown>>
  /** Share of the calls of its model, against those of the others. */
  readonly weight: number
  /** Milliseconds to the first byte, and of each further token, of a call that nothing disturbs. */
  readonly pace: { readonly firstByteMs: number; readonly tokenMs: number }
}

/** One public name. */
export interface DemoModel {
  readonly name: string
  readonly mode: 'chat' | 'embedding' | 'rerank' | 'image_generation'
  readonly description: string
  readonly deployments: readonly DemoDeployment[]
  /** Tokens of a usual call. */
  readonly usual: { readonly input: number; readonly output: number }
}

/** Answers `503` to every call, so that the page of health has something to say. */
const broken = { extra_headers: { 'x-simulate': 'status;code=503' } }
/** Slow enough to be seen next to the others. */
const slow = { extra_headers: { 'x-simulate': 'slow;ms=1400' } }

/** Nine models, thirteen deployments. */
export const demoModels: readonly DemoModel[] = [
  {
    name: 'gpt-5-mini',
    mode: 'chat',
    description: 'The everyday model: quick, cheap, thinks when asked.',
    deployments: [
      { id: 'openai-1', model: 'openai/gpt-5-mini', path: '/v1', weight: 5, pace: { firstByteMs: 420, tokenMs: 9 } },
      {
        id: 'azure-eu',
        model: 'azure/gpt-5-mini',
        path: '',
        params: { api_version: '2025-04-01-preview' },
        weight: 3,
        pace: { firstByteMs: 510, tokenMs: 11 },
      },
    ],
    usual: { input: 1800, output: 420 },
  },
  {
    name: 'gpt-4.1',
    mode: 'chat',
    description: 'Long documents and tools.',
    deployments: [
      { id: 'openai-2', model: 'openai/gpt-4.1', path: '/v1', weight: 1, pace: { firstByteMs: 610, tokenMs: 14 } },
      {
        id: 'azure-us',
        model: 'azure/gpt-4.1',
        path: '',
        params: { api_version: '2025-04-01-preview', ...slow },
        weight: 1,
        pace: { firstByteMs: 1900, tokenMs: 16 },
      },
    ],
    usual: { input: 5200, output: 510 },
  },
  {
    name: 'claude-sonnet-4-5',
    mode: 'chat',
    description: 'Coding agents and reviews.',
    deployments: [
      {
        id: 'anthropic-1',
        model: 'anthropic/claude-sonnet-4-5',
        path: '',
        weight: 4,
        pace: { firstByteMs: 780, tokenMs: 15 },
      },
      {
        id: 'anthropic-2',
        model: 'anthropic/claude-sonnet-4-5',
        path: '',
        weight: 1,
        pace: { firstByteMs: 820, tokenMs: 17 },
      },
    ],
    usual: { input: 9400, output: 780 },
  },
  {
    name: 'claude-haiku-4-5',
    mode: 'chat',
    description: 'Short answers at once.',
    deployments: [
      {
        id: 'anthropic-3',
        model: 'anthropic/claude-haiku-4-5',
        path: '',
        weight: 1,
        pace: { firstByteMs: 340, tokenMs: 7 },
      },
    ],
    usual: { input: 2100, output: 260 },
  },
  {
    name: 'gemini-2.5-flash',
    mode: 'chat',
    description: 'Pictures, sound and very long inputs.',
    deployments: [
      { id: 'google-1', model: 'gemini/gemini-2.5-flash', path: '', weight: 1, pace: { firstByteMs: 390, tokenMs: 6 } },
    ],
    usual: { input: 3600, output: 340 },
  },
  {
    name: 'llama-3.3-70b',
    mode: 'chat',
    description: 'Open weights: at Groq, and in our own rack.',
    deployments: [
      {
        id: 'groq-1',
        model: 'groq/llama-3.3-70b-versatile',
        path: '/v1',
        weight: 6,
        pace: { firstByteMs: 160, tokenMs: 3 },
      },
      {
        id: 'rack-7',
        model: 'custom_openai/llama-3.3-70b',
        path: '/v1',
        params: { input_cost_per_token: 2e-7, output_cost_per_token: 2e-7, ...broken },
        weight: 1,
        pace: { firstByteMs: 260, tokenMs: 12 },
      },
    ],
    usual: { input: 1200, output: 300 },
  },
  {
    name: 'text-embedding-3-small',
    mode: 'embedding',
    description: 'Vectors of the knowledge base.',
    deployments: [
      {
        id: 'openai-3',
        model: 'openai/text-embedding-3-small',
        path: '/v1',
        weight: 1,
        pace: { firstByteMs: 90, tokenMs: 0 },
      },
    ],
    usual: { input: 900, output: 0 },
  },
  {
    name: 'rerank-v3.5',
    mode: 'rerank',
    description: 'Puts what was found in order.',
    deployments: [
      { id: 'cohere-1', model: 'cohere/rerank-v3.5', path: '', weight: 1, pace: { firstByteMs: 140, tokenMs: 0 } },
    ],
    usual: { input: 0, output: 0 },
  },
  {
    name: 'gpt-image-1',
    mode: 'image_generation',
    description: 'Pictures for the newsletter.',
    deployments: [
      {
        id: 'openai-4',
        model: 'openai/gpt-image-1',
        path: '/v1',
        weight: 1,
        pace: { firstByteMs: 11_000, tokenMs: 0 },
      },
    ],
    usual: { input: 60, output: 1056 },
  },
]

/** Providers whose key several deployments share. */
const credentials = ['openai', 'anthropic']

const accessTo = (model: string) => {
  const [provider = ''] = model.split('/')
  return credentials.includes(provider) ? { credential_name: provider } : { api_key: 'simulated' }
}

/** The configuration of the demo's gateway. YAML is a superset of JSON. */
export function demoConfiguration(simulatorUrl: string): string {
  const model_list = demoModels.flatMap(({ name, mode, description, deployments }) =>
    deployments.map(({ id, model, path, params, weight }) => ({
      model_name: name,
      proxy_params: { model, api_base: `${simulatorUrl}${path}`, ...accessTo(model), weight, ...params },
      model_info: { id, mode, description },
    })),
  )
  const configuration = {
    model_list,
    credential_list: credentials.map(name => ({
      credential_name: name,
      credential_values: { api_key: 'simulated' },
      credential_info: { description: `The account of the organisation at ${name}` },
    })),
    router_settings: {
      num_retries: 2,
      model_group_alias: { fast: 'llama-3.3-70b' },
      fallbacks: [{ 'gpt-5-mini': ['claude-haiku-4-5'] }, { 'claude-sonnet-4-5': ['gpt-4.1'] }],
    },
    settings: {
      cache: true,
      cache_params: { type: 'local', ttl: 600 },
      public_model_groups: ['gpt-5-mini', 'claude-sonnet-4-5', 'gemini-2.5-flash', 'text-embedding-3-small'],
    },
    guardrails: [
      {
        guardrail_name: 'personal-data',
        proxy_params: {
          guardrail: 'personal_data',
          mode: ['pre_call', 'post_call'],
          pii_entities_config: { EMAIL_ADDRESS: 'MASK', PHONE_NUMBER: 'MASK', CREDIT_CARD: 'BLOCK' },
        },
      },
      {
        guardrail_name: 'attacks',
        proxy_params: { guardrail: 'prompt_injection', mode: 'pre_call', default_on: true },
      },
    ],
  }
  return JSON.stringify(configuration, null, 2)
}
