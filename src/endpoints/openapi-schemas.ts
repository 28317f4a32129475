/** JSON Schemas of the bodies that the OpenAPI document names. Those of requests follow from the tables of the dialects. */
import { bodySchema } from '../core/fields.ts'
import { chatTable } from '../formats/openai/chat/fields.ts'
import { completionTable } from '../formats/openai/completions/index.ts'
import { embeddingsTable } from '../formats/openai/embeddings.ts'
import { editTable, generationTable, variationTable } from '../formats/openai/images.ts'
import { moderationTable } from '../formats/openai/moderations.ts'
import { speechTable } from '../formats/openai/speech.ts'
import { transcriptionTable, translationTable } from '../formats/openai/transcriptions.ts'

const nullable = (type: string, more: object = {}) => ({ type: [type, 'null'], ...more })
const text = { type: 'string' }
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const listOf = (items: object) => ({ type: 'array', items })
const object = (properties: object, required: string[] = []) => ({ type: 'object', properties, required })

const usage = object({
  prompt_tokens: { type: 'integer' },
  completion_tokens: { type: 'integer' },
  total_tokens: { type: 'integer' },
})

const modelEntry = object({
  id: text,
  object: { const: 'model' },
  created: { type: 'integer' },
  owned_by: text,
  display_name: text,
  context_length: nullable('integer'),
  max_output_tokens: nullable('integer'),
})

/** Pictures, audio and moderation. */
const mediaSchemas: Readonly<Record<string, object>> = {
  ModerationRequest: bodySchema(moderationTable.fields),
  Moderation: object({
    id: text,
    model: text,
    results: listOf(
      object({ flagged: { type: 'boolean' }, categories: { type: 'object' }, category_scores: { type: 'object' } }),
    ),
  }),
  ImageRequest: bodySchema(generationTable.fields),
  ImageEditRequest: bodySchema(editTable.fields, { nullable: false }),
  ImageVariationRequest: bodySchema(variationTable.fields, { nullable: false }),
  Images: object({
    created: { type: 'integer' },
    data: listOf(object({ url: text, b64_json: text, revised_prompt: text })),
    usage: { type: 'object' },
  }),
  SpeechRequest: bodySchema(speechTable.fields),
  TranscriptionRequest: bodySchema(transcriptionTable.fields, { nullable: false }),
  TranslationRequest: bodySchema(translationTable.fields, { nullable: false }),
  Transcription: object(
    {
      text,
      language: text,
      duration: { type: 'number' },
      segments: listOf({ type: 'object' }),
      usage: { type: 'object' },
    },
    ['text'],
  ),
}

const utilitySchemas: Readonly<Record<string, object>> = {
  TokenCountRequest: object(
    {
      model: text,
      prompt: { anyOf: [text, listOf(text), { type: 'null' }] },
      messages: {
        anyOf: [listOf({ type: 'object' }), { type: 'null' }],
        description: "OpenAI's or Anthropic's; one of prompt, messages and contents.",
      },
      contents: { anyOf: [listOf({ type: 'object' }), { type: 'null' }], description: "Gemini's." },
      system: {
        anyOf: [text, listOf({ type: 'object' }), { type: 'null' }],
        description: "Anthropic's, beside messages.",
      },
      tools: { anyOf: [listOf({ type: 'object' }), { type: 'null' }] },
    },
    ['model'],
  ),
  TokenCount: object({
    total_tokens: { type: 'integer' },
    request_model: text,
    model_used: text,
    tokenizer_type: {
      ...text,
      description: '`openai_tokenizer`, `estimate`, or `NAME_api` of the provider that counted.',
    },
    original_response: { description: "The answer of the provider's counter; null when it was not asked." },
    error: { type: 'boolean', description: "The provider's counter failed; the count was made here." },
    error_message: nullable('string'),
    status_code: nullable('integer'),
  }),
  TransformRequest: object({ call_type: { ...text, examples: ['acompletion'] }, request_body: { type: 'object' } }, [
    'call_type',
    'request_body',
  ]),
  RawRequest: object({
    raw_request_api_base: nullable('string'),
    raw_request_body: nullable('object'),
    raw_request_headers: nullable('object'),
    dropped_params: { anyOf: [listOf(text), { type: 'null' }] },
    error: nullable('string', { description: 'Why there is no such request; all else is then null.' }),
  }),
}

