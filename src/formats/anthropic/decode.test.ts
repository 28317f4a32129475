import { describe, expect, test } from 'bun:test'
import type { ChatRequest } from '../../core/hub/chat.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { anthropicMessages } from './index.ts'

const decode = (more: object): ChatRequest =>
  anthropicMessages.decode(
    JsonBody.read(
      Buffer.from(JSON.stringify({ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...more })),
    ),
  )
const messagesOf = (...messages: object[]) => decode({ messages }).messages
const image = { type: 'base64', media_type: 'image/png', data: 'AAAA' }

test('the fields', () => {
  const request = decode({
    stream: true,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    stop_sequences: ['a', 'b'],
    metadata: { user_id: 'u', other: 1 },
    service_tier: 'standard_only',
    speed: 'fast',
    container: null,
  })
  expect(request).toEqual({
    model: 'm',
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
    stream: true,
    includeUsage: true,
    maxOutputTokens: 10,
    temperature: 0.5,
    topP: 0.9,
    topK: 5,
    stop: ['a', 'b'],
    user: 'u',
    serviceTier: 'default',
    extra: { format: 'anthropic-messages', fields: { speed: 'fast' } },
    dropped: ['metadata.other'],
  })
})

test('a user that is a whole document becomes a name that others take, the same every time', () => {
  const user_id = JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's' })
  const { user } = decode({ metadata: { user_id } })
  expect(user).toMatch(/^[0-9a-f]{64}$/)
  expect(decode({ metadata: { user_id } }).user).toBe(user!)
})

describe('messages', () => {
  test("the tool loop of Anthropic's documentation: results first, in own messages, with their calls' names", () => {
    const list = messagesOf(
      { role: 'user', content: "What's the weather in San Francisco?" },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I need the weather.', signature: 'EqQBCgIYAhIM' },
          { type: 'redacted_thinking', data: 'EmwKAhgB' },
          { type: 'text', text: "I'll check." },
          { type: 'tool_use', id: 'toolu_01', name: 'get_weather', input: { location: 'San Francisco, CA' } },
          { type: 'tool_use', id: 'toolu_02', name: 'get_time', input: {}, cache_control: { type: 'ephemeral' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'and then?' },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_01',
            content: [
              { type: 'text', text: '15 degrees' },
              { type: 'image', source: image },
            ],
          },
          { type: 'tool_result', tool_use_id: 'toolu_02', content: 'no clock', is_error: true },
        ],
      },
    )
    expect(list).toEqual([
      { role: 'user', parts: [{ type: 'text', text: "What's the weather in San Francisco?" }] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'I need the weather.', signature: 'EqQBCgIYAhIM' },
          { type: 'reasoning', text: '', redacted: 'EmwKAhgB' },
          { type: 'text', text: "I'll check." },
          { type: 'tool-call', id: 'toolu_01', name: 'get_weather', arguments: '{"location":"San Francisco, CA"}' },
          { type: 'tool-call', id: 'toolu_02', name: 'get_time', arguments: '{}', cache: { type: 'ephemeral' } },
        ],
      },
      {
        role: 'tool',
        parts: [
          {
            type: 'tool-result',
            callId: 'toolu_01',
            name: 'get_weather',
            parts: [
              { type: 'text', text: '15 degrees' },
              { type: 'image', source: { data: 'AAAA', mediaType: 'image/png' } },
            ],
          },
        ],
      },
      {
        role: 'tool',
        parts: [
          {
            type: 'tool-result',
            callId: 'toolu_02',
            name: 'get_time',
            parts: [{ type: 'text', text: 'no clock' }],
            isError: true,
          },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'and then?' }] },
    ])
  })

  test('documents from every source, what is said of them before them', () => {
    const [{ parts } = { parts: [] }] = messagesOf({
      role: 'user',
      content: [
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0' },
          title: 'A',
          context: 'of 2020',
          cache_control: { type: 'ephemeral', ttl: '1h' },
        },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'grün' } },
        { type: 'document', source: { type: 'url', url: 'https://x/a.pdf' } },
        {
          type: 'document',
          source: {
            type: 'content',
            content: [
              { type: 'text', text: 'one' },
              { type: 'image', source: { type: 'file', file_id: 'file_1' } },
            ],
          },
          title: 'B',
        },
        { type: 'search_result', source: 'https://s', title: 'S', content: [{ type: 'text', text: 'found' }] },
        { type: 'image', source: { type: 'url', url: 'https://x/a.png' } },
      ],
    })
    expect(parts).toEqual([
      { type: 'text', text: 'of 2020' },
      {
        type: 'document',
        source: { data: 'JVBERi0', mediaType: 'application/pdf' },
        name: 'A',
        cache: { type: 'ephemeral', ttl: '1h' },
      },
      { type: 'document', source: { data: Buffer.from('grün').toString('base64'), mediaType: 'text/plain' } },
      { type: 'document', source: { url: 'https://x/a.pdf', field: 'messages.0.content.2.source.url' } },
      { type: 'text', text: 'B' },
      { type: 'text', text: 'one' },
      { type: 'image', source: { fileId: 'file_1' } },
      { type: 'text', text: 'Search result: S\nSource: https://s\nfound' },
      { type: 'image', source: { url: 'https://x/a.png', field: 'messages.0.content.5.source.url' } },
    ])
  })

  test("system: at the head and between, cached, without Claude Code's billing header", () => {
    const { messages } = decode({
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2; cch=1a2b3;' },
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: '' },
      ],
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'system', content: 'Now in French.' },
      ],
    })
    expect(messages).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.', cache: { type: 'ephemeral' } }] },
      { role: 'user', parts: [{ type: 'text', text: 'hi' }] },
      { role: 'system', parts: [{ type: 'text', text: 'Now in French.' }] },
    ])
    expect(decode({ system: 'x-anthropic-billing-header: a' }).messages.length).toBe(1)
  })

  test('what servers of Anthropic did is left out and reported; a turn of nothing else vanishes', () => {
    const request = decode({
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
          ],
        },
        { role: 'user', content: 'again' },
      ],
    })
    expect(request.messages.map(one => one.role)).toEqual(['user', 'user'])
    expect(request.dropped).toEqual(['messages.content.server_tool_use', 'messages.content.web_search_tool_result'])
  })

  test('what no other vendor has is refused, with its place', () => {
    expect(() => messagesOf({ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] })).toThrow(
      'messages.0.content.0.type',
    )
    expect(() => messagesOf({ role: 'user', content: [{ type: 'image', source: { type: 's3' } }] })).toThrow(
      'messages.0.content.0.source.type',
    )
    expect(() => decode({ max_tokens: 0 })).toThrow('max_tokens')
  })

  test("thinking without Claude's signature: its own mark is taken off", () => {
    const thinking = (signature: string) =>
      messagesOf(
        { role: 'user', content: 'x' },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature }] },
      )[1]!.parts
    expect(thinking('EqQB')).toEqual([{ type: 'reasoning', text: 'hm', signature: 'EqQB' }])
    expect(thinking('modelgate-unsigned')).toEqual([{ type: 'reasoning', text: 'hm' }])
    expect(thinking('modelgate-signature-vendor/call/000/abc')).toEqual([
      { type: 'reasoning', text: 'hm', signature: 'vendor/call/000/abc' },
    ])
    expect(thinking('')).toEqual([{ type: 'reasoning', text: 'hm' }])
  })
})

