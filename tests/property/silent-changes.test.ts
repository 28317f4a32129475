/**
 * What a client says by another value reaches the upstream as another body, or is named: of every dialect, each vendor
 * with a dialect of its own is asked with each value of a field, and no two of them may become one without a word. Where
 * two values mean the same the table says it.
 */
import { describe, expect, test } from 'bun:test'
import { targetOf } from '../support/provider-rig.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { ChatRequest } from '../../src/core/hub/chat.ts'
import type { Target } from '../../src/core/provider.ts'
import { anthropicMessages, geminiGenerate, openaiChat, openaiResponses } from '../../src/formats/index.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import type { Json } from '../../src/lib/json/json-values.ts'
import { providers } from '../../src/providers/index.ts'

interface Dialect {
  inspect(body: JsonBody): { readonly problems: readonly unknown[] }
  decode(body: JsonBody): ChatRequest
}

interface Asked {
  readonly field: string
  readonly values: readonly unknown[]
  /** Other fields that the values need. */
  readonly beside?: Json
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const object = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })
const chatTools = ['a', 'b'].map(name => ({ type: 'function', function: { name, parameters: object('x') } }))
const named = (name: string) => ({ type: 'function', function: { name } })
const allowed = (mode: string) => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [named('a')] } })

const chat: readonly Asked[] = [
  { field: 'temperature', values: [0.1, 0.5, 1.2, 1.6, 2] },
  { field: 'top_p', values: [0.1, 0.9] },
  { field: 'top_k', values: [1, 40, 500] },
  { field: 'stop', values: [['a'], ['a', 'b'], ['a', 'b', 'c', 'd', 'e', 'f'], ['a', 'b', 'c', 'd', 'e', 'f', 'g']] },
  { field: 'seed', values: [1, -5, 2 ** 33] },
  { field: 'frequency_penalty', values: [-2, 1, 2] },
  { field: 'presence_penalty', values: [-2, 1, 2] },
  { field: 'n', values: [2, 3] },
  { field: 'max_tokens', values: [1, 5, 100] },
  { field: 'tool_choice', values: ['none', 'required', named('b'), allowed('auto')], beside: { tools: chatTools } },
  { field: 'parallel_tool_calls', values: [false], beside: { tools: chatTools } },
  { field: 'service_tier', values: ['default', 'flex', 'priority', 'scale'] },
  { field: 'reasoning_effort', values: efforts, beside: { max_tokens: 60_000 } },
  {
    field: 'modalities',
    values: [
      ['text', 'image'],
      ['text', 'audio'],
    ],
  },
  { field: 'verbosity', values: ['low', 'high'] },
  { field: 'logprobs', values: [true, 3] },
  { field: 'logit_bias', values: [{ 1: 1 }, { 2: 2 }] },
  { field: 'user', values: ['a', 'b'] },
  { field: 'metadata', values: [{ a: 'b' }, { a: 'c' }] },
  { field: 'store', values: [true, false] },
  { field: 'prediction', values: [{ type: 'content', content: 'x' }] },
  { field: 'web_search_options', values: [{}, { search_context_size: 'low' }, { search_context_size: 'high' }] },
  { field: 'prompt_cache_key', values: ['a', 'b'] },
]

const ownTools = [{ name: 'a', input_schema: object('x') }]
const messages: readonly Asked[] = [
  { field: 'temperature', values: [0.1, 0.9] },
  { field: 'top_k', values: [1, 40] },
  { field: 'stop_sequences', values: [['a'], ['b'], ['a', 'b', 'c', 'd', 'e', 'f']] },
  {
    field: 'tool_choice',
    values: [{ type: 'any' }, { type: 'none' }, { type: 'auto', disable_parallel_tool_use: true }],
    beside: { tools: ownTools },
  },
  {
    field: 'thinking',
    values: [
      ...[1024, 9000, 50_000].map(budget_tokens => ({ type: 'enabled', budget_tokens })),
      { type: 'adaptive' },
      { type: 'between_tools' },
    ],
  },
  { field: 'output_config', values: efforts.slice(2).map(effort => ({ effort })) },
  { field: 'service_tier', values: ['standard_only'] },
  { field: 'speed', values: ['fast'] },
  { field: 'inference_geo', values: ['us'] },
]

