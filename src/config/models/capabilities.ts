/**
 * What model families take and give: limits, modalities, abilities. The price catalogue knows nothing of it but context
 * windows, which count where a family here says none. A small table of our own, from the vendors' model pages (November
 * 2026); `model_info` overrides every item. What a page does not say is absent: not known is not the same as no.
 */
import type { ModelMode } from '../../core/deployment.ts'

/** Flags that `/model/info` shows for every model: true, false, or null for not known. The peer's names. */
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

/** Absent = not known. Limits are tokens; `output_vector_size` is the numbers of one embedding. */
interface Capabilities extends Partial<Readonly<Record<Flag, boolean>>> {
  readonly mode?: ModelMode
  readonly max_input_tokens?: number
  readonly max_output_tokens?: number
  readonly output_vector_size?: number
}

interface Family {
  /** Of the model's name in lower case. */
  readonly pattern: RegExp
  readonly is: Capabilities
}

/** A name at its beginning, behind an organisation (`openai/`) or Bedrock's vendor (`anthropic.`). */
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
const sight: Capabilities = { ...tools, supports_vision: true }
const strict: Capabilities = { supports_response_schema: true, supports_parallel_function_calling: true }
const thinking: Capabilities = { supports_reasoning: true }
const plain: Capabilities = { supports_reasoning: false }
const cached: Capabilities = { supports_prompt_caching: true }
const embedding = (input: number, size: number): Capabilities => ({
  mode: 'embedding',
  max_input_tokens: input,
  output_vector_size: size,
})

/** developers.openai.com/api/docs/models. */
const openai: readonly Family[] = [
  {
    pattern: named('gpt-6'),
    is: { ...sight, ...strict, ...thinking, ...cached, ...limits(922_000, 128_000), supports_pdf_input: true },
  },
  { pattern: named('gpt-5(?:[.-]\\d)?-chat'), is: { ...sight, ...cached, ...plain, max_output_tokens: 16_384 } },
  { pattern: named('gpt-5[^/]*-image'), is: { supports_image_output: true, supports_vision: true } },
  {
    pattern: named('gpt-5(?:[.-][12])?(?:-(?:mini|nano|pro|codex|20\\d\\d)[^/]*)?$'),
    is: { ...sight, ...strict, ...thinking, ...cached, ...limits(272_000, 128_000), supports_pdf_input: true },
  },
  {
    pattern: named('gpt-5'),
    is: { ...sight, ...strict, ...thinking, ...cached, max_output_tokens: 128_000, supports_pdf_input: true },
  },
  {
    pattern: named('gpt-4\\.1'),
    is: { ...sight, ...strict, ...plain, ...cached, ...limits(1_047_576, 32_768), supports_pdf_input: true },
  },
  {
    pattern: named('gpt-4o[^/]*-transcribe|gpt-transcribe|whisper'),
    is: { mode: 'audio_transcription', supports_audio_input: true },
  },
  { pattern: named('gpt-4o[^/]*-tts|tts-1'), is: { mode: 'audio_speech', supports_audio_output: true } },
  {
    pattern: named('gpt-4o[^/]*-audio|gpt-audio'),
    is: { ...tools, ...plain, ...limits(128_000, 16_384), supports_audio_input: true, supports_audio_output: true },
  },
  {
    pattern: named('gpt-4o(?!.*(?:realtime|search))'),
    is: { ...sight, ...strict, ...plain, ...cached, ...limits(128_000, 16_384), supports_pdf_input: true },
  },
  {
    pattern: named('gpt-4-turbo'),
    is: {
      ...sight,
      ...plain,
      ...limits(128_000, 4096),
      supports_parallel_function_calling: true,
      supports_response_schema: false,
    },
  },
  {
    pattern: named('gpt-4(?:-0613)?$'),
    is: { ...tools, ...plain, ...limits(8192, 8192), supports_response_schema: false },
  },
  {
    pattern: named('gpt-3\\.5-turbo(?!-instruct)'),
    is: { ...tools, ...plain, ...limits(16_385, 4096), supports_response_schema: false },
  },
  {
    pattern: named('o1-(?:mini|preview)'),
    is: { ...text, ...thinking, supports_system_messages: false, supports_function_calling: false },
  },
  {
    pattern: named('o3-mini'),
    is: { ...tools, ...thinking, ...cached, ...limits(200_000, 100_000), supports_response_schema: true },
  },
  {
    pattern: named('o[134](?:-|$)'),
    is: { ...sight, ...thinking, ...cached, ...limits(200_000, 100_000), supports_response_schema: true },
  },
  { pattern: named('gpt-oss'), is: { ...tools, ...thinking, ...limits(131_072, 131_072) } },
  { pattern: named('gpt-image|dall-e'), is: { mode: 'image_generation', supports_image_output: true } },
  { pattern: named('text-embedding-3-large'), is: embedding(8192, 3072) },
  { pattern: named('text-embedding-(?:3-small|ada)'), is: embedding(8192, 1536) },
  { pattern: named('(?:omni|text)-moderation'), is: { mode: 'moderation' } },
]