describe('tools', () => {
  const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: 'object' }, ...more })

  test('definitions and choices', () => {
    const choose = (tool_choice: object) => decode({ tools: [tool('a'), tool('b')], tool_choice })
    expect(
      decode({
        tools: [tool('a', { type: 'custom', description: 'd', strict: true, cache_control: { type: 'ephemeral' } })],
      }).tools,
    ).toEqual([
      { name: 'a', description: 'd', parameters: { type: 'object' }, strict: true, cache: { type: 'ephemeral' } },
    ])
    expect(choose({ type: 'any' }).toolChoice).toBe('required')
    expect(choose({ type: 'none' }).toolChoice).toBe('none')
    expect(choose({ type: 'tool', name: 'b' }).toolChoice).toEqual({ name: 'b' })
    expect(choose({ type: 'auto', disable_parallel_tool_use: true })).toMatchObject({
      toolChoice: 'auto',
      parallelToolCalls: false,
    })
    expect(() => choose({ type: 'tool', name: 'c' })).toThrow('tool_choice.name')
  })

  test("Anthropic's own: those that its servers run are dropped and reported, those of the client refused", () => {
    const request = decode({
      tools: [{ type: 'web_search_20250305', name: 'web_search' }, tool('a', { defer_loading: true })],
    })
    expect([request.tools?.map(one => one.name), request.dropped]).toEqual([
      ['a'],
      ['tools.web_search_20250305', 'tools.defer_loading'],
    ])
    expect(
      decode({ tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }], tool_choice: { type: 'auto' } }),
    ).not.toHaveProperty('toolChoice')
    expect(() => decode({ tools: [{ type: 'bash_20250124', name: 'bash' }] })).toThrow('tools.0.type')
  })
})

describe('thinking and formats', () => {
  test.each<[object, ChatRequest['reasoning']]>([
    [{ thinking: { type: 'enabled', budget_tokens: 2048 } }, { enabled: true, budgetTokens: 2048 }],
    [{ thinking: { type: 'adaptive' } }, { enabled: true }],
    [
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
      { enabled: true, effort: 'max' },
    ],
    [{ output_config: { effort: 'low' } }, { effort: 'low' }],
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'low' } }, { enabled: false }],
    [{}, undefined],
  ])('%j', (fields, reasoning) => expect(decode(fields).reasoning).toEqual(reasoning))

  test('a schema stands in either place; unknown words are reported', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } }
    for (const fields of [{ output_config: { format } }, { output_format: format }])
      expect(decode(fields).responseFormat).toEqual({
        type: 'json-schema',
        name: 'response',
        schema: { type: 'object' },
      })
    expect(
      decode({
        output_config: { effort: 'extreme', task_budget: {}, format: { type: 'xml' } },
        thinking: { type: 'later' },
      })
        .dropped?.slice()
        .sort(),
    ).toEqual(['output_config.effort', 'output_config.format', 'output_config.task_budget', 'thinking'])
  })
})