/** Within a maximum that has room for every budget. */
const thinking = (...configs: Json[]) => configs.map(thinkingConfig => ({ maxOutputTokens: 60_000, thinkingConfig }))
const gemini: readonly Asked[] = [
  {
    field: 'generationConfig',
    values: [
      ...[{ temperature: 0.3 }, { temperature: 1.9 }, { topP: 0.3 }, { topK: 3 }, { candidateCount: 2 }, { seed: 3 }],
      ...[{ maxOutputTokens: 5 }, { stopSequences: ['a'] }, { presencePenalty: 1 }, { frequencyPenalty: 1 }],
      ...[{ responseModalities: ['TEXT', 'IMAGE'] }, { mediaResolution: 'MEDIA_RESOLUTION_LOW' }],
      ...thinking(...['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'XHIGH', 'HUGE'].map(thinkingLevel => ({ thinkingLevel }))),
      ...thinking(...[100, 5000, 90_000].map(thinkingBudget => ({ thinkingBudget }))),
      ...thinking({ thinkingLevel: 'LOW', thinkingBudget: 9000 }),
    ],
  },
  { field: 'serviceTier', values: ['flex', 'priority', 'standard'] },
  { field: 'safetySettings', values: [[{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]] },
]

const responses: readonly Asked[] = [
  { field: 'temperature', values: [0.1, 1.4, 2] },
  { field: 'max_output_tokens', values: [1, 5, 20] },
  { field: 'reasoning', values: efforts.map(effort => ({ effort })), beside: { max_output_tokens: 60_000 } },
  { field: 'text', values: [{ verbosity: 'low' }, { verbosity: 'high' }] },
  { field: 'service_tier', values: ['default', 'flex', 'priority'] },
  { field: 'top_logprobs', values: [1, 5, 20] },
  { field: 'max_tool_calls', values: [1, 2] },
  { field: 'user', values: ['a', 'b'] },
]

const user = { role: 'user', content: 'hi' }
/** The dialect, what is asked in it, and the rest of its body. */
const dialects: Readonly<Record<string, readonly [Dialect, readonly Asked[], Json]>> = {
  chat: [openaiChat, chat, { model: 'p', messages: [user] }],
  messages: [anthropicMessages, messages, { model: 'p', max_tokens: 60_000, messages: [user] }],
  gemini: [geminiGenerate, gemini, { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }],
  responses: [openaiResponses, responses, { model: 'p', input: 'hi', store: false }],
}

const google = { vertex_project: 'p', vertex_location: 'us-central1' }
const aws = { aws_region_name: 'us-east-1' }
const models: readonly (readonly [provider: string, model: string, options?: Json])[] = [
  ['anthropic', 'claude-sonnet-4-5'],
  ['anthropic', 'claude-opus-4-6'],
  ['anthropic', 'claude-opus-5-5'],
  ['bedrock', 'anthropic.claude-sonnet-4-5-20250929-v1:0', aws],
  ['bedrock', 'amazon.nova-2-lite-v1:0', aws],
  ['bedrock', 'openai.gpt-oss-120b-1:0', aws],
  ['bedrock', 'meta.llama3-3-70b-instruct-v1:0', aws],
  ['gemini', 'gemini-2.5-flash'],
  ['gemini', 'gemini-3.8-flash'],
  ['vertex_ai', 'claude-sonnet-4-5@20250929', google],
  ['mistral', 'mistral-large-latest'],
  ['mistral', 'magistral-medium-latest'],
  ['cohere', 'command-a-reasoning-08-2025'],
  ['ollama', 'qwen3'],
  ['ollama', 'gpt-oss:20b'],
  ['openai', 'gpt-4o'],
  ['openai', 'gpt-5.6'],
  ['groq', 'openai/gpt-oss-120b'],
  ['together_ai', 'meta-llama/Llama-3.3-70B-Instruct-Turbo'],
  ['fireworks_ai', 'accounts/fireworks/models/glm-5'],
  ['cerebras', 'gpt-oss-120b'],
  ['xai', 'grok-4.6'],
  ['deepseek', 'deepseek-v4-pro'],
]

/** Values that mean the same to a vendor: [provider, the words in their JSON]. */
const alike: readonly (readonly [provider: RegExp, values: RegExp])[] = [
  // The least budget of Claude, and of Google's own table.
  [/anthropic|vertex_ai|bedrock|gemini/, /"minimal".*"low"|MINIMAL.*LOW/],
  // No limit but the model's.
  [/cohere/, /"high".*"xhigh".*"max"|HIGH.*XHIGH/],
]
/** Values that ask for what is so anyway; gpt-oss always thinks. */
const neutral = /^"none"$|^\{"effort":"none"\}$|^"default"$|^"standard"$/
const isNeutral = (value: string, model: string): boolean =>
  neutral.test(value) || (model.includes('gpt-oss') && value === '{"type":"adaptive"}')

interface Answer {
  readonly body: string
  readonly dropped: readonly string[]
}

/** undefined = the call is refused, by the dialect or by the vendor's translation. */
function answerOf(dialect: Dialect, target: Target, fields: Json): Answer | undefined {
  const body = JsonBody.read(Buffer.from(JSON.stringify(fields)))
  if (dialect.inspect(body).problems.length > 0) return undefined
  try {
    const request = dialect.decode(body)
    const call = target.provider.chat!.request(request, target)
    return { body: JSON.stringify(call.body), dropped: [...(request.dropped ?? []), ...call.dropped] }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return undefined
  }
}

describe.each(Object.entries(dialects))('%s', (_, [dialect, fields, base]) => {
  test.each(models)('%s %s', (providerName, model, options = {}) => {
    const target = targetOf(providers.get(providerName)!, { model, options })
    const silent: string[] = []
    for (const { field, values, beside = {} } of fields) {
      const without = answerOf(dialect, target, { ...base, ...beside })!
      const bodies = new Map<string, string[]>([[without.body, []]])
      for (const value of values) {
        const answer = answerOf(dialect, target, { ...base, ...beside, [field]: value })
        if (!answer || answer.dropped.some(name => !without.dropped.includes(name))) continue
        bodies.set(answer.body, [...(bodies.get(answer.body) ?? []), JSON.stringify(value)])
      }
      for (const [body, same] of bodies) {
        const text = same.join(' ')
        const isAlike = alike.some(([provider, words]) => provider.test(providerName) && words.test(text))
        const lost = body === without.body ? same.some(value => !isNeutral(value, model)) : same.length > 1 && !isAlike
        if (lost) silent.push(`${field}: ${text}`)
      }
    }
    expect(silent).toEqual([])
  })
})
