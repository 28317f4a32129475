/** OpenAI's reasoning models, at OpenAI and on Azure, and what Azure's dated versions do not know yet. */
import { peersList, rowFor } from './source.ts'
import { foreignMarks, joined, markedTools } from './chat.ts'
import type { ChatRule, FieldRule, ModelRule } from './chat.ts'
import type { Source } from './source.ts'

const guide: Source = { url: 'https://developers.openai.com/api/docs/guides/reasoning', readOn: '2026-11-23' }
const model = (name: string): Source => ({
  url: `https://developers.openai.com/api/docs/models/${name}`,
  readOn: '2026-11-23',
})

/** Microsoft's words for the same API; it says which models take `xhigh`, and that gpt-5-pro takes `high` alone. */
const effortTypes: Source = {
  url: 'https://learn.microsoft.com/en-us/javascript/api/@azure/ai-projects/reasoningeffort',
  readOn: '2026-11-23',
}

/** Sampling is fixed while a model reasons. */
const fixedSampling: FieldRule = {
  onlyAt: { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 },
  unsupported: ['logprobs', 'top_logprobs', 'logit_bias'],
}
const limit = { rename: { max_tokens: 'max_completion_tokens' } } as const

/**
 * `gpt-5-chat` and `gpt-4o` are no reasoning models and have no row. `@ai-sdk/openai` 4.0.118 has the same rules, as
 * `createOpenAILanguageModelEntry`.
 */
const rows: readonly ModelRule[] = [
  { pattern: /^gpt-5-chat/, source: model('gpt-5-chat-latest'), efforts: [] },
  {
    pattern: /^(?:o3|o4-mini)(?:-|$)/,
    source: guide,
    ...limit,
    ...fixedSampling,
    unsupported: [...fixedSampling.unsupported!, 'stop'],
    efforts: ['low', 'medium', 'high'],
  },
  { pattern: /^o\d/, source: guide, ...limit, ...fixedSampling, efforts: ['low', 'medium', 'high'] },
  {
    pattern: /^gpt-5\.\d+-chat/,
    source: model('gpt-5.1-chat-latest'),
    ...limit,
    ...fixedSampling,
    efforts: ['medium'],
  },
  { pattern: /^gpt-5-pro/, source: effortTypes, ...limit, ...fixedSampling, efforts: ['high'] },
  {
    pattern: /^gpt-5\.\d+-pro/,
    source: model('gpt-5.2-pro'),
    ...limit,
    ...fixedSampling,
    efforts: ['medium', 'high', 'xhigh'],
  },
  {
    pattern: /^gpt-5\.1-codex-max/,
    source: effortTypes,
    ...limit,
    ...fixedSampling,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
  },
  {
    pattern: /^gpt-5(?:-|$)/,
    source: model('gpt-5'),
    ...limit,
    ...fixedSampling,
    efforts: ['minimal', 'low', 'medium', 'high'],
  },
  {
    pattern: /^gpt-5\.1(?:-|$)/,
    source: model('gpt-5.1'),
    ...limit,
    efforts: ['none', 'low', 'medium', 'high'],
    defaultEffort: 'none',
    whileReasoning: fixedSampling,
  },
  {
    pattern: /^gpt-5\.[2-5]-codex/,
    source: {
      url: 'https://docs.rs/crate/meerkat-core/0.6.25/source/src/model_profile/capabilities/openai.rs',
      readOn: '2026-11-29',
    },
    ...limit,
    ...fixedSampling,
    efforts: ['low', 'medium', 'high', 'xhigh'],
  },
  {
    pattern: /^gpt-5\.[2-5](?:-|$)/,
    source: model('gpt-5.5'),
    ...limit,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
    defaultEffort: 'none',
    whileReasoning: fixedSampling,
  },
  {
    pattern: /^gpt-5\.(?:[6-9]|\d\d)(?:-|$)/,
    source: model('gpt-5.6-sol'),
    ...limit,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    defaultEffort: 'medium',
    whileReasoning: fixedSampling,
  },
  {
    pattern: /^gpt-6-(?:sol|luna)|^gpt-6\.1-terra/,
    source: peersList,
    ...limit,
    ...fixedSampling,
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
  },
  {
    pattern: /^gpt-[6-9](?:[.-]|$)/,
    source: model('gpt-6-astra'),
    ...limit,
    ...fixedSampling,
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
  },
  { pattern: /^(?:gpt-[34]|chatgpt-)/, source: guide, efforts: [] },
]

/** Words of other dialects, which OpenAI's API answers with 400 `unknown_parameter`. */
const foreignWords: ChatRule = {
  source: { url: 'https://github.com/musistudio/claude-code-router/pull/1374', readOn: '2026-11-23' },
  unsupported: ['thinking', 'reasoning', 'enable_thinking', 'chat_template_kwargs', 'top_k'],
  // Not in the types of openai 7.55 (npm): its models take thinking back by Responses alone.
  messageFields: ['reasoning_content', ...foreignMarks],
  toolFields: markedTools,
}

/**
 * By the model's name, also of a fine-tuned one (`ft:gpt-4.1:...`). undefined = the name is none of OpenAI's, as behind
 * an address of the operator's own: nothing is known of that host.
 */
export function openaiRule(name: string): ChatRule | undefined {
  const row = rowFor(rows, baseName(name))
  return row && joined(foreignWords, row)
}

/** `openai/ft:gpt-4o:acme` is a `gpt-4o:acme`. */
const baseName = (name: string): string => name.slice(name.lastIndexOf('/') + 1).replace(/^ft:/, '')

/**
 * A model of which it is known that it does not reason. It refuses `include: ["reasoning.encrypted_content"]`
 * ("Encrypted content is not supported with this model").
 */
export const neverReasons = (name: string): boolean => /^(?:gpt-3|gpt-4|chatgpt)/.test(baseName(name))

interface VersionRow {
  /** The first dated version that knows the fields; `-preview` belongs to it. */
  readonly since: string
  readonly fields: readonly string[]
  readonly source: Source
}

const lifecycle: Source = {
  url: 'https://learn.microsoft.com/en-us/azure/ai-services/openai/api-version-deprecation',
  readOn: '2026-11-23',
}
/** Fields of chats by Azure's first dated version with them. The undated v1 has all of them. */
const azureFields: readonly VersionRow[] = [
  {
    since: '2024-09-01',
    fields: ['max_completion_tokens', 'stream_options', 'parallel_tool_calls'],
    source: lifecycle,
  },
]

/** What `apiVersion` (`2024-06-01`, `v1`, `preview`) does not know yet; undefined = it knows all. */
export function azureVersionRule(apiVersion: string): ChatRule | undefined {
  if (!/^\d{4}-/.test(apiVersion)) return undefined
  const date = apiVersion.slice(0, 10)
  const missing = azureFields.filter(({ since }) => date < since).flatMap(({ fields }) => fields)
  if (missing.length === 0) return undefined
  return {
    source: lifecycle,
    unsupported: missing.filter(name => name !== 'max_completion_tokens'),
    rename: { max_completion_tokens: 'max_tokens' },
  }
}

/** Every row, for tests. */
export const openaiRows = rows
