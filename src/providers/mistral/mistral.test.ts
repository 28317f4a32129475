/** Fixtures follow docs.mistral.ai: "Chat Completion", "Reasoning", "Function calling", "Moderation", "FIM". */
import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import type { ChatRequest, Message } from '../../core/hub/chat.ts'
import { chatRequest, dataEvents, joined, readStream, targetOf } from '../../../tests/support/provider-rig.ts'
import { mistral } from './index.ts'

const chat = mistral.chat!
const ask = (more: Partial<ChatRequest> = {}, model = 'mistral-large-latest') => {
  const { head, body, dropped } = chat.request(chatRequest(more), targetOf(mistral, { model }))
  return { head, dropped, body: body as Record<string, any> }
}
const say = (role: Message['role'], text: string): Message => ({ role, parts: [{ type: 'text', text }] })

describe('answers', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
  const call = { id: 'VvvODy9mT', function: { name: 'pay', arguments: '{"id":"T1"}' }, index: 0 }
  const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
    id: 'm1',
    object: 'chat.completion.chunk',
    created: 7,
    model: 'magistral',
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
  })

  test('thinking in parts: a stream cut anywhere and the whole answer are the same events', () => {
    const reference = { type: 'reference', reference_ids: [0] }
    const whole = {
      id: 'm1',
      object: 'chat.completion',
      created: 7,
      model: 'magistral',
      usage,
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            tool_calls: [call],
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: 'Hm ✓' }] },
              { type: 'text', text: 'Ok 😀' },
              reference,
            ],
          },
        },
      ],
    }
    const stream =
      dataEvents([
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm ' }] }] }),
        chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: '✓' }] }] }),
        chunk({ content: 'Ok ' }),
        chunk({ content: [{ type: 'text', text: '😀' }, reference] }),
        chunk({ content: '', tool_calls: [call] }, 'tool_calls', { usage }),
      ]) + 'data: [DONE]\n\n'
    const expected = joined(chat.result(whole))
    expect(expected).toEqual([
      { type: 'start', id: 'm1', model: 'magistral', createdS: 7 },
      { type: 'reasoning', choice: 0, text: 'Hm ✓' },
      { type: 'text', choice: 0, text: 'Ok 😀' },
      { type: 'citation', choice: 0, citation: reference },
      { type: 'tool-call-start', choice: 0, index: 0, id: 'VvvODy9mT', name: 'pay' },
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{"id":"T1"}' },
      { type: 'tool-call-end', choice: 0, index: 0 },
      { type: 'finish', choice: 0, reason: 'tool-calls' },
      { type: 'usage', usage: { inputTokens: 10, outputTokens: 20 } },
    ])
    for (let size = 1; size < 300; size++) expect(readStream(chat, stream, size)).toEqual(expected)
  })

  test('a full context is a cut answer; a model that broke off is an error', () => {
    expect(readStream(chat, dataEvents([chunk({ content: 'x' }, 'model_length')]), 40).at(-1)).toMatchObject({
      type: 'finish',
      reason: 'length',
    })
    expect(readStream(chat, dataEvents([chunk({ content: 'x' }, 'error')]), 40).at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'upstream-failed' },
    })
  })

  test.each([
    [
      422,
      { detail: [{ type: 'extra_forbidden', loc: ['body', 'user'], msg: 'Extra inputs are not permitted' }] },
      'upstream-refused',
      'body.user: Extra inputs',
    ],
    [
      400,
      {
        object: 'error',
        message: { detail: [{ loc: ['body', 'messages'], msg: 'Field required' }] },
        type: 'invalid_request_error',
      },
      'upstream-refused',
      'body.messages: Field required',
    ],
    [
      400,
      { object: 'error', message: 'Invalid model: x', type: 'invalid_model', param: null, code: '1500' },
      'model-not-found',
      'Invalid model',
    ],
    [
      400,
      {
        object: 'error',
        message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
        code: '3051',
      },
      'context-too-long',
      'Prompt',
    ],
    [401, { detail: 'Unauthorized' }, 'upstream-credentials', 'Unauthorized'],
    [
      429,
      { object: 'error', message: 'Service tier capacity exceeded for this model.', code: '3505' },
      'upstream-rate-limited',
      'Service tier',
    ],
  ])('%d %j is %s', (status, body, kind, words) => {
    const fault = classify({ host: 'mistral', status, body })
    expect(fault.kind).toBe(kind as never)
    expect(fault.message).toContain(words)
  })
})

