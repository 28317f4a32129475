/** Every provider that the simulator plays, by the paths and models that make a difference. */
import { awsKeys } from '../../../simulator/index.ts'

export interface ProviderRow {
  readonly name: string
  /** `proxy_params`; `{simulator}` stands for its address. */
  readonly params: Readonly<Record<string, string>>
  /** How the path of a call must end that reached this provider; by it the cell is known to be its own. */
  readonly path: RegExp
}

const chat = /\/chat\/completions(?:\?|$)/
/** OpenAI's own dialects may be forwarded. */
const chatOrResponses = /\/(?:chat\/completions|responses)$/
const key = { api_key: 'upstream-key-canary-1' }
const bedrock = {
  api_base: '{simulator}',
  aws_region_name: 'us-east-1',
  aws_access_key_id: awsKeys.id,
  aws_secret_access_key: awsKeys.secret,
}

export const providerRows: readonly ProviderRow[] = [
  { name: 'openai', params: { model: 'openai/gpt-5', api_base: '{simulator}/v1', ...key }, path: chatOrResponses },
  // Function tools and all calls, respectively, only by Responses, for every dialect of the client.
  {
    name: 'openai-six',
    params: { model: 'openai/gpt-6-sol', api_base: '{simulator}/v1', ...key },
    path: chatOrResponses,
  },
  {
    name: 'openai-codex',
    params: { model: 'openai/gpt-5-codex', api_base: '{simulator}/v1', ...key },
    path: /\/v1\/responses$/,
  },
  {
    name: 'azure-codex',
    params: { model: 'azure/gpt-5.3-codex', api_base: '{simulator}', ...key },
    path: /\/openai\/v1\/responses$/,
  },
  { name: 'custom_openai', params: { model: 'custom_openai/sim', api_base: '{simulator}/v1', ...key }, path: chat },
  {
    name: 'groq',
    params: { model: 'groq/llama-3.3-70b-versatile', api_base: '{simulator}/groq/openai/v1', ...key },
    path: chatOrResponses,
  },
  // Hosts whose differences the catalogue knows: roles, stream options, sampling.
  { name: 'deepseek', params: { model: 'deepseek/deepseek-chat', api_base: '{simulator}/v1', ...key }, path: chat },
  {
    name: 'perplexity',
    params: { model: 'perplexity/sonar', api_base: '{simulator}/host/perplexity/v1', ...key },
    path: /\/v1\/responses$/,
  },
  {
    name: 'openrouter',
    params: { model: 'openrouter/openai/gpt-5', api_base: '{simulator}/v1', ...key },
    path: chatOrResponses,
  },
  {
    name: 'azure',
    params: { model: 'azure/gpt-5', api_base: '{simulator}', api_version: '2024-10-21', ...key },
    path: /\/openai\/(?:deployments\/gpt-5\/chat\/completions\?api-version=|v1\/responses)/,
  },
  {
    name: 'azure_ai',
    params: { model: 'azure_ai/Phi-4', api_base: '{simulator}/models', ...key },
    path: /\/models\/chat\/completions\?api-version=/,
  },
  {
    name: 'anthropic',
    params: { model: 'anthropic/claude-sonnet-4-5', api_base: '{simulator}', ...key },
    path: /\/v1\/messages$/,
  },
  {
    name: 'gemini',
    params: { model: 'gemini/gemini-2.5-flash', api_base: '{simulator}', ...key },
    path: /\/v1beta\/models\/gemini-2\.5-flash:/,
  },
  {
    name: 'gemini-old',
    params: { model: 'gemini/gemini-2.0-flash', api_base: '{simulator}', ...key },
    path: /\/v1beta\/models\/gemini-2\.0-flash:/,
  },
  // The third generation wants its signatures back.
  {
    name: 'gemini-three',
    params: { model: 'gemini/gemini-3-pro-preview', api_base: '{simulator}', ...key },
    path: /\/v1beta\/models\/gemini-3-pro-preview:/,
  },
  {
    name: 'vertex_ai',
    params: {
      model: 'vertex_ai/gemini-2.5-pro',
      api_base: '{simulator}',
      vertex_project: 'my-project',
      vertex_location: 'europe-west1',
      ...key,
    },
    path: /\/v1\/projects\/my-project\/locations\/europe-west1\/publishers\/google\/models\/gemini-2\.5-pro:/,
  },
  {
    name: 'vertex_ai-claude',
    params: {
      model: 'vertex_ai/claude-sonnet-4-5@20250929',
      api_base: '{simulator}',
      vertex_project: 'my-project',
      ...key,
    },
    path: /\/publishers\/anthropic\/models\/claude-sonnet-4-5@20250929:(?:rawPredict|streamRawPredict)$/,
  },
  {
    name: 'cohere',
    params: { model: 'cohere/command-a-vision-07-2025', api_base: '{simulator}', ...key },
    path: /\/v2\/chat$/,
  },
  {
    name: 'mistral',
    params: { model: 'mistral/mistral-large-latest', api_base: '{simulator}/mistral/v1', ...key },
    path: /\/mistral\/v1\/chat\/completions$/,
  },
  {
    name: 'magistral',
    params: { model: 'mistral/magistral-medium-latest', api_base: '{simulator}/mistral/v1', ...key },
    path: /\/mistral\/v1\/chat\/completions$/,
  },
  { name: 'ollama', params: { model: 'ollama/llama3.2', api_base: '{simulator}' }, path: /\/api\/chat$/ },
  {
    name: 'bedrock',
    params: { model: 'bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0', ...bedrock },
    path: /\/model\/us\.anthropic[^/]+\/converse(?:-stream)?$/,
  },
  {
    name: 'bedrock-nova',
    params: { model: 'bedrock/amazon.nova-pro-v1:0', ...bedrock },
    path: /\/model\/amazon\.nova[^/]+\/converse(?:-stream)?$/,
  },
]

/**
 * The ways in which an upstream may behave, by the end of the model's name: the header works where a name with a fault
 * would not.
 */
const behaviours = {
  '': undefined,
  '-limited': '429;retry-after=',
  // Late enough for a model that thinks first; slow enough for what was said to have gone on its way.
  '-cut': 'cut;at=30;token-ms=1',
  '-failing': 'error-in-stream;at=30;token-ms=1',
  '-slow': 'token-ms=15',
} as const

/** One deployment for each provider and behaviour. */
export function matrixConfig(): string {
  const deployments = providerRows.flatMap(({ name, params }) =>
    Object.entries(behaviours).map(([ending, fault]) => ({
      model_name: `${name}${ending}`,
      proxy_params: { ...params, ...(fault !== undefined && { extra_headers: { 'x-simulate': fault } }) },
      // Names that the catalogue does not know are taken for models that can all of it.
      model_info: { mode: 'chat' },
    })),
  )
  return JSON.stringify({
    model_list: deployments,
    router_settings: { num_retries: 0, allowed_fails: 1000, cooldown_time: 0 },
  })
}
