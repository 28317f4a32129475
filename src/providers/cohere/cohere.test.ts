/** Fixtures follow docs.cohere.com: "Streaming", "Tool use", "Citations", "Embed", "Rerank". */
import { classify } from '../../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import type { ChatRequest } from '../../core/hub/chat.ts'
import type { EmbeddingsRequest } from '../../core/hub/embeddings.ts'
import { frameSplitter } from '../../lib/frame-splitter.ts'
import { chatRequest, joined, namedEvents, readStream, targetOf } from '../../../tests/support/provider-rig.ts'
import { cohere } from './index.ts'

const chat = cohere.chat!
const target = targetOf(cohere, { model: 'command-a-03-2025' })
const ask = (more: Partial<ChatRequest> = {}, model = target.model) => {
  const { head, body, dropped } = chat.request(chatRequest(more), { ...target, model })
  return { head, dropped, body: body as Record<string, any> }
}

const usage = {
  billed_units: { input_tokens: 37.0, output_tokens: 28 },
  tokens: { input_tokens: 916, output_tokens: 83 },
  cached_tokens: 64,
}
const citation = {
  start: 0,
  end: 4,
  text: '22 °',
  sources: [{ type: 'tool', id: 'get_weather_0:0', tool_output: { t: '22' } }],
  type: 'TEXT_CONTENT',
}