describe('requests', () => {
  test('ids of calls have nine characters, the same on both sides; its own stay', () => {
    const { messages } = ask({
      messages: [
        say('user', 'x'),
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'hidden from models that do not think' },
            { type: 'tool-call', id: 'call_abcdefghijklmnop', name: 'f', arguments: '' },
            { type: 'tool-call', id: 'VvvODy9mT', name: 'g', arguments: '{"a":1}' },
          ],
        },
        {
          role: 'tool',
          parts: [{ type: 'tool-result', callId: 'call_abcdefghijklmnop', parts: [{ type: 'text', text: '1' }] }],
        },
        {
          role: 'tool',
          parts: [{ type: 'tool-result', callId: 'VvvODy9mT', name: 'g', parts: [{ type: 'text', text: '2' }] }],
        },
      ],
    }).body
    const id = messages[2].tool_call_id as string
    expect(id).toMatch(/^[A-Za-z0-9]{9}$/)
    expect(messages).toEqual([
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id, type: 'function', function: { name: 'f', arguments: '{}' } },
          { id: 'VvvODy9mT', type: 'function', function: { name: 'g', arguments: '{"a":1}' } },
        ],
      },
      { role: 'tool', tool_call_id: id, content: '1' },
      { role: 'tool', tool_call_id: 'VvvODy9mT', name: 'g', content: '2' },
    ])
  })

  test('the order of roles is one that it accepts; a begun answer becomes a prefix', () => {
    const { messages } = ask({
      messages: [
        say('assistant', 'hello'),
        say('system', 'late rule'),
        { role: 'assistant', parts: [{ type: 'text', text: '' }] },
        { role: 'assistant', parts: [{ type: 'tool-call', id: 'aaaaaaaaa', name: 'f', arguments: '{}' }] },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'aaaaaaaaa', parts: [] }] },
        say('user', 'go on'),
        say('assistant', 'Once'),
      ],
    }).body
    expect(messages.map(({ role, content, prefix }: Record<string, unknown>) => [role, content, prefix])).toEqual([
      ['user', '.', undefined],
      ['assistant', 'hello', undefined],
      ['user', 'late rule', undefined],
      ['assistant', '', undefined],
      ['tool', '', undefined],
      ['assistant', 'OK.', undefined],
      ['user', 'go on', undefined],
      ['assistant', 'Once', true],
    ])
  })

  test('content parts', () => {
    const data = Buffer.from('plain').toString('base64')
    const { messages } = ask({
      messages: [
        {
          role: 'user',
          parts: [
            { type: 'text', text: 'see' },
            { type: 'image', source: { url: 'https://x/y.png' } },
            { type: 'image', source: { data: 'AA', mediaType: 'image/png' }, detail: 'high' },
            { type: 'document', source: { url: 'https://x/y.pdf' }, name: 'y' },
            { type: 'document', source: { data, mediaType: 'text/plain' } },
            { type: 'document', source: { fileId: 'f1' } },
            { type: 'audio', data: 'BB', format: 'wav' },
          ],
        },
      ],
    }).body
    expect(messages[0].content).toEqual([
      { type: 'text', text: 'see' },
      { type: 'image_url', image_url: 'https://x/y.png' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'high' } },
      { type: 'document_url', document_url: 'https://x/y.pdf', document_name: 'y' },
      { type: 'text', text: 'plain' },
      { type: 'file', file_id: 'f1' },
      { type: 'input_audio', input_audio: 'BB' },
    ])
  })

  test('settings: renamed, clamped, refused; tools always have a schema', () => {
    const { body, dropped, head } = ask({
      stream: true,
      seed: 3,
      temperature: 2,
      maxOutputTokens: 5,
      logprobs: true,
      user: 'u',
      topK: 4,
      toolChoice: 'required',
      tools: [{ name: 't' }],
      extra: { format: 'openai-chat', fields: { safe_prompt: true, store: false } },
      messages: [{ ...say('user', 'x'), name: 'ann' }],
    })
    expect(head.url).toBe('https://api.mistral.ai/v1/chat/completions')
    expect(body).toEqual({
      model: 'mistral-large-latest',
      messages: [{ role: 'user', content: 'x' }],
      stream: true,
      random_seed: 3,
      temperature: 1.5,
      max_tokens: 5,
      safe_prompt: true,
      tool_choice: 'any',
      tools: [{ type: 'function', function: { name: 't', parameters: { type: 'object', properties: {} } } }],
    })
    expect([...dropped].sort()).toEqual(['logprobs', 'messages.name', 'store', 'temperature', 'top_k', 'user'])
  })

  test('the cache key goes along, also to the middle; of the tiers it knows two', () => {
    const extra = (fields: object) => ({ extra: { format: 'openai-chat', fields: { ...fields } } })
    expect(ask(extra({ prompt_cache_key: 'k' }))).toMatchObject({ body: { prompt_cache_key: 'k' }, dropped: [] })
    expect(ask(extra({ prompt_cache_key: 'k', suffix: 'x' }))).toMatchObject({
      body: { prompt_cache_key: 'k', suffix: 'x' },
      dropped: [],
    })
    const tiers = ['auto', 'standard_only', 'default', 'priority', 'flex', undefined].map(serviceTier => {
      const { body, dropped } = ask(serviceTier === undefined ? {} : { serviceTier })
      return [body.service_tier, dropped]
    })
    const lost = [undefined, ['service_tier']]
    expect(tiers).toEqual([['auto', []], ['standard_only', []], ['standard_only', []], lost, lost, [undefined, []]])
  })

  test('thinking: a mode for Magistral, two steps for the others; earlier thoughts go back', () => {
    const messages: Message[] = [
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'so' },
          { type: 'text', text: 'sun' },
        ],
      },
      say('user', 'why?'),
    ]
    const magistral = ask({ reasoning: { effort: 'low' }, messages }, 'magistral-medium-latest')
    expect(magistral.body.prompt_mode).toBe('reasoning')
    expect(magistral.body.messages[1].content).toEqual([
      { type: 'thinking', thinking: [{ type: 'text', text: 'so' }] },
      { type: 'text', text: 'sun' },
    ])
    expect(ask({ reasoning: { effort: 'none' } }, 'magistral-small-latest').dropped).toEqual(['reasoning_effort'])
    const medium = ask({ reasoning: { effort: 'medium' } })
    expect([medium.body.reasoning_effort, medium.dropped]).toEqual(['high', ['reasoning_effort']])
    expect(ask({ reasoning: { enabled: false } }).body.reasoning_effort).toBe('none')
    expect(ask().body).not.toHaveProperty('reasoning_effort')
  })

  test('a suffix asks for the middle', () => {
    const extra = { format: 'openai-chat', fields: { suffix: 'return x', min_tokens: 2 } }
    const { head, body, dropped } = ask({
      extra,
      stop: ['\n'],
      maxOutputTokens: 9,
      stream: true,
      tools: [{ name: 't' }],
      messages: [say('user', 'def f():')],
    })
    expect(head.url).toBe('https://api.mistral.ai/v1/fim/completions')
    expect(body).toEqual({
      model: 'mistral-large-latest',
      prompt: 'def f():',
      suffix: 'return x',
      stop: ['\n'],
      max_tokens: 9,
      min_tokens: 2,
      stream: true,
    })
    expect(dropped).toEqual(['tools'])
    expect(() => ask({ extra, messages: [say('user', 'a'), say('user', 'b')] })).toThrow('single user message')
  })
})