const count = (description: string) => nullable('integer', { description })

/** One row of the ledger. Null = nobody counted it. */
const spendLog = object({
  request_id: text,
  started_at_ms: { type: 'integer', description: 'Milliseconds since 1970.' },
  started_at: { type: 'string', format: 'date-time' },
  route: text,
  operation: text,
  outcome: { enum: ['success', 'error', 'client_closed', 'upstream_cut', 'interrupted'] },
  status: { type: 'integer' },
  error_kind: nullable('string'),
  model: text,
  deployment_id: nullable('string'),
  provider: nullable('string'),
  upstream_model: nullable('string'),
  key_id: text,
  key_alias: nullable('string'),
  user_id: nullable('string'),
  team_id: nullable('string'),
  end_user: nullable('string'),
  stream: { type: 'boolean' },
  input_tokens: count('All of the input, cached tokens included.'),
  output_tokens: count('All of the output, reasoning included.'),
  cached_input_tokens: count("Of the input: read from the provider's cache."),
  cache_write_tokens: count("Of the input: written to the provider's cache."),
  cache_write_one_hour_tokens: count('Of `cache_write_tokens`: with a lifetime of one hour.'),
  reasoning_tokens: count('Of the output.'),
  input_audio_tokens: count('Of the input.'),
  output_audio_tokens: count('Of the output.'),
  input_image_tokens: count('Of the input.'),
  output_image_tokens: count('Of the output.'),
  images: count('Pictures made.'),
  characters: count('Characters to be spoken.'),
  audio_microseconds: count('Audio heard or spoken, exact.'),
  audio_seconds: nullable('number', { description: 'The same in seconds.' }),
  search_units: nullable('number', { description: 'Of a reranker.' }),
  usage_source: { enum: ['upstream', 'estimated', 'none'], description: 'Who counted.' },
  cost_nano_usd: nullable('string', { description: 'Nano-dollars; null = the price or the usage is not known.' }),
  spend: nullable('string', { description: 'The same in dollars, as decimal text.' }),
  duration_ms: { type: 'number' },
  first_byte_ms: nullable('number'),
  attempts: { type: 'integer' },
  client_address: nullable('string'),
  user_agent: nullable('string'),
})

/** By the names under `#/components/schemas/`. They describe and check nothing: each format checks its own bodies. */
export const schemas: Readonly<Record<string, object>> = {
  ChatCompletionRequest: bodySchema(chatTable.fields),
  ChatCompletion: object({
    id: text,
    object: { const: 'chat.completion' },
    created: { type: 'integer' },
    model: text,
    choices: listOf({ type: 'object' }),
    usage,
  }),
  CompletionRequest: bodySchema(completionTable.fields),
  Completion: object({
    id: text,
    object: { const: 'text_completion' },
    model: text,
    choices: listOf({ type: 'object' }),
    usage,
  }),
  EmbeddingsRequest: bodySchema(embeddingsTable.fields),
  Embeddings: object({
    object: { const: 'list' },
    data: listOf(object({ index: { type: 'integer' }, embedding: { anyOf: [listOf({ type: 'number' }), text] } })),
    model: text,
    usage,
  }),
  ...mediaSchemas,
  ...utilitySchemas,
  SpendLog: spendLog,
  SpendLogs: object({ data: listOf(reference('SpendLog')), next_cursor: nullable('string') }),
  Model: modelEntry,
  ModelList: object({ object: { const: 'list' }, data: listOf(reference('Model')), has_more: { type: 'boolean' } }),
  ModelInfoList: object({
    data: listOf(object({ model_name: text, proxy_params: { type: 'object' }, model_info: { type: 'object' } })),
  }),
  Error: object({
    error: object({ message: text, type: text, param: nullable('string'), code: nullable('string'), name: text }),
  }),
  ValidationError: object({
    error: { type: 'object' },
    detail: listOf(object({ loc: listOf({}), msg: text, type: text })),
  }),
}
