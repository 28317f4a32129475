/** What rows of the catalogue make of a host; reranking and embeddings by the hosts' own documentation. */
import { describe, expect, test } from 'bun:test'
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { FieldVerdict } from '../../core/dialects/field-rules.ts'
import { targetOf } from '../../../tests/support/provider-rig.ts'
import { providers, splitModel } from '../index.ts'
import { chatResult } from './read.ts'
import { chatFields } from './request.ts'
import { responsesBody } from './responses/request.ts'

const provider = (name: string) => providers.get(name)!
const spoken = (name: string) => Object.keys(provider(name).speaks).sort()

describe('dialects', () => {
  test('a row says what a host speaks, and where', () => {
    expect(spoken('openai')).toEqual([
      'openai-chat',
      'openai-embeddings',
      'openai-image-edits',
      'openai-image-variations',
      'openai-images',
      'openai-moderations',
      'openai-responses',
      'openai-speech',
      'openai-transcriptions',
      'openai-translations',
    ])
    expect(spoken('groq')).toEqual([
      'openai-chat',
      'openai-responses',
      'openai-speech',
      'openai-transcriptions',
      'openai-translations',
    ])
    expect(spoken('deepseek')).toEqual(['openai-chat'])
    expect(spoken('jina_ai')).toEqual(['jina-rerank'])
    expect(spoken('voyage')).toEqual([])
    const { speaks } = provider('openai')
    const target = targetOf(provider('openai'), { options: { organization: 'org' } })
    expect(speaks['openai-responses']!(target, true)).toEqual({
      url: 'https://api.openai.com/v1/responses',
      headers: { 'content-type': 'application/json', authorization: 'Bearer canary', 'openai-organization': 'org' },
    })
    const forms = [
      'openai-image-edits',
      'openai-image-variations',
      'openai-transcriptions',
      'openai-translations',
    ] as const
    for (const form of forms)
      expect(speaks[form]!(target, false).headers).toEqual({
        authorization: 'Bearer canary',
        'openai-organization': 'org',
      })
    expect(forms.map(form => speaks[form]!(target, false).url.slice(25))).toEqual([
      '/images/edits',
      '/images/variations',
      '/audio/transcriptions',
      '/audio/translations',
    ])
  })

  test("LiteLLM's other names for the same API", () => {
    expect(splitModel('ollama_chat/llama3:8b')).toEqual({ provider: 'ollama', model: 'llama3:8b' })
    expect(splitModel('cohere_chat/command-r')).toEqual({ provider: 'cohere', model: 'command-r' })
    expect(splitModel('constructor/x')).toEqual({ model: 'constructor/x' })
  })

  test('a host without chat has none', () => {
    expect(provider('jina_ai')).toMatchObject({ defaultBaseUrl: 'https://api.jina.ai/v1' })
    expect(provider('jina_ai').chat).toBeUndefined()
  })
})

describe('rerank', () => {
  const request = {
    model: 'p',
    query: 'q',
    documents: ['a', 'b', 'c'],
    topN: 2,
    user: 'u',
    maxTokensPerDocument: 9,
    extra: { format: 'cohere-rerank', fields: { priority: 1 } },
  }
  const ask = (name: string) => provider(name).rerank!.request(request, targetOf(provider(name)))

  test("in Jina's and in Voyage's format; unsupported fields are reported", () => {
    const common = { model: 'up-model', query: 'q', documents: ['a', 'b', 'c'], return_documents: false }
    expect(ask('jina_ai')).toMatchObject({
      head: { url: 'https://api.jina.ai/v1/rerank' },
      dropped: ['priority', 'user', 'max_tokens_per_doc'],
    })
    expect(ask('jina_ai').body).toEqual({ ...common, top_n: 2 })
    expect(ask('voyage').body).toEqual({ ...common, top_k: 2 })
    const own = { ...request, extra: { format: 'jina-rerank', fields: { truncation: true, return_documents: true } } }
    expect(provider('jina_ai').rerank!.request(own, targetOf(provider('jina_ai'))).body).toEqual({
      ...common,
      top_n: 2,
      truncation: true,
    })
  })

  test('answers of Jina, Voyage and SiliconFlow; best first, never more than asked for', () => {
    const entries = [
      { index: 1, relevance_score: 0.2 },
      { index: 2, relevance_score: 0.9, document: { text: 'c' } },
      { index: 0, relevance_score: 0.1 },
    ]
    const results = [
      { index: 2, score: 0.9 },
      { index: 1, score: 0.2 },
    ]
    const read = (body: unknown) => provider('jina_ai').rerank!.result(body, request)
    expect(read({ model: 'm', usage: { total_tokens: 15 }, results: entries })).toEqual({
      results,
      usage: { inputTokens: 15, outputTokens: 0 },
    })
    expect(read({ object: 'list', data: entries, usage: { total_tokens: 26 } })).toEqual({
      results,
      usage: { inputTokens: 26, outputTokens: 0 },
    })
    expect(read({ id: 'x', results: entries, meta: { tokens: { input_tokens: 7, output_tokens: 0 } } }).usage).toEqual({
      inputTokens: 7,
      outputTokens: 0,
    })
    expect(read({ results: [], usage: { total_tokens: -5 } })).toEqual({
      results: [],
      usage: { inputTokens: 0, outputTokens: 0 },
    })
  })
})