test('a picture in a result of a tool follows all results in a message of the user', () => {
  const image = { type: 'image', source: { data: 'AAAA', mediaType: 'image/png' } } as const
  const result = (callId: string, ...parts: ChatRequest['messages'][number]['parts']) => ({
    role: 'tool' as const,
    parts: [{ type: 'tool-result' as const, callId, parts }],
  })
  const calls = ['a', 'b'].map(id => ({ type: 'tool-call', id, name: 'f', arguments: '{}' }) as const)
  const { body } = ask({
    messages: [
      { role: 'assistant', parts: calls },
      result('a', { type: 'text', text: 'seen' }, image),
      result('b', { type: 'text', text: 'two' }),
    ],
  })
  expect(body.messages.slice(1)).toEqual([
    { role: 'tool', tool_call_id: 'a', content: 'seen' },
    { role: 'tool', tool_call_id: 'b', content: 'two' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
  ])
})

describe('answers', () => {
  const stream = namedEvents([
    {
      type: 'message-start',
      id: 'c1',
      delta: { message: { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] } },
    },
    { type: 'content-start', index: 0, delta: { message: { content: { type: 'thinking', thinking: '' } } } },
    { type: 'content-delta', index: 0, delta: { message: { content: { thinking: 'Hm ' } } } },
    { type: 'content-delta', index: 0, delta: { message: { content: { thinking: '✓' } } } },
    { type: 'content-end', index: 0 },
    { type: 'content-start', index: 1, delta: { message: { content: { type: 'text', text: '' } } } },
    { type: 'content-delta', index: 1, delta: { message: { content: { text: '22 ' } } } },
    { type: 'content-delta', index: 1, delta: { message: { content: { text: '°C 😀' } } } },
    { type: 'citation-start', index: 0, delta: { message: { citations: citation } } },
    { type: 'citation-end', index: 0 },
    { type: 'content-end', index: 1 },
    { type: 'future-event', delta: { message: 1 } },
    { type: 'message-end', delta: { finish_reason: 'COMPLETE', usage } },
  ])
  const whole = {
    id: 'c1',
    finish_reason: 'COMPLETE',
    usage,
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm ✓' },
        { type: 'text', text: '22 °C 😀' },
      ],
      citations: [citation],
    },
  }

  test('a stream cut anywhere and the whole answer are the same events', () => {
    const expected = joined(chat.result(whole))
    expect(expected).toEqual([
      { type: 'start', id: 'c1', model: '' },
      { type: 'reasoning', choice: 0, text: 'Hm ✓' },
      { type: 'text', choice: 0, text: '22 °C 😀' },
      { type: 'citation', choice: 0, citation },
      { type: 'finish', choice: 0, reason: 'stop' },
      { type: 'usage', usage: { inputTokens: 37, outputTokens: 28 } },
    ])
    for (let size = 1; size < 300; size++) expect(readStream(chat, stream, size)).toEqual(expected)
  })

  test('message-end is the last event, named or not; the same text in answers and calls is not', () => {
    const frames = frameSplitter().push(Buffer.from(stream))
    expect(frames.map(frame => chat.isLast!(frame))).toEqual([...Array(frames.length - 1).fill(false), true])
    const result = {
      type: 'citation-start',
      delta: {
        message: { citations: { text: '"type":"message-end"', sources: [{ tool_output: { type: 'message-end' } }] } },
      },
    }
    expect([
      chat.isLast!({ data: JSON.stringify(result) }),
      chat.isLast!({ data: '{"delta":{}, "type": "message-end"}' }),
    ]).toEqual([false, true])
  })

  test('a plan and calls, whole and streamed', () => {
    const call = (id: string, name: string, written: string) => ({
      id,
      type: 'function',
      function: { name, arguments: written },
    })
    const streamed = namedEvents([
      { type: 'message-start', id: 'c2', delta: { message: { role: 'assistant' } } },
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'I will ' } } },
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'look.' } } },
      { type: 'tool-call-start', index: 0, delta: { message: { tool_calls: call('a', 'get_weather', '') } } },
      {
        type: 'tool-call-delta',
        index: 0,
        delta: { message: { tool_calls: { function: { arguments: '{"location":' } } } },
      },
      {
        type: 'tool-call-delta',
        index: 0,
        delta: { message: { tool_calls: { function: { arguments: '"Madrid"}' } } } },
      },
      { type: 'tool-call-end', index: 0 },
      { type: 'tool-call-start', index: 1, delta: { message: { tool_calls: call('b', 'now', '') } } },
      { type: 'tool-call-end', index: 1 },
      { type: 'message-end', delta: { finish_reason: 'TOOL_CALL', usage } },
    ])
    const expected = joined(
      chat.result({
        id: 'c2',
        finish_reason: 'TOOL_CALL',
        usage,
        message: {
          role: 'assistant',
          tool_plan: 'I will look.',
          tool_calls: [call('a', 'get_weather', '{"location":"Madrid"}'), call('b', 'now', '')],
        },
      }),
    )
    expect(expected.filter(event => event.type === 'tool-call-arguments')).toEqual([
      { type: 'tool-call-arguments', choice: 0, index: 0, fragment: '{"location":"Madrid"}' },
      { type: 'tool-call-arguments', choice: 0, index: 1, fragment: '{}' },
    ])
    for (let size = 1; size < 200; size++) expect(readStream(chat, streamed, size)).toEqual(expected)
  })

  test('probabilities as tokens of OpenAI', () => {
    const events = chat.result({ ...whole, logprobs: [{ text: 'é', token_ids: [1, 2], logprobs: [-0.5, -0.25] }] })
    expect(events.filter(event => event.type === 'logprobs')).toEqual([
      { type: 'logprobs', choice: 0, content: [{ token: 'é', logprob: -0.75, bytes: [195, 169], top_logprobs: [] }] },
    ])
  })

  test.each([
    ['ERROR', 'upstream-failed'],
    ['TIMEOUT', 'upstream-timeout'],
  ])('the reason %s is an error, not an end', (reason, kind) => {
    const text = namedEvents([{ type: 'message-end', delta: { finish_reason: reason, error: 'ran into trouble' } }])
    expect(readStream(chat, text, 9)).toMatchObject([
      { type: 'error', error: { kind, code: reason, message: expect.stringContaining('ran into trouble') as string } },
    ])
  })

  test('a failure inside a stream is an error; counts that cannot be are no usage', () => {
    expect(readStream(chat, 'data: {"message":"internal server error"}\n\n', 5)).toMatchObject([
      { type: 'error', error: { message: 'internal server error' } },
    ])
    const absurd = chat.result({ ...whole, usage: { billed_units: { input_tokens: -1, output_tokens: 1 } } })
    expect(absurd.some(event => event.type === 'usage')).toBe(false)
  })

  test.each([[null], ['text'], [[]], [{}], [{ message: {} }], [{ message: 'x', finish_reason: 'COMPLETE' }]])(
    '%j is refused',
    body => {
      expect(() => chat.result(body)).toThrow('does not follow its protocol')
    },
  )

  test('a stream that is no JSON, or has no reason at its end, is refused', () => {
    expect(() => readStream(chat, 'data: {oops\n\n', 3)).toThrow()
    expect(() => readStream(chat, 'data: [1]\n\n', 3)).toThrow('no object')
    expect(() => readStream(chat, 'data: {"type":"message-end","delta":{}}\n\n', 3)).toThrow('finish_reason')
  })

  test.each([
    [400, { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081' }, 'context-too-long'],
    [
      400,
      { id: 'x', message: 'invalid request: temperature must be between 0 and 1.0 inclusive.' },
      'upstream-refused',
    ],
    [401, { message: 'invalid api token' }, 'upstream-credentials'],
    [404, { message: "model 'x' not found" }, 'model-not-found'],
    [429, { message: 'trial token rate limit exceeded' }, 'upstream-rate-limited'],
    [498, { message: 'blocked' }, 'content-policy'],
    [503, {}, 'upstream-overloaded'],
  ])('%d %j is %s', (status, body, kind) => {
    expect(classify({ host: 'cohere', status, body }).kind).toBe(kind as never)
  })
})

