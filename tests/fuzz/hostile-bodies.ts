/** Valid bodies of every POST path, and hostile variants: each value at each path replaced by one of another type. */
export type Json = Record<string, unknown>
export type Path = readonly (string | number)[]

/** 60 levels: within the limit of bodies, beyond what any reader expects. */
export const deep = (levels = 50): unknown => {
  let value: unknown = 'end'
  for (let level = 0; level < levels; level++) value = level % 2 ? { a: value } : [value]
  return value
}

/** As JSON text: some of them no value of JavaScript can say. */
export const poisons: readonly string[] = [
  'null',
  '""',
  '"x"',
  '0',
  '-1',
  '1e308',
  '1e400',
  '-1e400',
  '0.5',
  'true',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '[{}]',
  '{"type":"x"}',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '"\\ud800"',
  '"\\u0000"',
  '"__proto__"',
  '"constructor"',
  JSON.stringify(deep()),
]

/** Every place in a value, its root left out. */
export function pathsIn(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return at.length > 0 ? [at] : []
  const inside = Object.entries(value).flatMap(([key, one]) =>
    pathsIn(one, [...at, Array.isArray(value) ? Number(key) : key]),
  )
  return at.length > 0 ? [at, ...inside] : inside
}

const mark = '@@poison@@'

/** The body's JSON with what it is called with at `path`. */
export function poisonedAt(body: unknown, path: Path): (json: string) => string {
  const copy = structuredClone(body)
  let parent = copy as Record<string | number, unknown>
  for (const step of path.slice(0, -1)) parent = parent[step] as Record<string | number, unknown>
  parent[path.at(-1)!] = mark
  const [before, after] = JSON.stringify(copy).split(`"${mark}"`)
  return json => before + json + after
}

const schema = {
  $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } },
  type: 'object',
  properties: {
    a: { type: ['string', 'null'], enum: ['x', 'y'], pattern: '^x+$' },
    b: { anyOf: [{ $ref: '#/$defs/n' }, { type: 'array', items: { type: 'integer', minimum: 1 } }] },
  },
  required: ['a'],
  additionalProperties: false,
}
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const tool = { type: 'function', function: { name: 'f', description: 'does', parameters: schema, strict: true } }