describe('other operations', () => {
  const target = targetOf(mistral)

  test('embeddings: the size has another name', () => {
    const request = {
      model: 'p',
      inputs: ['a'],
      encoding: 'float' as const,
      dimensions: 8,
      user: 'u',
      extra: { format: 'openai-embeddings', fields: { output_dtype: 'float' } },
    }
    const { body, dropped, head } = mistral.embeddings!.request(request, target)
    expect(head.url).toBe('https://api.mistral.ai/v1/embeddings')
    expect(body).toEqual({
      model: 'up-model',
      input: ['a'],
      encoding_format: 'float',
      output_dimension: 8,
      output_dtype: 'float',
    })
    expect(dropped).toEqual(['user'])
  })

  test('moderations: flagged when any category is', () => {
    const request = {
      model: 'p',
      inputs: [[{ type: 'text' as const, text: 'a' }], [{ type: 'text' as const, text: 'b' }]],
      extra: { format: 'openai-moderations', fields: {} },
    }
    expect(mistral.moderations!.request(request, target)).toMatchObject({
      head: { url: 'https://api.mistral.ai/v1/moderations' },
      body: { model: 'up-model', input: ['a', 'b'] },
    })
    const verdict = (pii: boolean) => ({
      categories: { sexual: false, pii },
      category_scores: { sexual: 0.01, pii: pii ? 0.98 : 0.02 },
    })
    const result = mistral.moderations!.result(
      { id: 'x', model: 'm', results: [verdict(true), verdict(false)] },
      request,
    )
    expect(result.verdicts.map(one => [one.flagged, one.categories, one.scores])).toEqual([
      [true, { sexual: false, pii: true }, { sexual: 0.01, pii: 0.98 }],
      [false, { sexual: false, pii: false }, { sexual: 0.01, pii: 0.02 }],
    ])
    expect(() => mistral.moderations!.result({ results: [verdict(true)] }, request)).toThrow('1 verdicts for 2 inputs')
    expect(() => mistral.moderations!.result({ results: [1, 2] }, request)).toThrow('without categories')
    const image = { ...request, inputs: [[{ type: 'image' as const, source: { url: 'https://x' } }]] }
    expect(() => mistral.moderations!.request(image, target)).toThrow('text only')
  })

  test('a form brings its own content type', () => {
    expect(mistral.speaks['openai-transcriptions']!(target, false)).toEqual({
      url: 'https://api.mistral.ai/v1/audio/transcriptions',
      headers: { authorization: 'Bearer canary' },
    })
    expect(mistral.speaks['openai-chat']).toBeUndefined()
  })
})