const claude: Capabilities = { ...sight, ...cached, supports_parallel_function_calling: true, supports_pdf_input: true }

/** platform.claude.com/docs/en/models: one page a model. */
const anthropic: readonly Family[] = [
  {
    pattern: named('claude-(?:opus|sonnet|haiku|fable)-[5-9]'),
    is: { ...claude, ...thinking, ...limits(1_000_000, 128_000), supports_response_schema: true },
  },
  {
    pattern: named('claude-opus-4[.-][6-9]'),
    is: { ...claude, ...thinking, max_output_tokens: 128_000, supports_response_schema: true },
  },
  {
    pattern: named('claude-(?:opus|sonnet|haiku)-4[.-][5-9](?!\\d)'),
    is: { ...claude, ...thinking, max_output_tokens: 64_000, supports_response_schema: true },
  },
  { pattern: named('claude-(?:opus-4|4-opus)'), is: { ...claude, ...thinking, ...limits(200_000, 32_000) } },
  { pattern: named('claude-(?:sonnet-4|4-sonnet|3[.-]7)'), is: { ...claude, ...thinking, ...limits(200_000, 64_000) } },
  { pattern: named('claude-3[.-]5'), is: { ...claude, ...plain, ...limits(200_000, 8192) } },
  { pattern: named('claude-3'), is: { ...sight, ...plain, ...cached, ...limits(200_000, 4096) } },
]

const gemini: Capabilities = {
  ...sight,
  ...strict,
  ...cached,
  supports_audio_input: true,
  supports_video_input: true,
  supports_pdf_input: true,
}

/** ai.google.dev/gemini-api/docs/models and .../embeddings, .../imagen. */
const google: readonly Family[] = [
  {
    pattern: named('gemini-[^/]*-tts'),
    is: { mode: 'audio_speech', max_input_tokens: 8192, supports_audio_output: true },
  },
  { pattern: named('gemini-embedding-001'), is: embedding(2048, 3072) },
  { pattern: named('gemini-embedding'), is: { mode: 'embedding' } },
  {
    pattern: named('gemini-[^/]*-image'),
    is: { mode: 'chat', supports_vision: true, supports_image_output: true, supports_function_calling: false },
  },
  { pattern: named('imagen-'), is: { mode: 'image_generation', supports_image_output: true } },
  {
    pattern: named('gemini-(?:live|[^/]*(?:native-audio|live))'),
    is: { supports_audio_input: true, supports_audio_output: true },
  },
  {
    pattern: named('gemini-(?:2\\.5|[3-9])'),
    is: { ...gemini, ...thinking, ...limits(1_048_576, 65_536), supports_web_search: true },
  },
  {
    pattern: named('gemini-2\\.0'),
    is: { ...gemini, ...plain, ...limits(1_048_576, 8192), supports_web_search: true },
  },
  { pattern: named('gemini-1\\.5'), is: { ...gemini, ...plain, max_output_tokens: 8192 } },
]