describe('requests', () => {
  test('a conversation with thinking, calls, results, documents and an image', () => {
    const { body, dropped, head } = ask({
      stream: true,
      messages: [
        { role: 'developer', parts: [{ type: 'text', text: 'be kind' }] },
        {
          role: 'user',
          parts: [
            { type: 'text', text: 'what is it?' },
            { type: 'image', source: { data: 'AAAA', mediaType: 'image/png' }, detail: 'low' },
            {
              type: 'document',
              name: 'notes',
              source: { data: Buffer.from('Grüße').toString('base64'), mediaType: 'text/plain' },
            },
          ],
        },
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'hm' },
            { type: 'text', text: 'looking' },
            { type: 'tool-call', id: 'a', name: 'f', arguments: '' },
          ],
        },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', parts: [{ type: 'text', text: 'sunny' }] }] },
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', text: 'so' },
            { type: 'text', text: 'sun' },
          ],
        },
        { role: 'user', name: 'ann', parts: [{ type: 'text', text: 'thanks', cache: { type: 'ephemeral' } }] },
      ],
    })
    expect(head).toEqual({
      url: 'https://api.cohere.com/v2/chat',
      headers: { 'content-type': 'application/json', authorization: 'Bearer canary' },
    })
    expect(body).toEqual({
      model: 'command-a-03-2025',
      stream: true,
      documents: [{ id: 'doc_0', data: { title: 'notes', text: 'Grüße' } }],
      messages: [
        { role: 'system', content: 'be kind' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what is it?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
          ],
        },
        {
          role: 'assistant',
          tool_plan: 'hm\nlooking',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'sunny' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'so' },
            { type: 'text', text: 'sun' },
          ],
        },
        { role: 'user', content: 'thanks' },
      ],
    })
    expect(dropped).toEqual(['messages.name', 'cache_control'])
  })

  test('settings; values outside its ranges are clamped and reported', () => {
    const { body, dropped } = ask({
      maxOutputTokens: 9,
      temperature: 1.5,
      topP: 1,
      topK: 900,
      stop: ['END'],
      seed: 4,
      frequencyPenalty: -1,
      presencePenalty: 0.5,
      logprobs: true,
      topLogprobs: 3,
      choices: 2,
      user: 'u',
      parallelToolCalls: true,
      responseFormat: { type: 'json-schema', name: 'x', schema: { type: 'object' } },
      extra: { format: 'openai-chat', fields: { safety_mode: 'STRICT', documents: ['known'], modalities: ['text'] } },
    })
    expect(body).toMatchObject({
      max_tokens: 9,
      temperature: 1,
      p: 0.99,
      k: 500,
      stop_sequences: ['END'],
      seed: 4,
      frequency_penalty: 0,
      presence_penalty: 0.5,
      logprobs: true,
      response_format: { type: 'json_object', json_schema: { type: 'object' } },
      safety_mode: 'STRICT',
      documents: ['known'],
    })
    expect([...dropped].sort()).toEqual([
      'frequency_penalty',
      'modalities',
      'n',
      'temperature',
      'top_k',
      'top_logprobs',
      'user',
    ])
  })

  test('a certain tool is forced by offering no other', () => {
    const tools = [{ name: 'a', strict: true, parameters: { type: 'object', properties: { x: {} } } }, { name: 'b' }]
    const forced = ask({ tools, toolChoice: { name: 'b' } }).body
    expect([forced.tools, forced.tool_choice, forced.strict_tools]).toEqual([
      [{ type: 'function', function: { name: 'b', parameters: { type: 'object', properties: {} } } }],
      'REQUIRED',
      undefined,
    ])
    expect(ask({ tools, toolChoice: 'none' }).body).toMatchObject({ tool_choice: 'NONE', strict_tools: true })
    expect(ask({ tools, toolChoice: 'auto' }).body).not.toHaveProperty('tool_choice')
    expect(ask({ tools, toolChoice: 'required' }).body.tools).toHaveLength(2)
  })

  test.each([
    [{ effort: 'none' }, { type: 'disabled' }],
    [{ effort: 'low' }, { type: 'enabled', token_budget: 1024 }],
    [{ effort: 'high' }, { type: 'enabled' }],
    [{ budgetTokens: 77 }, { type: 'enabled', token_budget: 77 }],
    [{ enabled: false, budgetTokens: 77 }, { type: 'disabled' }],
  ] as const)('thinking %j is %j', (reasoning, thinking) => {
    expect(ask({ reasoning }, 'command-a-reasoning-08-2025').body.thinking).toEqual(thinking)
    const plain = ask({ reasoning }, 'command-a-03-2025')
    expect([plain.body.thinking, plain.dropped.length]).toEqual([undefined, thinking.type === 'enabled' ? 1 : 0])
  })

  test.each([
    ['audio', { type: 'audio', data: 'AA', format: 'wav' }, 'audio'],
    ['a PDF', { type: 'document', source: { data: 'AA', mediaType: 'application/pdf' } }, 'send its text instead'],
    ['an image by id', { type: 'image', source: { fileId: 'f' } }, 'file id'],
  ] as const)('%s is refused with a remedy', (_, part, words) => {
    expect(() => ask({ messages: [{ role: 'user', parts: [part] }] })).toThrow(words)
  })

  test('documents that are no list are refused', () => {
    const parts = [{ type: 'document' as const, source: { data: '', mediaType: 'text/plain' } }]
    expect(() =>
      ask({ messages: [{ role: 'user', parts }], extra: { format: 'openai-chat', fields: { documents: 'x' } } }),
    ).toThrow('documents: must be a list')
  })
})

