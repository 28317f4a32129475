/**
 * Capabilities of model families: limits, modalities, features. The price catalogue only has context windows, which are
 * used where a family here has none. Source: the vendors' model pages (November 2026). `model_info` overrides every
 * item. Absent = the page does not say.
 */
import type { ModelMode } from '../../core/deployment.ts'

/** Flags that `/model/info` shows for every model: true, false, or null for unknown. The names are LiteLLM's. */
export const flags = [
  'supports_system_messages',
  'supports_vision',
  'supports_audio_input',
  'supports_audio_output',
  'supports_video_input',
  'supports_pdf_input',
  'supports_image_output',
  'supports_function_calling',
  'supports_parallel_function_calling',
  'supports_tool_choice',
  'supports_response_schema',
  'supports_reasoning',
  'supports_prompt_caching',
  'supports_web_search',
] as const

/** As `/model/info` shows it and `model_info` takes it. */
export type Flag = (typeof flags)[number]

/** Absent = unknown. Limits are in tokens; `output_vector_size` is the number of dimensions of an embedding. */
export interface Capabilities extends Partial<Readonly<Record<Flag, boolean>>> {
  readonly mode?: ModelMode
  /** Tokens of input and output together. */
  readonly context_window?: number
  readonly max_input_tokens?: number
  readonly max_output_tokens?: number
  readonly output_vector_size?: number
}

interface Family {
  /** Matched against the model's name in lower case. */
  readonly pattern: RegExp
  readonly has: Capabilities
}

/** Matches at the start of a name, after an organisation (`openai/`) or Bedrock's vendor (`anthropic.`). */
const named = (pattern: string): RegExp => new RegExp(`(?:^|[/.])(?:${pattern})`)

const limits = (input: number, output: number): Capabilities => ({ max_input_tokens: input, max_output_tokens: output })
const text: Capabilities = {
  mode: 'chat',
  supports_system_messages: true,
  supports_vision: false,
  supports_audio_input: false,
  supports_audio_output: false,
}
const tools: Capabilities = { ...text, supports_function_calling: true, supports_tool_choice: true }
const vision: Capabilities = { ...tools, supports_vision: true }
const strict: Capabilities = { supports_response_schema: true, supports_parallel_function_calling: true }
const thinking: Capabilities = { supports_reasoning: true }
/** Known not to reason. */
const direct: Capabilities = { supports_reasoning: false }
const caching: Capabilities = { supports_prompt_caching: true }
const embedding = (input: number, size: number): Capabilities => ({
  mode: 'embedding',
  max_input_tokens: input,
  output_vector_size: size,
})

/** developers.openai.com/api/docs/models. */
const openai: readonly Family[] = [
  {
    pattern: named('gpt-6'),
    has: { ...vision, ...strict, ...thinking, ...caching, ...limits(922_000, 128_000), supports_pdf_input: true },
  },
  { pattern: named('gpt-5(?:[.-]\\d)?-chat'), has: { ...vision, ...caching, ...direct, max_output_tokens: 16_384 } },
  { pattern: named('gpt-5[^/]*-image'), has: { supports_image_output: true, supports_vision: true } },
  {
    pattern: named('gpt-5(?:[.-][12])?(?:-(?:mini|nano|pro|codex|20\\d\\d)[^/]*)?$'),
    has: { ...vision, ...strict, ...thinking, ...caching, ...limits(272_000, 128_000), supports_pdf_input: true },
  },
  {
    pattern: named('gpt-5'),
    has: { ...vision, ...strict, ...thinking, ...caching, max_output_tokens: 128_000, supports_pdf_input: true },
  },
  {
    pattern: named('gpt-4\\.1'),
    has: { ...vision, ...strict, ...direct, ...caching, ...limits(1_047_576, 32_768), supports_pdf_input: true },
  },
  {
    pattern: named('gpt-4o[^/]*-transcribe|gpt-transcribe|whisper'),
    has: { mode: 'audio_transcription', supports_audio_input: true },
  },
  { pattern: named('gpt-4o[^/]*-tts|tts-1'), has: { mode: 'audio_speech', supports_audio_output: true } },
  {
    pattern: named('gpt-4o[^/]*-audio|gpt-audio'),
    has: { ...tools, ...direct, ...limits(128_000, 16_384), supports_audio_input: true, supports_audio_output: true },
  },
  {
    pattern: named('gpt-4o(?!.*(?:realtime|search))'),
    has: { ...vision, ...strict, ...direct, ...caching, ...limits(128_000, 16_384), supports_pdf_input: true },
  },
  {
    pattern: named('gpt-4-turbo'),
    has: {
      ...vision,
      ...direct,
      ...limits(128_000, 4096),
      supports_parallel_function_calling: true,
      supports_response_schema: false,
    },
  },
  {
    pattern: named('gpt-4(?:-0613)?$'),
    has: { ...tools, ...direct, ...limits(8192, 8192), supports_response_schema: false },
  },
  {
    pattern: named('gpt-3\\.5-turbo(?!-instruct)'),
    has: { ...tools, ...direct, ...limits(16_385, 4096), supports_response_schema: false },
  },
  {
    pattern: named('o1-(?:mini|preview)'),
    has: { ...text, ...thinking, supports_system_messages: false, supports_function_calling: false },
  },
  {
    pattern: named('o3-mini'),
    has: { ...tools, ...thinking, ...caching, ...limits(200_000, 100_000), supports_response_schema: true },
  },
  {
    pattern: named('o[134](?:-|$)'),
    has: { ...vision, ...thinking, ...caching, ...limits(200_000, 100_000), supports_response_schema: true },
  },
  { pattern: named('gpt-oss'), has: { ...tools, ...thinking, ...limits(131_072, 131_072) } },
  { pattern: named('gpt-image|dall-e'), has: { mode: 'image_generation', supports_image_output: true } },
  { pattern: named('text-embedding-3-large'), has: embedding(8192, 3072) },
  { pattern: named('text-embedding-(?:3-small|ada)'), has: embedding(8192, 1536) },
  { pattern: named('(?:omni|text)-moderation'), has: { mode: 'moderation' } },
]

