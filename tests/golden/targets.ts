/**
 * The upstreams of the golden tests: native providers by the models that differ, and representatives of compatible
 * hosts.
 */
import { hostRules } from '../../rules/hosts.ts'
import type { ChatAdapter, Provider, Target } from '../../src/core/provider.ts'
import { catalog } from '../../src/providers/catalog.ts'
import { providers } from '../../src/providers/index.ts'
import type { CompatibleRow } from '../../src/providers/openai-compatible/row.ts'
import { targetOf } from '../support/provider-rig.ts'

interface Row {
  readonly provider: string
  /** By OpenAI's Responses, under the name `provider-responses`. */
  readonly responses?: true
  readonly models: readonly string[]
  readonly baseUrl?: string
  readonly options?: Record<string, unknown>
}

const rows: readonly Row[] = [
  { provider: 'openai', models: ['gpt-4o', 'gpt-5', 'gpt-5.1'] },
  { provider: 'groq', models: ['llama-3.3-70b-versatile', 'openai/gpt-oss-120b'] },
  { provider: 'cerebras', models: ['gpt-oss-120b', 'llama-4-scout'] },
  { provider: 'fireworks_ai', models: ['accounts/fireworks/models/glm-5'] },
  { provider: 'xai', models: ['grok-4.5', 'grok-4.20-0309-reasoning'] },
  { provider: 'moonshot', models: ['kimi-k2-thinking'] },
  { provider: 'nvidia_nim', models: ['meta/llama-3.3-70b-instruct'] },
  { provider: 'deepinfra', models: ['Qwen/Qwen3-32B'] },
  { provider: 'vercel_ai_gateway', models: ['openai/gpt-5'] },
  { provider: 'deepseek', models: ['deepseek-chat'] },
  { provider: 'sambanova', models: ['DeepSeek-V3.1'] },
  { provider: 'openrouter', models: ['openai/gpt-5'] },
  { provider: 'together_ai', models: ['meta-llama/Llama-3.3-70B-Instruct-Turbo'] },
  { provider: 'perplexity', models: ['sonar'] },
  { provider: 'perplexity', responses: true, models: ['sonar'] },
  { provider: 'openai', responses: true, models: ['gpt-5.6', 'gpt-4o'] },
  { provider: 'azure', responses: true, models: ['my-gpt-6'], baseUrl: 'https://name.openai.azure.com' },
  { provider: 'hosted_vllm', responses: true, models: ['openai/gpt-oss-120b'] },
  { provider: 'local', models: ['simulated-chat'], baseUrl: 'http://built-in' },
  { provider: 'azure', models: ['gpt-5'], baseUrl: 'https://name.openai.azure.com' },
  { provider: 'azure_ai', models: ['Phi-4'], baseUrl: 'https://name.services.ai.azure.com' },
  {
    provider: 'anthropic',
    models: ['claude-sonnet-4-5', 'claude-3-7-sonnet-20250219', 'claude-opus-5-5', 'claude-sonnet-5-5'],
  },
  { provider: 'gemini', models: ['gemini-2.0-flash', 'gemini-2.5-flash', 'gemini-3-pro-preview', 'gemini-3.8-flash'] },
  {
    provider: 'vertex_ai',
    models: ['gemini-2.5-pro', 'claude-sonnet-4-5@20250929'],
    options: { vertex_project: 'my-project', vertex_location: 'europe-west1' },
  },
  { provider: 'cohere', models: ['command-a-03-2025', 'command-a-reasoning-08-2025'] },
  {
    provider: 'mistral',
    models: ['mistral-large-latest', 'magistral-medium-latest', 'mistral-large-4-0', 'ministral-8b-latest'],
  },
  { provider: 'ollama', models: ['llama3.2', 'gpt-oss:20b'] },
  {
    provider: 'bedrock',
    models: ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon.nova-pro-v1:0', 'meta.llama3-3-70b-instruct-v1:0'],
    options: { aws_region_name: 'us-east-1' },
  },
]

interface GridTarget {
  readonly model: string
  readonly target: Target
  readonly adapter: ChatAdapter
}

/** By provider, in the order of its models. */
export const targets: ReadonlyMap<string, readonly GridTarget[]> = new Map(
  rows.map(({ provider, responses, models, baseUrl, options }) => [
    responses ? `${provider}-responses` : provider,
    models.map(model => {
      const target = targetOf(providerOf(provider), {
        model,
        ...(baseUrl !== undefined && { baseUrl }),
        options: options ?? {},
      })
      return { model, target, adapter: responses ? target.provider.chatByResponses!(target) : target.provider.chat! }
    }),
  ]),
)

export function providerOf(name: string): Provider {
  const provider = providers.get(name)
  if (!provider) throw new Error(`there is no provider ${name}`)
  return provider
}

/** The properties of a catalogue row that change a translated call: hosts with equal properties send equal bodies. */
export function rowKey(name: string): string | undefined {
  const row = (catalog as Readonly<Record<string, CompatibleRow>>)[name]
  const checkedText = name in hostRules ? name : ''
  return row && JSON.stringify([row.maxTokensField ?? 'max_tokens', row.topK ?? false, row.quirks ?? {}, checkedText])
}