describe('embeddings', () => {
  const embed = (inputs: EmbeddingsRequest['inputs'], fields: Record<string, unknown> = {}): EmbeddingsRequest => ({
    model: 'public',
    inputs,
    encoding: 'float',
    dimensions: 256,
    user: 'u',
    extra: { format: 'openai-embeddings', fields },
  })
  const image = 'data:image/png;base64,AAAA'
  const bodyOf = (request: EmbeddingsRequest) => cohere.embeddings!.request(request, target)

  test('texts, an image, and both', () => {
    const { head, body, dropped } = bodyOf(embed(['a', 'b']))
    expect(head.url).toBe('https://api.cohere.com/v2/embed')
    expect(body).toEqual({
      model: 'command-a-03-2025',
      texts: ['a', 'b'],
      input_type: 'search_document',
      embedding_types: ['float'],
      output_dimension: 256,
    })
    expect(dropped).toEqual(['user'])
    expect(bodyOf(embed(['q'], { input_type: 'search_query', other: 1 }))).toMatchObject({
      body: { input_type: 'search_query' },
      dropped: ['other', 'user'],
    })
    expect(bodyOf(embed([image])).body).toMatchObject({ images: [image], input_type: 'image' })
    expect(bodyOf(embed(['a', image])).body).toMatchObject({
      inputs: [
        { content: [{ type: 'text', text: 'a' }] },
        { content: [{ type: 'image_url', image_url: { url: image } }] },
      ],
    })
    expect(() => bodyOf(embed([[1, 2]]))).toThrow('token ids')
  })

  test('vectors and what was billed; one for each input', () => {
    const read = (body: unknown) => cohere.embeddings!.result(body, embed(['a', 'b']))
    const result = read({
      id: 'x',
      embeddings: {
        float: [
          [0.5, 1],
          [0, -1],
        ],
      },
      meta: { billed_units: { input_tokens: 6, image_tokens: 4 } },
    })
    expect(result.vectors.map(one => [...one])).toEqual([
      [0.5, 1],
      [0, -1],
    ])
    expect(result.usage).toEqual({ inputTokens: 10, outputTokens: 0, inputImageTokens: 4 })
    for (const body of [null, {}, { embeddings: { float: [[1]] } }, { embeddings: { int8: [[1], [2]] } }])
      expect(() => read(body)).toThrow('one embedding for each')
  })
})