const claude: Capabilities = {
  ...vision,
  ...caching,
  supports_parallel_function_calling: true,
  supports_pdf_input: true,
}

/** platform.claude.com/docs/en/models: one page a model. */
const anthropic: readonly Family[] = [
  {
    pattern: named('claude-(?:opus|sonnet|haiku|fable)-[5-9]'),
    has: { ...claude, ...thinking, ...limits(1_000_000, 128_000), supports_response_schema: true },
  },
  {
    pattern: named('claude-opus-4[.-][6-9]'),
    has: { ...claude, ...thinking, max_output_tokens: 128_000, supports_response_schema: true },
  },
  {
    pattern: named('claude-(?:opus|sonnet|haiku)-4[.-][5-9](?!\\d)'),
    has: { ...claude, ...thinking, max_output_tokens: 64_000, supports_response_schema: true },
  },
  { pattern: named('claude-(?:opus-4|4-opus)'), has: { ...claude, ...thinking, ...limits(200_000, 32_000) } },
  {
    pattern: named('claude-(?:sonnet-4|4-sonnet|3[.-]7)'),
    has: { ...claude, ...thinking, ...limits(200_000, 64_000) },
  },
  { pattern: named('claude-3[.-]5'), has: { ...claude, ...direct, ...limits(200_000, 8192) } },
  { pattern: named('claude-3'), has: { ...vision, ...direct, ...caching, ...limits(200_000, 4096) } },
]

const gemini: Capabilities = {
  ...vision,
  ...strict,
  ...caching,
  supports_audio_input: true,
  supports_video_input: true,
  supports_pdf_input: true,
}

/** ai.google.dev/gemini-api/docs/models and .../embeddings, .../imagen. */
const google: readonly Family[] = [
  {
    pattern: named('gemini-[^/]*-tts'),
    has: { mode: 'audio_speech', max_input_tokens: 8192, supports_audio_output: true },
  },
  { pattern: named('gemini-embedding-001'), has: embedding(2048, 3072) },
  { pattern: named('gemini-embedding'), has: { mode: 'embedding' } },
  {
    pattern: named('gemini-[^/]*-image'),
    has: { mode: 'chat', supports_vision: true, supports_image_output: true, supports_function_calling: false },
  },
  { pattern: named('imagen-'), has: { mode: 'image_generation', supports_image_output: true } },
  {
    pattern: named('gemini-(?:live|[^/]*(?:native-audio|live))'),
    has: { supports_audio_input: true, supports_audio_output: true },
  },
  {
    pattern: named('gemini-(?:2\\.5|[3-9])'),
    has: { ...gemini, ...thinking, ...limits(1_048_576, 65_536), supports_web_search: true },
  },
  {
    pattern: named('gemini-2\\.0'),
    has: { ...gemini, ...direct, ...limits(1_048_576, 8192), supports_web_search: true },
  },
  { pattern: named('gemini-1\\.5'), has: { ...gemini, ...direct, max_output_tokens: 8192 } },
]

