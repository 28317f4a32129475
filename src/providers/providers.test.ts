/** Rules for every provider: streams and whole answers give the same events at any cut, dropped fields are reported. */
import { classify } from '../core/dialects/classify.ts'
import { describe, expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../core/hub/chat.ts'
import type { Target } from '../core/provider.ts'
import { Secret } from '../lib/secret.ts'
import { SseSplitter } from '../lib/sse.ts'
import { providers, splitModel } from './index.ts'

const target = (name: string, options: Record<string, unknown> = {}): Target => {
  const provider = providers.get(name)!
  return {
    provider,
    model: 'up-model',
    baseUrl: provider.defaultBaseUrl ?? 'http://host/v1',
    apiKey: new Secret('canary'),
    headers: {},
    options,
  }
}

const request = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'public',
  stream: false,
  includeUsage: false,
  messages: [
    { role: 'system', parts: [{ type: 'text', text: 'be kind', cache: { type: 'ephemeral' } }] },
    { role: 'user', parts: [{ type: 'text', text: 'hi' }] },
  ],
  extra: { format: 'openai-chat', fields: {} },
  ...more,
})

/** Deltas of one block joined, so that whole answers and streams compare. */
function joined(events: readonly ChatEvent[]): ChatEvent[] {
  const out: ChatEvent[] = []
  for (const event of events) {
    const last = out.at(-1)
    if (event.type === 'text' && last?.type === 'text') last.text += event.text
    else if (event.type === 'reasoning' && last?.type === 'reasoning' && event.text && last.text)
      last.text += event.text
    else if (event.type === 'tool-call-arguments' && last?.type === 'tool-call-arguments')
      last.fragment += event.fragment
    else out.push({ ...event })
  }
  const usages = out.filter(event => event.type === 'usage')
  return [...out.filter(event => event.type !== 'usage'), ...usages.slice(-1)]
}

function read(name: string, text: string, size: number): ChatEvent[] {
  const splitter = new SseSplitter()
  const reader = providers.get(name)!.chat!.reader()
  const bytes = Buffer.from(text)
  const events: ChatEvent[] = []
  for (let at = 0; at < bytes.length; at += size)
    for (const frame of splitter.push(bytes.subarray(at, at + size))) events.push(...reader(frame))
  return joined(events)
}

