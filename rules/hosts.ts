/** What hosts with OpenAI's chat dialect refuse of it, by their names in the catalogue. One without a row takes all. */
import { foreignMarks, joined, markedTools } from './chat.ts'
import { threeEfforts } from './efforts.ts'
import { agentApi } from './perplexity.ts'
import { peersList, rowFor } from './source.ts'
import type { ChatRule, HostRule, ModelRule } from './chat.ts'
import type { Source } from './source.ts'

const read = (url: string): Source => ({ url, readOn: '2026-11-23' })

/** Of Kimi K3 and K3.1, at Moonshot and at hosts. */
const kimi3Efforts = ['low', 'high', 'max'] as const

/**
 * "The following fields are currently not supported and will result in a 400 error"; unknown ones are refused too:
 * those of OpenAI that the types of groq-sdk 1.6.0 do not have, or call not supported.
 */
const groq: HostRule = {
  source: read('https://console.groq.com/docs/openai'),
  refusal: 'groq',
  unsupported: [
    'logprobs',
    'top_logprobs',
    'logit_bias',
    'store',
    'metadata',
    'prompt_cache_key',
    'prompt_cache_retention',
    'safety_identifier',
    'prediction',
    'verbosity',
    'modalities',
    'audio',
    'web_search_options',
    'thinking',
    'reasoning',
    'top_k',
    'chat_template_kwargs',
  ],
  onlyAt: { n: 1 },
  words: { service_tier: { default: 'on_demand' } },
  messageFields: ['name', 'reasoning_content', 'refusal', ...foreignMarks],
  toolFields: markedTools,
  // console.groq.com/docs/structured-outputs: "Streaming and tool use are not currently supported" (2026-11-28).
  formatBesideTools: false,
  efforts: [],
  models: [
    // It takes back what it calls `reasoning`, of models that reason (types of groq-sdk 1.6.0).
    {
      pattern: /gpt-oss/,
      source: read('https://console.groq.com/docs/reasoning'),
      efforts: threeEfforts,
      messageRename: { reasoning_content: 'reasoning' },
    },
    {
      pattern: /qwen-?3/,
      source: read('https://console.groq.com/docs/reasoning'),
      efforts: ['none', 'default'],
      messageRename: { reasoning_content: 'reasoning' },
    },
    { pattern: /./, source: read('https://github.com/vercel/ai/pull/8057'), messageFields: ['reasoning'] },
  ],
}

/** Refuses unknown members with 400 `wrong_api_format`: those that the types of its SDK (1.91.0) do not have. */
const cerebras: HostRule = {
  source: read('https://inference-docs.cerebras.ai/resources/openai'),
  refusal: 'cerebras',
  unsupported: [
    'store',
    'metadata',
    'prompt_cache_retention',
    'safety_identifier',
    'verbosity',
    'modalities',
    'audio',
    'web_search_options',
    'thinking',
    'reasoning',
    'top_k',
    'chat_template_kwargs',
    'enable_thinking',
    'functions',
    'function_call',
  ],
  // Its 400 `wrong_api_format`: "tools" is incompatible with "response_format" (seen by others on 2026-08-29).
  formatBesideTools: false,
  messageFields: ['reasoning_content', 'refusal', ...foreignMarks],
  toolFields: markedTools,
  efforts: [],
  models: [
    // @ai-sdk/cerebras 2.0.82 sends earlier thinking back as `reasoning`.
    {
      pattern: /gpt-oss/,
      source: read('https://github.com/vercel/ai/issues/15042'),
      efforts: threeEfforts,
      messageRename: { reasoning_content: 'reasoning' },
    },
    {
      pattern: /glm|qwen-?3|gemma-?4/,
      source: read('https://inference-docs.cerebras.ai/capabilities/reasoning'),
      efforts: ['none', ...threeEfforts],
      messageRename: { reasoning_content: 'reasoning' },
    },
  ],
}

/** "Extra inputs are not permitted" for each unknown member; thinking comes back as `reasoning_content`. */
const fireworks: HostRule = {
  source: read('https://docs.fireworks.ai/guides/reasoning'),
  refusal: 'fireworks',
  // Types of fireworks-ai 1.2.30 (PyPI, 2026-11-29): a boolean, or a number up to 5.
  logprobsAsCount: 'too',
  // Beside what it names: not in the types of fireworks-ai 1.2.28 (PyPI).
  unsupported: [
    'enable_thinking',
    'vl_high_resolution_images',
    'verbosity',
    'store',
    'web_search_options',
    'reasoning',
    'chat_template_kwargs',
  ],
  messageFields: ['name', 'refusal', ...foreignMarks],
  toolFields: [...markedTools, 'eager_input_streaming'],
  models: [
    { pattern: /kimi-k3/, source: peersList, efforts: kimi3Efforts },
    { pattern: /kimi-k2/, source: read('https://docs.fireworks.ai/guides/reasoning'), efforts: threeEfforts },
    { pattern: /gpt-oss/, source: read('https://docs.fireworks.ai/guides/reasoning'), efforts: threeEfforts },
    { pattern: /glm-5/, source: read('https://docs.fireworks.ai/guides/reasoning'), efforts: ['none', 'high', 'max'] },
    {
      pattern: /deepseek-v4/,
      source: read('https://docs.fireworks.ai/guides/reasoning'),
      efforts: ['none', ...threeEfforts, 'xhigh'],
    },
    {
      pattern: /llama-|mixtral|qwen2|qwen3-coder/,
      source: read('https://docs.fireworks.ai/guides/reasoning'),
      efforts: [],
    },
  ],
}

