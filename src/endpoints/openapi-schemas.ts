/** JSON Schemas of the bodies that the OpenAPI document names: the fields of the gateway API specification. */

const nullable = (type: string, more: object = {}) => ({ type: [type, 'null'], ...more })
const text = { type: 'string' }
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const listOf = (items: object) => ({ type: 'array', items })
const object = (properties: object, required: string[] = []) => ({ type: 'object', properties, required })

/** Fields of embeddings that would choose host, key or code: no body does. */
const neverUsed: readonly (readonly [string, object])[] = [
  ...['api_base', 'api_version', 'api_key', 'api_type', 'proxy_call_id', 'logger_fn'].map(
    name => [name, nullable('string')] as const,
  ),
  ['custom_llm_provider', { anyOf: [text, { type: 'object' }, { type: 'null' }] }],
  ['proxy_logging_obj', nullable('object')],
  ['caching', { type: 'boolean', default: false }],
]

/** What a body asks of the gateway itself (core/overrides.ts). */
const gatewayWishes = {
  num_retries: nullable('integer', { minimum: 0, maximum: 10, description: 'Further attempts after the first.' }),
  fallbacks: {
    anyOf: [listOf({ anyOf: [text, object({ model: text }, ['model'])] }), { type: 'null' }],
    description: 'Models to try after this one; [] = none.',
  },
  context_window_fallback_dict: nullable('object', {
    additionalProperties: text,
    description: 'Model -> the model for conversations that are too long for it.',
  }),
  timeout: nullable('number', {
    minimum: 0,
    maximum: 86_400,
    description: 'Seconds that an attempt may take, a stream until it begins; 0 = as configured.',
  }),
  drop_params: nullable('boolean', {
    description: 'true = fields that the model lacks are left out and named in a header; false = they are refused.',
  }),
  guardrails: {
    anyOf: [listOf(text), { type: 'null' }],
    description: 'Refused unless drop_params is true: there are none.',
  },
  caching: nullable('boolean'),
  cache: object({ 'no-cache': { type: 'boolean' } }),
}

const chatRequest = object(
  {
    model: text,
    messages: { ...listOf(reference('Message')), minItems: 1 },
    frequency_penalty: nullable('number', { minimum: -2, maximum: 2 }),
    logit_bias: nullable('object', { additionalProperties: { type: 'number' } }),
    logprobs: nullable('boolean'),
    top_logprobs: nullable('integer', { minimum: 0, maximum: 20 }),
    max_tokens: nullable('integer', { minimum: 1 }),
    max_completion_tokens: nullable('integer', { minimum: 1 }),
    n: nullable('integer', { minimum: 1, maximum: 128 }),
    presence_penalty: nullable('number', { minimum: -2, maximum: 2 }),
    response_format: nullable('object'),
    seed: nullable('integer'),
    service_tier: nullable('string'),
    stop: { anyOf: [{ type: 'string' }, listOf(text), { type: 'null' }] },
    stream: nullable('boolean'),
    stream_options: nullable('object'),
    temperature: nullable('number', { minimum: 0, maximum: 2 }),
    top_p: nullable('number', { minimum: 0, maximum: 1 }),
    tools: { anyOf: [listOf({ type: 'object' }), { type: 'null' }] },
    tool_choice: { anyOf: [{ type: 'string' }, { type: 'object' }, { type: 'null' }] },
    parallel_tool_calls: nullable('boolean'),
    function_call: { anyOf: [{ type: 'string' }, { type: 'object' }, { type: 'null' }] },
    functions: { anyOf: [listOf({ type: 'object' }), { type: 'null' }] },
    user: nullable('string'),
    metadata: nullable('object'),
    ...gatewayWishes,
    chat_template_kwargs: { type: 'object' },
    reasoning_effort: nullable('string'),
  },
  ['model', 'messages'],
)

const file = { type: 'string', contentMediaType: 'application/octet-stream' }

const imageFields = {
  n: nullable('integer', { minimum: 1, maximum: 10 }),
  size: nullable('string'),
  quality: nullable('string'),
  background: nullable('string'),
  output_format: nullable('string'),
  response_format: { enum: ['url', 'b64_json', null] },
  stream: nullable('boolean'),
  user: text,
}

const audioFields = {
  file,
  model: text,
  prompt: text,
  response_format: { enum: ['json', 'text', 'srt', 'verbose_json', 'vtt'] },
  temperature: { type: 'number' },
}

/** Pictures, audio and moderation. */
const mediaSchemas: Readonly<Record<string, object>> = {
  ModerationRequest: object({ input: { anyOf: [text, listOf(text), listOf({ type: 'object' })] }, model: text }, [
    'input',
  ]),
  ImageRequest: object({ ...imageFields, model: text, prompt: text, style: nullable('string') }, ['model', 'prompt']),
  ImageEditRequest: object(
    { ...imageFields, model: text, image: { anyOf: [file, listOf(file)] }, mask: file, prompt: text },
    ['model', 'image', 'prompt'],
  ),
  ImageVariationRequest: object(
    {
      model: text,
      image: file,
      n: imageFields.n,
      size: imageFields.size,
      response_format: imageFields.response_format,
    },
    ['model', 'image'],
  ),
  SpeechRequest: object(
    {
      model: text,
      input: text,
      voice: { anyOf: [text, object({ id: text }, ['id'])] },
      instructions: text,
      response_format: { type: 'string', default: 'mp3' },
      speed: { type: 'number', minimum: 0.25, maximum: 4 },
      stream_format: { enum: ['sse', 'audio'] },
    },
    ['model', 'input', 'voice'],
  ),
  TranscriptionRequest: object(
    {
      ...audioFields,
      response_format: { enum: ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] },
      language: text,
      'timestamp_granularities[]': listOf({ enum: ['word', 'segment'] }),
      stream: { type: 'boolean' },
    },
    ['file', 'model'],
  ),
  TranslationRequest: object(audioFields, ['file', 'model']),
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
  TransformRequest: object({ call_type: { ...text, examples: ['acompletion'] }, request_body: { type: 'object' } }, [
    'call_type',
    'request_body',
  ]),
}

/** By the names under `#/components/schemas/`. They describe and check nothing: each format checks its own bodies. */
export const schemas: Readonly<Record<string, object>> = {
  Message: object(
    {
      role: { enum: ['user', 'assistant', 'tool', 'system', 'function', 'developer'] },
      content: { anyOf: [{ type: 'string' }, listOf({ type: 'object' }), { type: 'null' }] },
      tool_call_id: text,
      tool_calls: listOf({ type: 'object' }),
    },
    ['role'],
  ),
  ChatCompletionRequest: chatRequest,
  CompletionRequest: object(
    {
      model: text,
      prompt: { anyOf: [text, listOf({})] },
      max_tokens: nullable('integer', { minimum: 1 }),
      temperature: nullable('number', { minimum: 0, maximum: 2 }),
      stream: nullable('boolean'),
    },
    ['prompt'],
  ),
  EmbeddingsRequest: object(
    {
      model: text,
      input: { anyOf: [text, listOf({})] },
      encoding_format: { enum: ['float', 'base64'] },
      dimensions: nullable('integer', { minimum: 1 }),
      user: nullable('string'),
      timeout: gatewayWishes.timeout,
      ...Object.fromEntries(
        neverUsed.map(([name, schema]) => [
          name,
          { ...schema, description: 'Accepted for compatibility and never used.' },
        ]),
      ),
    },
    ['model', 'input'],
  ),
  ...mediaSchemas,
  ...utilitySchemas,
}