export const chatBody: Json = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      name: 'ann',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}`, detail: 'low' } },
        { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      refusal: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":"x"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: '21' }] },
    {
      role: 'assistant',
      content: 'ok',
      reasoning_content: 'hm',
      thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }],
    },
    { role: 'user', content: 'say: hello' },
  ],
  max_completion_tokens: 100,
  temperature: 0.5,
  top_p: 0.9,
  n: 1,
  stop: ['END'],
  seed: 7,
  frequency_penalty: 0.1,
  presence_penalty: 0.1,
  logit_bias: { '50256': -1 },
  logprobs: true,
  top_logprobs: 2,
  tools: [tool],
  tool_choice: { type: 'function', function: { name: 'f' } },
  parallel_tool_calls: false,
  response_format: { type: 'json_schema', json_schema: { name: 's', description: 'd', schema, strict: true } },
  reasoning_effort: 'low',
  user: 'u',
  metadata: { a: 'b' },
  service_tier: 'auto',
  stream: false,
  stream_options: { include_usage: true },
  thinking: { type: 'enabled', budget_tokens: 1024 },
  modalities: ['text'],
  prediction: { type: 'content', content: 'x' },
  store: false,
}

export const completionsBody: Json = {
  prompt: ['once', 'twice'],
  suffix: 's',
  max_tokens: 10,
  n: 1,
  best_of: 1,
  echo: false,
  logprobs: 1,
  stop: ['x'],
  temperature: 0,
  stream: false,
  logit_bias: { 1: 1 },
  seed: 1,
  user: 'u',
}

export const responsesBody: Json = {
  instructions: 'Be brief.',
  store: false,
  stream: false,
  max_output_tokens: 100,
  temperature: 0.5,
  top_p: 0.9,
  truncation: 'auto',
  metadata: { a: 'b' },
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'hi' },
        { type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'auto' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQ=' },
      ],
    },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: null },
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' },
    { type: 'function_call_output', call_id: 'call_1', output: '21' },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'ok', annotations: [] }],
    },
    { role: 'user', content: 'say: hello' },
  ],
  tools: [{ type: 'function', name: 'f', description: 'd', parameters: schema, strict: true }],
  tool_choice: { type: 'function', name: 'f' },
  parallel_tool_calls: true,
  reasoning: { effort: 'low', summary: 'auto' },
  text: { format: { type: 'json_schema', name: 's', schema, strict: true }, verbosity: 'low' },
  include: ['reasoning.encrypted_content'],
  user: 'u',
  background: false,
}

export const messagesBody: Json = {
  max_tokens: 2000,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '5m' } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' },
          title: 't',
        },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'eA==' },
        { type: 'text', text: 'ok' },
        { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 'x' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', is_error: false, content: [{ type: 'text', text: '21' }] },
        { type: 'text', text: 'say: hello' },
      ],
    },
  ],
  tools: [{ name: 'f', description: 'd', input_schema: schema, cache_control: { type: 'ephemeral' } }],
  tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 1024 },
  temperature: 1,
  top_p: 0.9,
  top_k: 5,
  stop_sequences: ['END'],
  metadata: { user_id: 'u' },
  service_tier: 'auto',
  stream: false,
}

export const geminiBody: Json = {
  systemInstruction: { parts: [{ text: 'Be brief.' }] },
  contents: [
    {
      role: 'user',
      parts: [
        { text: 'hi' },
        { inlineData: { mimeType: 'image/png', data: pixel } },
        { fileData: { mimeType: 'application/pdf', fileUri: 'https://host.example/a.pdf' } },
      ],
    },
    {
      role: 'model',
      parts: [
        { text: 'hm', thought: true },
        { functionCall: { id: 'c1', name: 'f', args: { a: 'x' } }, thoughtSignature: 'c2ln' },
      ],
    },
    {
      role: 'user',
      parts: [{ functionResponse: { id: 'c1', name: 'f', response: { output: '21' } } }, { text: 'say: hello' }],
    },
  ],
  tools: [
    {
      functionDeclarations: [
        { name: 'f', description: 'd', parametersJsonSchema: schema },
        { name: 'g', parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } } },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  generationConfig: {
    temperature: 0.5,
    topP: 0.9,
    topK: 5,
    maxOutputTokens: 100,
    candidateCount: 1,
    stopSequences: ['END'],
    seed: 1,
    presencePenalty: 0.1,
    frequencyPenalty: 0.1,
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
    thinkingConfig: { thinkingBudget: 1024, includeThoughts: true },
    responseLogprobs: true,
    logprobs: 2,
  },
}

export const embeddingsBody: Json = { input: ['a', 'b'], dimensions: 8, encoding_format: 'float', user: 'u' }
export const moderationsBody: Json = {
  input: [
    { type: 'text', text: 'hi' },
    { type: 'image_url', image_url: { url: 'https://host.example/a.png' } },
  ],
}
export const imagesBody: Json = {
  prompt: 'a cat',
  n: 1,
  size: '1024x1024',
  quality: 'low',
  response_format: 'b64_json',
  style: 'vivid',
  user: 'u',
  background: 'auto',
  output_format: 'png',
  output_compression: 50,
  moderation: 'auto',
  stream: false,
  partial_images: 1,
}
export const speechBody: Json = {
  input: 'hi',
  voice: 'alloy',
  response_format: 'wav',
  speed: 1,
  instructions: 'calm',
  stream_format: 'audio',
}
export const rerankBody: Json = {
  query: 'q',
  documents: ['a', { text: 'b' }],
  top_n: 2,
  return_documents: true,
  max_chunks_per_doc: 3,
  rank_fields: ['text'],
}
export const geminiEmbedBody: Json = {
  content: { parts: [{ text: 'hi' }] },
  taskType: 'RETRIEVAL_DOCUMENT',
  title: 't',
  outputDimensionality: 8,
}