/** docs.mistral.ai/models, docs.x.ai/developers/models, docs.cohere.com/docs/models, api-docs.deepseek.com. */
const vendors: readonly Family[] = [
  {
    pattern: named(
      'mistral-(?:large-(?:latest|251\\d|26)|medium|small-(?:latest|25\\d\\d|26))|pixtral|ministral-[^/]*2512',
    ),
    is: { ...sight, ...strict },
  },
  { pattern: named('mistral-(?:large|small)|ministral|devstral|codestral-(?!embed)'), is: { ...tools, ...strict } },
  { pattern: named('magistral'), is: { ...sight, ...thinking } },
  { pattern: named('voxtral'), is: { supports_audio_input: true } },
  { pattern: named('mistral-embed'), is: embedding(8192, 1024) },
  { pattern: named('codestral-embed'), is: { mode: 'embedding' } },
  { pattern: named('mistral-moderation'), is: { mode: 'moderation' } },
  { pattern: named('grok-4[^/]*-non-reasoning'), is: { ...sight, ...strict, ...plain } },
  { pattern: named('grok-4'), is: { ...sight, ...strict, ...thinking } },
  { pattern: named('grok-3-mini'), is: { ...tools, ...strict, ...thinking } },
  { pattern: named('grok-3'), is: { ...tools, ...strict, ...plain } },
  { pattern: named('grok-code'), is: { ...tools, ...strict, ...thinking } },
  { pattern: named('grok-2-image|grok-imagine-image'), is: { mode: 'image_generation', supports_image_output: true } },
  { pattern: named('command-a-vision'), is: { mode: 'chat', supports_vision: true, supports_function_calling: false } },
  { pattern: named('command-a-reasoning'), is: { ...tools, ...thinking, ...limits(256_000, 32_000) } },
  { pattern: named('command-a'), is: { ...tools, ...plain, ...limits(256_000, 8000), supports_response_schema: true } },
  { pattern: named('command-r'), is: { ...tools, ...plain, ...limits(128_000, 4000), supports_response_schema: true } },
  { pattern: named('embed-v4'), is: { ...embedding(128_000, 1536), supports_vision: true } },
  { pattern: named('embed-(?:english|multilingual)-v3(?:\\.0)?$'), is: embedding(512, 1024) },
  { pattern: named('deepseek-(?:reasoner|r1)'), is: { ...text, ...thinking } },
  { pattern: named('deepseek-chat'), is: { ...tools, ...plain, ...cached } },
  { pattern: named('deepseek-v[34]'), is: tools },
]

/** Model cards of open models on huggingface.co; docs.aws.amazon.com/nova; docs.voyageai.com; jina.ai/models. */
const open: readonly Family[] = [
  { pattern: named('(?:meta-)?llama-?4'), is: sight },
  { pattern: named('(?:meta-)?llama-?3[.-]2-(?:11|90)b'), is: sight },
  { pattern: named('(?:meta-)?llama-?3[.-][13]'), is: { ...tools, ...plain } },
  { pattern: named('qwen[^/]*-vl|qvq'), is: { ...text, supports_vision: true } },
  { pattern: named('qwen3[^/]*-(?:embedding|reranker)'), is: {} },
  { pattern: named('qwen3[^/]*-thinking|qwq'), is: { ...tools, ...thinking } },
  { pattern: named('qwen3[^/]*-(?:instruct|coder)|qwen3-coder'), is: { ...tools, ...plain } },
  { pattern: named('kimi-k2[^/]*-thinking'), is: { ...tools, ...thinking } },
  { pattern: named('kimi-k2-(?:instruct|0|turbo)'), is: { ...tools, ...plain } },
  { pattern: named('glm-4\\.[5-9]v'), is: { ...sight, ...thinking } },
  { pattern: named('glm-4\\.[5-9]'), is: { ...tools, ...thinking } },
  {
    pattern: named('nova-(?:lite|pro|premier)'),
    is: { ...sight, supports_video_input: true, supports_pdf_input: true },
  },
  { pattern: named('nova-micro'), is: tools },
  { pattern: named('titan-embed-text-v2'), is: embedding(8192, 1024) },
  { pattern: named('voyage-3(?:\\.5)?(?:-large|-lite)?$'), is: { mode: 'embedding', max_input_tokens: 32_000 } },
  { pattern: named('jina-embeddings-v3'), is: embedding(8192, 1024) },
  { pattern: named('voyage-|jina-embeddings|jina-clip|titan-embed'), is: { mode: 'embedding' } },
  { pattern: /(?:^|[/.-])(?:rerank|reranker)(?:-|$)/, is: { mode: 'rerank' } },
]

const families = [...openai, ...anthropic, ...google, ...vendors, ...open]

/** Of the first family whose name matches; empty when none does. */
export function capabilitiesOf(model: string): Capabilities {
  const name = model.toLowerCase()
  return families.find(({ pattern }) => pattern.test(name))?.is ?? {}
}