/** docs.mistral.ai/models, docs.x.ai/developers/models, docs.cohere.com/docs/models, api-docs.deepseek.com. */
const vendors: readonly Family[] = [
  {
    pattern: named(
      'mistral-(?:large-(?:latest|251\\d|26)|medium|small-(?:latest|25\\d\\d|26))|pixtral|ministral-[^/]*2512',
    ),
    has: { ...vision, ...strict },
  },
  { pattern: named('mistral-(?:large|small)|ministral|devstral|codestral-(?!embed)'), has: { ...tools, ...strict } },
  { pattern: named('magistral'), has: { ...vision, ...thinking } },
  { pattern: named('voxtral'), has: { supports_audio_input: true } },
  { pattern: named('mistral-embed'), has: embedding(8192, 1024) },
  { pattern: named('codestral-embed'), has: { mode: 'embedding' } },
  { pattern: named('mistral-moderation'), has: { mode: 'moderation' } },
  { pattern: named('grok-4[^/]*-non-reasoning'), has: { ...vision, ...strict, ...direct } },
  { pattern: named('grok-4'), has: { ...vision, ...strict, ...thinking } },
  { pattern: named('grok-3-mini'), has: { ...tools, ...strict, ...thinking } },
  { pattern: named('grok-3'), has: { ...tools, ...strict, ...direct } },
  { pattern: named('grok-code'), has: { ...tools, ...strict, ...thinking } },
  { pattern: named('grok-2-image|grok-imagine-image'), has: { mode: 'image_generation', supports_image_output: true } },
  {
    pattern: named('command-a-vision'),
    has: { mode: 'chat', supports_vision: true, supports_function_calling: false },
  },
  { pattern: named('command-a-reasoning'), has: { ...tools, ...thinking, ...limits(256_000, 32_000) } },
  {
    pattern: named('command-a'),
    has: { ...tools, ...direct, ...limits(256_000, 8000), supports_response_schema: true },
  },
  {
    pattern: named('command-r'),
    has: { ...tools, ...direct, ...limits(128_000, 4000), supports_response_schema: true },
  },
  { pattern: named('embed-v4'), has: { ...embedding(128_000, 1536), supports_vision: true } },
  { pattern: named('embed-(?:english|multilingual)-v3(?:\\.0)?$'), has: embedding(512, 1024) },
  { pattern: named('deepseek-(?:reasoner|r1)'), has: { ...text, ...thinking } },
  { pattern: named('deepseek-chat'), has: { ...tools, ...direct, ...caching } },
  { pattern: named('deepseek-v[34]'), has: tools },
]

/** Model cards of open models on huggingface.co; docs.aws.amazon.com/nova; docs.voyageai.com; jina.ai/models. */
const open: readonly Family[] = [
  { pattern: named('(?:meta-)?llama-?4'), has: vision },
  { pattern: named('(?:meta-)?llama-?3[.-]2-(?:11|90)b'), has: vision },
  { pattern: named('(?:meta-)?llama-?3[.-][13]'), has: { ...tools, ...direct } },
  { pattern: named('qwen[^/]*-vl|qvq'), has: { ...text, supports_vision: true } },
  { pattern: named('qwen3[^/]*-(?:embedding|reranker)'), has: {} },
  { pattern: named('qwen3[^/]*-thinking|qwq'), has: { ...tools, ...thinking } },
  { pattern: named('qwen3[^/]*-(?:instruct|coder)|qwen3-coder'), has: { ...tools, ...direct } },
  { pattern: named('kimi-k2[^/]*-thinking'), has: { ...tools, ...thinking } },
  { pattern: named('kimi-k2-(?:instruct|0|turbo)'), has: { ...tools, ...direct } },
  { pattern: named('glm-4\\.[5-9]v'), has: { ...vision, ...thinking } },
  { pattern: named('glm-4\\.[5-9]'), has: { ...tools, ...thinking } },
  {
    pattern: named('nova-(?:lite|pro|premier)'),
    has: { ...vision, supports_video_input: true, supports_pdf_input: true },
  },
  { pattern: named('nova-micro'), has: tools },
  { pattern: named('titan-embed-text-v2'), has: embedding(8192, 1024) },
  { pattern: named('voyage-3(?:\\.5)?(?:-large|-lite)?$'), has: { mode: 'embedding', max_input_tokens: 32_000 } },
  { pattern: named('jina-embeddings-v3'), has: embedding(8192, 1024) },
  { pattern: named('voyage-|jina-embeddings|jina-clip|titan-embed'), has: { mode: 'embedding' } },
  { pattern: /(?:^|[/.-])(?:rerank|reranker)(?:-|$)/, has: { mode: 'rerank' } },
]

const families = [...openai, ...anthropic, ...google, ...vendors, ...open]

/** Of the first family whose name matches; empty when none does. */
export function capabilitiesOf(model: string): Capabilities {
  const name = model.toLowerCase()
  return families.find(({ pattern }) => pattern.test(name))?.has ?? {}
}
