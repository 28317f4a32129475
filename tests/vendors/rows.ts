/** The deployments whose bodies are checked: every provider that chats, and the most used hosts of the catalogue. */
import { awsKeys } from '../../simulator/index.ts'

/** One deployment. */
export interface VendorRow {
  readonly provider: string
  readonly model: string
  /** `proxy_params` beside the model and its key; `{upstream}` stands for an address of the row's own. */
  readonly params: Readonly<Record<string, string>>
}

const host = (provider: string, ...models: string[]): VendorRow[] =>
  models.map(model => ({ provider, model, params: { api_base: '{upstream}/v1' } }))
const native = (provider: string, params: Record<string, string>, ...models: string[]): VendorRow[] =>
  models.map(model => ({ provider, model, params: { api_base: '{upstream}', ...params } }))
const aws = {
  aws_region_name: 'us-east-1',
  aws_access_key_id: awsKeys.id,
  aws_secret_access_key: awsKeys.secret,
}

/** Models by generation, where requests differ between them. */
export const vendorRows: readonly VendorRow[] = [
  ...host('openai', 'gpt-5.5', 'gpt-5', 'gpt-4o', 'o3'),
  ...native('azure', { api_version: '2024-10-21' }, 'gpt-5', 'gpt-4o'),
  ...native('azure_ai', {}, 'Phi-4'),
  ...native(
    'anthropic',
    {},
    'claude-opus-5-5',
    'claude-sonnet-5-5',
    'claude-opus-4-6',
    'claude-sonnet-4-5',
    'claude-3-7-sonnet-20250219',
  ),
  ...native('gemini', {}, 'gemini-3.8-flash', 'gemini-3-pro-preview', 'gemini-2.5-flash', 'gemini-2.0-flash'),
  ...native(
    'vertex_ai',
    { vertex_project: 'my-project', vertex_location: 'europe-west1' },
    'gemini-2.5-pro',
    'claude-sonnet-4-5@20250929',
  ),
  ...native('cohere', {}, 'command-a-03-2025', 'command-a-reasoning-08-2025'),
  ...host('mistral', 'mistral-large-latest', 'magistral-medium-latest'),
  ...native('ollama', {}, 'llama3.2', 'gpt-oss:20b'),
  ...native(
    'bedrock',
    aws,
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'amazon.nova-pro-v1:0',
    'meta.llama3-3-70b-instruct-v1:0',
    'openai.gpt-oss-120b-1:0',
  ),
  ...host('groq', 'llama-3.3-70b-versatile', 'openai/gpt-oss-120b'),
  ...host('deepseek', 'deepseek-chat', 'deepseek-reasoner'),
  ...host('xai', 'grok-4', 'grok-3-mini'),
  ...host('openrouter', 'openai/gpt-5', 'anthropic/claude-sonnet-4.5'),
  ...host('together_ai', 'meta-llama/Llama-3.3-70B-Instruct-Turbo', 'openai/gpt-oss-120b'),
  ...host('fireworks_ai', 'accounts/fireworks/models/kimi-k2-instruct', 'accounts/fireworks/models/gpt-oss-120b'),
  ...host('perplexity', 'sonar', 'sonar-pro'),
  ...host('cerebras', 'gpt-oss-120b', 'llama-3.3-70b'),
  ...host('sambanova', 'Meta-Llama-3.3-70B-Instruct'),
  ...host('nvidia_nim', 'meta/llama-3.3-70b-instruct'),
  ...host('deepinfra', 'meta-llama/Llama-3.3-70B-Instruct'),
  ...host('moonshot', 'kimi-k2-0905-preview'),
  ...host('zai', 'glm-4.6'),
  ...host('dashscope', 'qwen-plus'),
  ...host('minimax', 'MiniMax-M2'),
  ...host('siliconflow', 'deepseek-ai/DeepSeek-V3'),
  ...host('volcengine', 'doubao-seed-1-6'),
  ...host('huggingface', 'openai/gpt-oss-120b'),
  ...host('novita', 'deepseek/deepseek-v3'),
  ...host('nebius', 'Qwen/Qwen3-235B-A22B'),
  ...host('hosted_vllm', 'Qwen/Qwen3-32B'),
  ...host('vercel_ai_gateway', 'openai/gpt-5'),
]