describe('rerank', () => {
  const request = {
    model: 'public',
    query: 'q',
    documents: ['a', 'b', 'c'],
    topN: 2,
    maxTokensPerDocument: 50,
    extra: { format: 'cohere-rerank', fields: { priority: 1, return_documents: true } },
  }

  test('the documented request and answer', () => {
    const { head, body, dropped } = cohere.rerank!.request(request, { ...target, baseUrl: 'https://proxy/v1' })
    expect(head.url).toBe('https://proxy/v2/rerank')
    expect(body).toEqual({
      model: 'command-a-03-2025',
      query: 'q',
      documents: ['a', 'b', 'c'],
      top_n: 2,
      max_tokens_per_doc: 50,
      priority: 1,
    })
    expect(dropped).toEqual([])
    expect(cohere.speaks['cohere-rerank']!(target, false).url).toBe('https://api.cohere.com/v2/rerank')
    const results = [
      { index: 2, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.1 },
    ]
    expect(cohere.rerank!.result({ id: 'x', results, meta: { billed_units: { search_units: 1 } } }, request)).toEqual({
      results: [
        { index: 2, score: 0.9 },
        { index: 0, score: 0.1 },
      ],
      usage: { inputTokens: 0, outputTokens: 0, searchUnits: 1 },
    })
  })

  test.each([
    [{}],
    [{ results: [{ index: 3, relevance_score: 1 }] }],
    [{ results: [{ index: 0.5, relevance_score: 1 }] }],
    [{ results: [{ index: 0 }] }],
    [
      {
        results: [
          { index: 0, relevance_score: 1 },
          { index: 0, relevance_score: 1 },
        ],
      },
    ],
  ])('%j is refused', body => {
    expect(() => cohere.rerank!.result(body, request)).toThrow('does not follow its protocol')
  })
})
