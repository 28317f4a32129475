/** Calls of models that succeed. */
import { writeWave } from '../../support/wav.ts'
import { asked, askedWithKey, chat } from './scenario.ts'
import type { Scenario } from './scenario.ts'

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const toolMessages = [{ role: 'user', content: 'use the tool get_weather for Paris' }]
const claudeTool = { name: 'get_weather', description: 'The weather', input_schema: weather.function.parameters }
const message = (fields: object = {}) => ({
  path: '/v1/messages',
  headers: { 'anthropic-version': '2023-06-01' },
  body: { model: 'claude', max_tokens: 50, messages: [{ role: 'user', content: 'say: hello there' }], ...fields },
})

function transcription(fields: Record<string, string>): FormData {
  const form = new FormData()
  const wave = writeWave({ samples: new Int16Array(16_000), sampleRateHz: 16_000 })
  form.set('file', new File([new Uint8Array(wave)], 'a.wav', { type: 'audio/wav' }))
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}

/** Chats in OpenAI's form. */
const chats: readonly Scenario[] = [
  askedWithKey('chat: whole', {}, chat()),
  askedWithKey('chat: without /v1', {}, { ...chat(), path: '/chat/completions' }),
  askedWithKey('chat: under engines', {}, { ...chat(), path: '/engines/gpt-4o/chat/completions' }),
  askedWithKey('chat: as Azure', {}, { ...chat(), path: '/openai/deployments/gpt-4o/chat/completions' }),
  askedWithKey('chat: streamed', {}, chat({ stream: true })),
  askedWithKey('chat: streamed with usage', {}, chat({ stream: true, stream_options: { include_usage: true } })),
  askedWithKey('chat: two choices', {}, chat({ n: 2 })),
  askedWithKey('chat: tools', {}, chat({ messages: toolMessages, tools: [weather] })),
  askedWithKey('chat: tools, streamed', {}, chat({ messages: toolMessages, tools: [weather], stream: true })),
  askedWithKey('chat: logprobs', {}, chat({ logprobs: true, top_logprobs: 2 })),
  askedWithKey('chat: JSON', {}, chat({ response_format: { type: 'json_object' } })),
  askedWithKey(
    'chat: cut by max_tokens',
    {},
    chat({ max_tokens: 1, messages: [{ role: 'user', content: 'tokens: 9' }] }),
  ),
  askedWithKey('chat: reasoning', {}, chat({ model: 'o4-mini', reasoning_effort: 'low' })),
  askedWithKey('chat: of Claude', {}, chat({ model: 'claude' })),
  askedWithKey(
    'chat: of Claude, streamed with usage',
    {},
    chat({ model: 'claude', stream: true, stream_options: { include_usage: true } }),
  ),
  askedWithKey('chat: of Claude, tools', {}, chat({ model: 'claude', messages: toolMessages, tools: [weather] })),
  askedWithKey(
    'chat: of Claude, tools, streamed',
    {},
    chat({ model: 'claude', messages: toolMessages, tools: [weather], stream: true }),
  ),
  askedWithKey('chat: of Claude, thinking', {}, chat({ model: 'claude', reasoning_effort: 'low' })),
  askedWithKey('chat: by a wildcard', {}, chat({ model: 'wild/gpt-4o' })),
  askedWithKey('chat: by an alias of the router', {}, chat({ model: 'nickname' })),
  askedWithKey('chat: by an alias of the key', { aliases: { mine: 'gpt-4o' } }, chat({ model: 'mine' })),
  askedWithKey('chat: by an access group', { models: ['beta-models'] }, chat()),
  askedWithKey('chat: by a fallback', {}, chat({ model: 'falls' })),
  askedWithKey('chat: by a fallback of the request', {}, chat({ model: 'failing', fallbacks: ['gpt-4o'] })),
  askedWithKey('chat: by a fallback, streamed', {}, chat({ model: 'falls', stream: true })),
  askedWithKey('chat: unknown field', {}, chat({ some_future_field: 1 })),
  askedWithKey(
    'chat: field of another model, dropped',
    {},
    chat({ model: 'claude', logit_bias: { 1: 1 }, drop_params: true }),
  ),
  askedWithKey('chat: metadata and tags', {}, chat({ metadata: { tags: ['a'], team: 'b' }, user: 'customer-1' })),
  askedWithKey('chat: limits of the key', { rpm_limit: 100, tpm_limit: 100_000, max_budget: 10 }, chat()),
  askedWithKey('chat: limits of the key, streamed', { rpm_limit: 100, tpm_limit: 100_000 }, chat({ stream: true })),
  askedWithKey(
    'chat: limits of a model',
    { model_rpm_limit: { 'gpt-4o': 50 }, model_tpm_limit: { 'gpt-4o': 5000 } },
    chat(),
  ),
  askedWithKey(
    'chat: headers of control',
    {},
    {
      ...chat(),
      headers: {
        'x-litellm-call-id': 'call-of-mine',
        'x-litellm-timeout': '20',
        'x-litellm-num-retries': '1',
        'x-litellm-tags': 'a,b',
        'x-litellm-customer-id': 'customer-2',
        'x-litellm-spend-logs-metadata': '{"a":1}',
      },
    },
  ),
]