const sse = (events: readonly object[]) =>
  events.map(event => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

describe('Anthropic', () => {
  const usage = {
    input_tokens: 10,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 5,
    cache_creation: { ephemeral_1h_input_tokens: 5 },
  }
  const stream = sse([
    { type: 'message_start', message: { id: 'msg_1', model: 'claude-x', usage: { ...usage, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Grübel ' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: '✓' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig==' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'secret' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'Let me ' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'look 😀' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'content_block_start',
      index: 3,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
    },
    { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '{"city":' } },
    { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '"Paris"}' } },
    { type: 'content_block_stop', index: 3 },
    {
      type: 'content_block_start',
      index: 4,
      content_block: { type: 'tool_use', id: 'toolu_2', name: 'clock', input: {} },
    },
    { type: 'content_block_stop', index: 4 },
    { type: 'some_future_event', data: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 30 } },
    { type: 'message_stop' },
  ])
  const whole = {
    type: 'message',
    id: 'msg_1',
    model: 'claude-x',
    stop_reason: 'tool_use',
    stop_sequence: null,
    content: [
      { type: 'thinking', thinking: 'Grübel ✓', signature: 'sig==' },
      { type: 'redacted_thinking', data: 'secret' },
      { type: 'text', text: 'Let me look 😀' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' } },
      { type: 'tool_use', id: 'toolu_2', name: 'clock', input: {} },
      { type: 'future_block' },
    ],
    usage: { ...usage, output_tokens: 30 },
  }

  test('a stream cut anywhere and the whole answer are the same events', () => {
    const expected = joined(providers.get('anthropic')!.chat!.result(whole))
    expect(expected.at(-1)).toEqual({
      type: 'usage',
      usage: {
        inputTokens: 35,
        outputTokens: 30,
        cachedInputTokens: 20,
        cacheWriteTokens: 5,
        cacheWriteOneHourTokens: 5,
      },
    })
    // A stream reports its input twice, first at its beginning.
    const begun = { ...expected[0]!, usage: expect.objectContaining({ inputTokens: 35 }) }
    for (let size = 1; size < 300; size++)
      expect(read('anthropic', stream, size)).toEqual([begun, ...expected.slice(1)] as never)
  })

  test('thinking and calls go back as they came, results first and merged', () => {
    const { body } = providers.get('anthropic')!.chat!.request(
      request({
        messages: [
          { role: 'user', parts: [{ type: 'text', text: 'weather?' }] },
          {
            role: 'assistant',
            parts: [
              { type: 'reasoning', text: 'hm', signature: 's' },
              { type: 'reasoning', text: '', redacted: 'r' },
              { type: 'reasoning', text: 'unsigned' },
              { type: 'text', text: '' },
              { type: 'tool-call', id: 'a:1', name: 'w', arguments: '{"c":1}' },
              { type: 'tool-call', id: 'b', name: 'w', arguments: '' },
            ],
          },
          { role: 'tool', parts: [{ type: 'tool-result', callId: 'a:1', parts: [{ type: 'text', text: 'sunny' }] }] },
          {
            role: 'tool',
            parts: [{ type: 'tool-result', callId: 'b', parts: [{ type: 'text', text: 'no' }], isError: true }],
          },
          { role: 'user', parts: [{ type: 'text', text: 'and?' }] },
        ],
        maxOutputTokens: 100,
      }),
      target('anthropic'),
    )
    expect((body as { messages: unknown[] }).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'weather?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'redacted_thinking', data: 'r' },
          { type: 'tool_use', id: 'a_1', name: 'w', input: { c: 1 } },
          { type: 'tool_use', id: 'b', name: 'w', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a_1', content: [{ type: 'text', text: 'sunny' }] },
          { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'no' }], is_error: true },
          { type: 'text', text: 'and?' },
        ],
      },
    ])
  })

  test('unsupported fields are reported, the others are translated', () => {
    const { body, dropped, head } = providers.get('anthropic')!.chat!.request(
      request({
        seed: 1,
        choices: 2,
        temperature: 1.5,
        stop: ['END', ' '],
        user: 'u',
        frequencyPenalty: 1,
        parallelToolCalls: false,
        tools: [{ name: 't' }],
        toolChoice: 'auto',
        extra: { format: 'openai-chat', fields: { modalities: ['text'] } },
      }),
      target('anthropic', { anthropic_beta: 'b1' }),
    )
    expect(body).toMatchObject({
      model: 'up-model',
      max_tokens: 8192,
      temperature: 1,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 't', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    })
    expect([...dropped].sort()).toEqual(['frequency_penalty', 'modalities', 'n', 'seed', 'stop', 'temperature'])
    expect(head).toMatchObject({
      url: 'https://api.anthropic.com/v1/messages',
      headers: { 'x-api-key': 'canary', 'anthropic-version': '2023-06-01', 'anthropic-beta': 'b1' },
    })
  })

  test('thinking fits into the maximum and takes no temperature; a forced tool wins over it', () => {
    const ask = (more: Partial<ChatRequest>) =>
      providers
        .get('anthropic')!
        .chat!.request(request({ reasoning: { effort: 'medium' }, ...more }), target('anthropic'))
    const thinking = ask({ maxOutputTokens: 2000, temperature: 0.5 })
    expect(thinking.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 })
    expect(thinking.body).not.toHaveProperty('temperature')
    expect(thinking.dropped).toEqual(['temperature'])
    const none = ask({ maxOutputTokens: 100 })
    expect(none.body).toMatchObject({ max_tokens: 100 })
    expect(none.body).not.toHaveProperty('thinking')
    expect(none.dropped).toEqual(['reasoning_effort'])
    expect(ask({ tools: [{ name: 't' }], toolChoice: 'required' }).body).not.toHaveProperty('thinking')
  })

  test.each([
    ['invalid_request_error', 400, 'prompt is too long: 9 tokens > 8 maximum', 'context-too-long'],
    ['invalid_request_error', 400, 'bad', 'upstream-refused'],
    ['authentication_error', 401, 'no', 'upstream-credentials'],
    ['not_found_error', 404, 'model: x', 'model-not-found'],
    ['rate_limit_error', 429, 'slow', 'upstream-rate-limited'],
    ['api_error', 500, 'oops', 'upstream-failed'],
    ['overloaded_error', 529, 'busy', 'upstream-overloaded'],
  ])('%s %d (%s) is %s', (type, status, message, kind) => {
    expect(classify({ host: 'anthropic', status, body: { type: 'error', error: { type, message } } })).toMatchObject({
      kind,
      message,
    })
  })

  test('an error inside a stream ends it; no usage is made up from absurd counts', () => {
    const events = read('anthropic', sse([{ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }]), 7)
    expect(events).toMatchObject([{ type: 'error', error: { kind: 'upstream-overloaded' } }])
    const result = providers
      .get('anthropic')!
      .chat!.result({ ...whole, usage: { input_tokens: -1, output_tokens: 1e300 } })
    expect(result.some(event => event.type === 'usage')).toBe(false)
  })
})