test('usage of a stream stands where Groq and Moonshot put it too', () => {
  const usage = { prompt_tokens: 5, completion_tokens: 3 }
  const last = { index: 0, delta: {}, finish_reason: 'stop' }
  for (const chunk of [
    { choices: [last], usage },
    { choices: [last], x_groq: { usage } },
    { choices: [{ ...last, usage }] },
  ]) {
    const events = provider('moonshot').chat!.reader()({ data: JSON.stringify({ id: 'c', model: 'm', ...chunk }) })
    expect(events).toContainEqual({ type: 'usage', usage: { inputTokens: 5, outputTokens: 3 } })
  }
})

describe('embeddings', () => {
  const request = {
    model: 'p',
    inputs: ['a', 'b'],
    encoding: 'base64' as const,
    dimensions: 8,
    user: 'u',
    extra: { format: 'openai-embeddings', fields: { input_type: 'query' } },
  }
  const ask = (name: string, more: object = {}) =>
    provider(name).embeddings!.request({ ...request, ...more }, targetOf(provider(name)))

  test('plain hosts get no encoding and their own names', () => {
    expect(ask('voyage')).toMatchObject({ head: { url: 'https://api.voyageai.com/v1/embeddings' }, dropped: ['user'] })
    expect(ask('voyage').body).toEqual({
      model: 'up-model',
      input: ['a', 'b'],
      output_dimension: 8,
      input_type: 'query',
    })
    expect(ask('jina_ai').body).toEqual({ model: 'up-model', input: ['a', 'b'], dimensions: 8, input_type: 'query' })
    expect(ask('openai').body).toEqual({
      model: 'up-model',
      input: ['a', 'b'],
      dimensions: 8,
      input_type: 'query',
      user: 'u',
      encoding_format: 'float',
    })
    expect(ask('openai', { extra: { format: 'gemini-embeddings', fields: { taskType: 'X' } } }).dropped).toEqual([
      'taskType',
    ])
  })

  test('vectors by their index; usage of input alone; nothing is read into holes', () => {
    const read = (body: unknown) => provider('voyage').embeddings!.result(body, request)
    const result = read({
      data: [
        { index: 1, embedding: [2] },
        { index: 0, embedding: [1] },
      ],
      usage: { total_tokens: 9 },
    })
    expect([result.vectors.map(one => [...one]), result.usage]).toEqual([
      [[1], [2]],
      { inputTokens: 9, outputTokens: 0 },
    ])
    const one = { embedding: [1] }
    for (const data of [
      [{ ...one, index: 4_000_000_000 }],
      [{ ...one, index: -1 }],
      [
        { ...one, index: 0 },
        { ...one, index: 0 },
      ],
      [{ embedding: null }],
      [{ embedding: ['x', null] }],
      [null],
    ])
      expect(() => read({ data })).toThrow("the upstream's answer")
    expect(() => read(null)).toThrow('no `data`')
  })
})

test('a model without reasoning is not asked for its encrypted form, by any client', () => {
  const included = (name: string, model: string, options = {}) => {
    const target = targetOf(provider(name), { model, options })
    const judge = provider(name).rules!(target, 'openai-responses').fields.get('include')
    const values = [['reasoning.encrypted_content'], ['reasoning.encrypted_content', 'file_search_call.results']]
    return judge && values.map(value => judge(value, () => undefined))
  }
  const without: FieldVerdict[] = ['omit', { value: ['file_search_call.results'] }]
  expect(included('openai', 'gpt-4o')).toEqual(without)
  expect(included('openai', 'ft:gpt-4.1-mini:acme')).toEqual(without)
  expect(included('azure', 'chat', { base_model: 'azure/gpt-4o' })).toEqual(without)
  expect(included('openai', 'gpt-5')).toBeUndefined()
  expect(included('azure', 'chat')).toBeUndefined()
})