/** How keys are shown. */
const keyHeaders: readonly Scenario[] = [
  ['x-api-key', ''],
  ['api-key', ''],
  ['x-goog-api-key', ''],
  ['x-litellm-api-key', ''],
  ['x-litellm-api-key', 'Bearer '],
].map(([header, prefix]) => ({
  name: `key: in ${header}${prefix ? ' with Bearer' : ''}`,
  run: async gateway => gateway.ask({ ...chat(), key: null, headers: { [header!]: prefix + (await gateway.key()) } }),
}))
const twoKeys: Scenario = {
  name: 'key: in x-litellm-api-key, beside the Authorization of a vendor',
  run: async gateway =>
    gateway.ask({
      ...chat(),
      key: null,
      headers: {
        'x-litellm-api-key': `Bearer ${await gateway.key()}`,
        authorization: 'Bearer sk-ant-oat01-of-a-vendor',
      },
    }),
}

const others: readonly Scenario[] = [
  askedWithKey(
    'completions: whole',
    {},
    { path: '/v1/completions', body: { model: 'instruct', prompt: 'say: hello' } },
  ),
  askedWithKey(
    'completions: streamed',
    {},
    {
      path: '/v1/completions',
      body: { model: 'instruct', prompt: 'say: hello', stream: true },
    },
  ),
  askedWithKey(
    'completions: of a chat model',
    {},
    { path: '/v1/completions', body: { model: 'gpt-4o', prompt: 'say: hello' } },
  ),
  askedWithKey(
    'completions: model in the query',
    {},
    { path: '/v1/completions?model=instruct', body: { prompt: 'say: a' } },
  ),
  askedWithKey('embeddings: one', {}, { path: '/v1/embeddings', body: { model: 'embed', input: 'a' } }),
  askedWithKey('embeddings: many', {}, { path: '/v1/embeddings', body: { model: 'embed', input: ['a', 'b'] } }),
  askedWithKey('embeddings: token ids', {}, { path: '/v1/embeddings', body: { model: 'embed', input: [[1, 2]] } }),
  askedWithKey(
    'embeddings: base64',
    {},
    {
      path: '/v1/embeddings',
      body: { model: 'embed', input: 'a', encoding_format: 'base64' },
    },
  ),
  askedWithKey(
    'moderations: one',
    {},
    { path: '/v1/moderations', body: { model: 'moderate', input: 'flag: violence' } },
  ),
  askedWithKey('moderations: no model', {}, { path: '/v1/moderations', body: { input: 'a' } }),
  askedWithKey('speech: mp3', {}, { path: '/v1/audio/speech', body: { model: 'speak', input: 'a', voice: 'alloy' } }),
  askedWithKey(
    'speech: wav',
    {},
    {
      path: '/v1/audio/speech',
      body: { model: 'speak', input: 'a', voice: 'alloy', response_format: 'wav' },
    },
  ),
  askedWithKey(
    'transcription: JSON',
    {},
    { path: '/v1/audio/transcriptions', body: transcription({ model: 'listen' }) },
  ),
  askedWithKey(
    'transcription: verbose',
    {},
    {
      path: '/v1/audio/transcriptions',
      body: transcription({ model: 'listen', response_format: 'verbose_json' }),
    },
  ),
  askedWithKey('images: one', {}, { path: '/v1/images/generations', body: { model: 'paint', prompt: 'a cat' } }),
  askedWithKey('responses: whole', {}, { path: '/v1/responses', body: { model: 'gpt-4o', input: 'say: hello' } }),
  askedWithKey(
    'responses: streamed',
    {},
    { path: '/v1/responses', body: { model: 'gpt-4o', input: 'say: a', stream: true } },
  ),
  askedWithKey('responses: of Claude', {}, { path: '/v1/responses', body: { model: 'claude', input: 'say: hello' } }),
  askedWithKey('messages: whole', {}, message()),
  askedWithKey('messages: streamed', {}, message({ stream: true })),
  askedWithKey('messages: tools', {}, message({ messages: toolMessages, tools: [claudeTool] })),
  askedWithKey('messages: of an OpenAI model', {}, message({ model: 'gpt-4.1-mini' })),
  askedWithKey('messages: of an OpenAI model, streamed', {}, message({ model: 'gpt-4.1-mini', stream: true })),
  askedWithKey(
    'messages: count',
    {},
    {
      path: '/v1/messages/count_tokens',
      body: { model: 'claude', messages: [{ role: 'user', content: 'hello' }] },
    },
  ),
  askedWithKey(
    'gemini: generateContent',
    {},
    {
      path: '/v1beta/models/gpt-4o:generateContent',
      body: { contents: [{ role: 'user', parts: [{ text: 'say: hello' }] }] },
    },
  ),
  asked('utils: token counter', { path: '/utils/token_counter', body: { model: 'gpt-4o', prompt: 'hello' } }),
  asked('utils: token counter, messages', {
    path: '/utils/token_counter',
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] },
  }),
  asked('utils: token counter, of nothing', { path: '/utils/token_counter', body: { model: 'gpt-4o' } }),
  asked('utils: token counter, unknown model', { path: '/utils/token_counter', body: { model: 'none', prompt: 'a' } }),
  asked('utils: supported params', { path: '/utils/supported_openai_params?model=gpt-4o' }),
  asked('utils: supported params, unknown model', { path: '/utils/supported_openai_params?model=none-such' }),
  asked('utils: transform', {
    path: '/utils/transform_request',
    body: { call_type: 'completion', request_body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'a' }] } },
  }),
  asked('utils: transform, unknown type', {
    path: '/utils/transform_request',
    body: { call_type: 'no', request_body: {} },
  }),
]

/** All of them. */
export const callScenarios: readonly Scenario[] = [...chats, ...keyHeaders, twoKeys, ...others]