describe('OpenAI-compatible hosts', () => {
  const chunk = (delta: object, more: object = {}) =>
    `data: ${JSON.stringify({
      id: 'c',
      model: 'm',
      created: 1,
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
    })}\n\n`

  test('a stream cut anywhere and the whole answer are the same events', () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
    const usage = {
      prompt_tokens: 4,
      completion_tokens: 6,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 3 },
    }
    const whole = {
      id: 'c',
      model: 'm',
      created: 1,
      usage,
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: { role: 'assistant', reasoning_content: 'hm ✓', content: 'ok 😀', tool_calls: [call] },
        },
      ],
    }
    const stream =
      chunk({ role: 'assistant', content: '' }) +
      chunk({ reasoning_content: 'hm ' }) +
      chunk({ reasoning_content: '✓' }) +
      chunk({ content: 'ok ' }) +
      chunk({ content: '😀' }) +
      chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] }) +
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }) +
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }) +
      chunk({}, { finish_reason: 'tool_calls' }) +
      `data: ${JSON.stringify({ id: 'c', choices: [], usage })}\n\ndata: [DONE]\n\n`
    const expected = joined(providers.get('groq')!.chat!.result(whole))
    for (let size = 1; size < 200; size++) expect(read('groq', stream, size)).toEqual(expected)
  })

  test('hosts without index or id, with an index twice, or a call in one piece are understood', () => {
    const one = (tool_calls: object[]) => chunk({ tool_calls })
    const names = (text: string) =>
      read('groq', text + chunk({}, { finish_reason: 'stop' }), 50).flatMap(event =>
        event.type === 'tool-call-start' ? [event.name] : [],
      )
    expect(
      names(one([{ function: { name: 'a', arguments: '{}' } }]) + one([{ function: { name: 'b', arguments: '{}' } }])),
    ).toEqual(['a', 'b'])
    expect(
      names(
        one([{ index: 0, id: 'x', function: { name: 'a', arguments: '{}' } }]) +
          one([{ index: 0, id: 'y', function: { name: 'b', arguments: '{}' } }]),
      ),
    ).toEqual(['a', 'b'])
    expect(
      read(
        'groq',
        one([{ index: 0, id: 'x', function: { name: 'a', arguments: '{}' } }]) + chunk({}, { finish_reason: 'stop' }),
        9,
      ).at(-1),
    ).toMatchObject({ reason: 'tool-calls' })
  })

  test('quirks: renamed, dropped and kept fields', () => {
    const { body, dropped } = providers.get('mistral')!.chat!.request(
      request({
        seed: 3,
        user: 'u',
        stream: true,
        messages: [{ role: 'developer', parts: [{ type: 'text', text: 'x' }] }],
      }),
      target('mistral'),
    )
    expect(body).toEqual({
      model: 'up-model',
      messages: [{ role: 'system', content: 'x' }],
      random_seed: 3,
      stream: true,
    })
    expect(dropped).toEqual(['user'])
  })

  test('foreign fields stay in their own format', () => {
    const ask = (format: string) =>
      providers.get('groq')!.chat!.request(request({ extra: { format, fields: { custom: 1 } } }), target('groq'))
    expect(ask('openai-chat').body).toHaveProperty('custom', 1)
    expect(ask('anthropic-messages').dropped).toContain('custom')
  })

  test.each([
    [
      400,
      { error: { message: "This model's maximum context length is 8 tokens", code: 'context_length_exceeded' } },
      'context-too-long',
    ],
    [400, { error: 'bad thing' }, 'upstream-refused'],
    [422, { detail: [{ loc: ['body', 'x'], msg: 'wrong' }] }, 'upstream-refused'],
    [401, { error: { message: 'Incorrect API key' } }, 'upstream-credentials'],
    [429, '', 'upstream-rate-limited'],
    [502, '<html>', 'upstream-broken'],
    [503, {}, 'upstream-overloaded'],
  ])('%d %j is %s', (status, body, kind) => {
    expect(classify({ host: 'groq', status, body }).kind).toBe(kind as never)
  })

  test('there are more than thirty, each with an https address or of this machine, and a key', () => {
    const hosts = [...providers.values()].filter(one => one.name !== 'local' && one.name !== 'anthropic')
    expect(hosts.length).toBeGreaterThan(30)
    for (const { defaultBaseUrl, apiKeyEnv, keyless } of hosts) {
      if (defaultBaseUrl) expect(defaultBaseUrl).toMatch(/^(https:\/\/|http:\/\/127\.0\.0\.1:)[^\s]*[^/]$/)
      expect(apiKeyEnv.length > 0 || keyless).toBe(true)
    }
    expect(splitModel('groq/llama/x')).toEqual({ provider: 'groq', model: 'llama/x' })
    expect(splitModel('acme/x')).toEqual({ model: 'acme/x' })
  })
})