test('a switch of thinking is said by the word of a model that has one', () => {
  const written = (host: string, model: string, reasoning: ChatRequest['reasoning'] & {}) => {
    const request: ChatRequest = {
      model,
      messages: [],
      stream: false,
      includeUsage: false,
      extra: { format: 'anthropic-messages', fields: {} },
      reasoning,
    }
    const rules = provider(host).rules!(targetOf(provider(host), { model }), 'openai-chat')
    const { fields, dropped } = chatFields(request, rules)
    return [fields.reasoning_effort ?? fields.thinking, dropped]
  }
  expect(written('openai', 'gpt-5.6-sol', { enabled: false })).toEqual(['none', []])
  expect(written('openai', 'gpt-5', { enabled: false })).toEqual(['minimal', ['reasoning_effort']])
  expect(written('openai', 'gpt-4.1', { enabled: false })).toEqual([undefined, []])
  expect(written('openai', 'gpt-5.6-sol', { enabled: true })).toEqual([undefined, ['reasoning.enabled']])
  expect(written('deepseek', 'deepseek-v4', { enabled: false })).toEqual([{ type: 'disabled' }, []])
  expect(written('groq', 'qwen/qwen3-32b', { enabled: true })).toEqual(['default', []])
  expect(written('groq', 'qwen/qwen3-32b', { effort: 'low' })).toEqual(['default', ['reasoning_effort']])
  expect(written('fireworks_ai', 'accounts/fireworks/models/kimi-k3', { effort: 'medium' })).toEqual([
    'low',
    ['reasoning_effort'],
  ])
  // An effort and a budget: the budget is said by nothing.
  expect(written('openai', 'gpt-5', { effort: 'high', budgetTokens: 500 })).toEqual([
    'high',
    ['reasoning.budget_tokens'],
  ])
})

test('a budget of thinking tokens becomes the nearest effort of a model whose efforts are known', () => {
  const written = (model: string, reasoning: ChatRequest['reasoning'] & {}) => {
    const target = targetOf(provider('openai'), { model })
    const request: ChatRequest = {
      model,
      messages: [],
      stream: false,
      includeUsage: false,
      extra: { format: 'anthropic-messages', fields: {} },
      reasoning,
    }
    const rules = (dialect: 'openai-chat' | 'openai-responses') => provider('openai').rules!(target, dialect)
    const chat = chatFields(request, rules('openai-chat'))
    const responses = responsesBody(request, model, { rules: rules('openai-responses'), account: '' })
    expect(chat.dropped).toContain('reasoning.budget_tokens')
    return [chat.fields.reasoning_effort, responses.body.reasoning]
  }
  expect(written('gpt-5', { enabled: true, budgetTokens: 2048 })).toEqual(['low', { effort: 'low' }])
  expect(written('gpt-5-pro', { enabled: true, budgetTokens: 2048 })).toEqual(['high', { effort: 'high' }])
  // Refuses every effort.
  expect(written('gpt-4.1', { enabled: true, budgetTokens: 2048 })).toEqual([undefined, undefined])
})

test('logprobs in columns, as Together writes them, are those of the tokens', () => {
  const events = chatResult({
    id: 'c',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hi!' },
        logprobs: { tokens: ['Hi', '!'], token_logprobs: [-0.31, null], top_logprobs: [{ Hi: -0.31, Ho: -2 }] },
        finish_reason: 'stop',
      },
    ],
  })
  const bytes = (text: string) => [...Buffer.from(text)]
  expect(events.filter(one => one.type === 'logprobs')).toEqual([
    {
      type: 'logprobs',
      choice: 0,
      content: [
        {
          token: 'Hi',
          logprob: -0.31,
          bytes: bytes('Hi'),
          top_logprobs: [
            { token: 'Hi', logprob: -0.31, bytes: bytes('Hi') },
            { token: 'Ho', logprob: -2, bytes: bytes('Ho') },
          ],
        },
        { token: '!', logprob: -9999, bytes: bytes('!'), top_logprobs: [] },
      ],
    },
  ])
})