const together: HostRule = {
  // The types of together 3.1.1, which are made from its OpenAPI document.
  source: read('https://pypi.org/project/together/3.1.1'),
  unsupported: [
    'service_tier',
    'parallel_tool_calls',
    'user',
    'metadata',
    'store',
    'prompt_cache_key',
    'verbosity',
    'web_search_options',
    'thinking',
    'functions',
    'function_call',
  ],
  rename: { max_completion_tokens: 'max_tokens' },
  lists: ['stop'],
  logprobsAsCount: 'only',
  messageFields: ['refusal', 'content.image_url.detail', ...foreignMarks],
  toolFields: ['function.strict', ...markedTools],
  models: [
    { pattern: /gpt-oss/, source: read('https://docs.together.ai/docs/reasoning'), efforts: threeEfforts },
    { pattern: /kimi-k3/, source: peersList, efforts: kimi3Efforts },
    { pattern: /deepseek-v4/, source: read('https://github.com/BerriAI/litellm/pull/38263'), efforts: ['high', 'max'] },
    {
      pattern: /llama-|mixtral|qwen2|qwen3\.5-9b/,
      source: read('https://github.com/BerriAI/litellm/pull/38263'),
      efforts: [],
    },
  ],
}

const grokReasoning = read('https://docs.x.ai/guides/reasoning')
/** "presencePenalty, frequencyPenalty and stop parameters are not supported by reasoning models" (docs.x.ai). */
const grokThinks = { unsupported: ['presence_penalty', 'frequency_penalty', 'stop'] } as const
const grokRows: readonly ModelRule[] = [
  { pattern: /grok-(?:[\w.-]*)non-reasoning|grok-2|grok-3(?!-mini)/, source: grokReasoning, efforts: [] },
  { pattern: /grok-3-mini/, source: grokReasoning, ...grokThinks, efforts: ['low', 'high'] },
  { pattern: /grok-4\.20-multi-agent/, source: grokReasoning, ...grokThinks, efforts: [...threeEfforts, 'xhigh'] },
  { pattern: /grok-4\.3(?!\d)/, source: grokReasoning, ...grokThinks, efforts: ['none', ...threeEfforts] },
  { pattern: /grok-4\.5(?!\d)/, source: grokReasoning, ...grokThinks, efforts: threeEfforts },
  { pattern: /grok-4\.[67](?!\d)/, source: grokReasoning, ...grokThinks, efforts: [...threeEfforts, 'xhigh'] },
  {
    pattern: /grok-(?:4(?:[.-](?:20|1|fast|0709|latest)|$)|code-fast)/,
    source: read('https://github.com/vercel/ai/releases/tag/@ai-sdk%2Fxai@4.0.8'),
    ...grokThinks,
    efforts: [],
  },
]

/** Thinking is switched by `thinking.type`; of efforts it has three, and takes OpenAI's words for them. */
const deepseek: HostRule = {
  source: read('https://api-docs.deepseek.com/guides/thinking_mode'),
  rename: { max_completion_tokens: 'max_tokens' },
  efforts: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  effortOff: { field: 'thinking', value: { type: 'disabled' } },
  // 400 "invalid type: sequence, expected a string" (github.com/QwenLM/qwen-code/pull/2320, 2026-11-29).
  textContent: true,
  messageFields: ['thinking_blocks'],
  schemas: false,
}

/** By the names of `src/providers/catalog.ts`. */
export const hostRules: Readonly<Record<string, HostRule>> = {
  groq,
  cerebras,
  fireworks_ai: fireworks,
  together_ai: together,
  xai: { source: grokReasoning, refusal: 'xai', messageFields: ['thinking_blocks'], models: grokRows },
  deepseek,
  /** "Invalid 'content' type. Expected one of: ['str'], got list." */
  sambanova: {
    source: { url: 'https://github.com/musistudio/claude-code-router/issues/965', readOn: '2026-11-29' },
    textContent: true,
  },
  moonshot: {
    source: read('https://platform.moonshot.ai/docs/api/chat'),
    // litellm 1.110.2 joins parts that are all text (2026-11-29).
    textContent: true,
    rename: { max_completion_tokens: 'max_tokens' },
    messageFields: ['thinking_blocks'],
    models: [{ pattern: /kimi-k3/, source: peersList, efforts: kimi3Efforts }],
  },
  /** Its Sonar chat API ended; the Agent API has the format of `/responses`. */
  perplexity: {
    source: read('https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/overview'),
    chatEndedOn: '2026-09-27',
    responses: agentApi,
  },
}

/** true = the host answers `/chat/completions` no more. */
export const chatEnded = (host: string): boolean =>
  Object.hasOwn(hostRules, host) && hostRules[host]!.chatEndedOn !== undefined

/** What `model` of `host` takes; undefined = no rule is known, and all is sent. */
export function hostRule(host: string, model: string): ChatRule | undefined {
  const row = Object.hasOwn(hostRules, host) ? hostRules[host] : undefined
  return row && joined(row, row.models && rowFor(row.models, model))
}