describe('local', () => {
  const answer = (path: string, body: object) => {
    const { pieces } = providers.get('local')!.answer!({ url: `local:${path}`, headers: {} }, body)
    return JSON.parse(pieces.join('')) as {
      choices: {
        message: { content: string; tool_calls: { function: { arguments: string } }[] }
        finish_reason: string
      }[]
      data: { embedding: number[] }[]
    }
  }

  test('says that it is simulated, calls tools when forced, answers JSON by schema', () => {
    const messages = [{ role: 'user', content: 'hello' }]
    expect(answer('chat', { messages }).choices[0]!.message.content).toContain('[simulated]')
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, n: { type: 'integer', minimum: 3 } },
      required: ['city', 'n'],
    }
    const tools = [{ type: 'function', function: { name: 'f', parameters: schema } }]
    const called = answer('chat', { messages, tools, tool_choice: 'required' }).choices[0]!
    expect([called.finish_reason, JSON.parse(called.message.tool_calls[0]!.function.arguments)]).toEqual([
      'tool_calls',
      { city: 'simulated', n: 3 },
    ])
    const format = { type: 'json_schema', json_schema: { name: 'x', schema } }
    expect(JSON.parse(answer('chat', { messages, response_format: format }).choices[0]!.message.content)).toEqual({
      city: 'simulated',
      n: 3,
    })
    expect(answer('chat', { messages, max_tokens: 2 }).choices[0]!.finish_reason).toBe('length')
  })

  test('embeddings have 1024 dimensions, unit length, and similar texts are near', () => {
    const [a, b, c] = answer('embeddings', {
      input: ['the cat sat on the mat', 'the cat sits on a mat', 'quarterly revenue grew'],
    }).data.map(one => one.embedding)
    const dot = (x: number[], y: number[]) => x.reduce((sum, value, at) => sum + value * y[at]!, 0)
    expect(a!.length).toBe(1024)
    expect(dot(a!, a!)).toBeCloseTo(1, 5)
    expect(dot(a!, b!)).toBeGreaterThan(0.4)
    expect(dot(a!, c!)).toBeLessThan(0.3)
  })
})
