/**
 * Anthropic's messages (docs.claude.com: "Messages", "Streaming messages", "Extended thinking", "Citations", "Stop
 * reasons").
 */
import { namedBytes } from './family.ts'
import type { AnswerFamily, AnswerFixture, Json } from './family.ts'

const usage = { input_tokens: 25, output_tokens: 15 }
const message = {
  id: 'msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyS',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
}
const whole = (content: Json[], reason: string = 'end_turn', more: Json = {}): Json => ({
  ...message,
  content,
  stop_reason: reason,
  stop_sequence: null,
  usage,
  ...more,
})
const start: Json = {
  type: 'message_start',
  message: {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 25, output_tokens: 1 },
  },
}
const begin = (index: number, block: Json): Json => ({ type: 'content_block_start', index, content_block: block })
const delta = (index: number, one: Json): Json => ({ type: 'content_block_delta', index, delta: one })
const stop = (index: number): Json => ({ type: 'content_block_stop', index })
const end = (reason: string, more: Json = {}): Json[] => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null, ...more }, usage: { output_tokens: 15 } },
  { type: 'message_stop' },
]
const text = (index: number, ...texts: string[]): Json[] => [
  begin(index, { type: 'text', text: '' }),
  ...texts.map(one => delta(index, { type: 'text_delta', text: one })),
  stop(index),
]
const tool = (index: number, id: string, name: string, ...json: string[]): Json[] => [
  begin(index, { type: 'tool_use', id, name, input: {} }),
  delta(index, { type: 'input_json_delta', partial_json: '' }),
  ...json.map(one => delta(index, { type: 'input_json_delta', partial_json: one })),
  stop(index),
]
const ping = { type: 'ping' }
const citation = {
  type: 'char_location',
  cited_text: 'The grass is green.',
  document_index: 0,
  document_title: 'Example',
  start_char_index: 0,
  end_char_index: 20,
}
const found = {
  type: 'web_search_result_location',
  url: 'https://en.example/wiki',
  title: 'Claude Shannon',
  cited_text: 'Claude Shannon was born',
  encrypted_index: 'Eo8BCioIAhgB',
}
const signature = 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk='

const fixtures: AnswerFixture[] = [
  {
    name: 'text',
    whole: whole([{ type: 'text', text: 'Hello! 👋' }]),
    stream: [
      start,
      begin(0, { type: 'text', text: '' }),
      ping,
      delta(0, { type: 'text_delta', text: 'Hello' }),
      delta(0, { type: 'text_delta', text: '! 👋' }),
      stop(0),
      ...end('end_turn'),
    ],
    request: { includeUsage: true },
  },
  {
    name: 'tool call',
    whole: whole(
      [
        { type: 'text', text: "Okay, let's check:" },
        {
          type: 'tool_use',
          id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6',
          name: 'get_weather',
          input: { location: 'San Francisco, CA', unit: 'fahrenheit' },
        },
      ],
      'tool_use',
    ),
    stream: [
      start,
      ...text(0, 'Okay,', " let's check:"),
      ...tool(
        1,
        'toolu_01T1x1fJ34qAmk2tNTrN7Up6',
        'get_weather',
        '{"location":',
        '"San',
        ' Francisco, CA"',
        ',"unit":"fahrenheit"}',
      ),
      ...end('tool_use'),
    ],
  },
  {
    name: 'tool call without input',
    whole: whole([{ type: 'tool_use', id: 'toolu_1', name: 'get_time', input: {} }], 'tool_use'),
    stream: [start, ...tool(0, 'toolu_1', 'get_time'), ...end('tool_use')],
  },
  {
    name: 'two tool calls',
    whole: whole(
      [
        { type: 'tool_use', id: 'toolu_1', name: 'get_time', input: { zone: 'CET' } },
        { type: 'tool_use', id: 'toolu_2', name: 'get_weather', input: { city: 'Köln' } },
      ],
      'tool_use',
    ),
    stream: [
      start,
      ...tool(0, 'toolu_1', 'get_time', '{"zone":"CET"}'),
      ...tool(1, 'toolu_2', 'get_weather', '{"city":"Kö', 'ln"}'),
      ...end('tool_use'),
    ],
  },
  {
    name: 'thinking',
    whole: whole([
      { type: 'thinking', thinking: 'First, 27 * 453.', signature },
      { type: 'text', text: '27 * 453 = 12,231' },
    ]),
    stream: [
      start,
      begin(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'First,' }),
      delta(0, { type: 'thinking_delta', thinking: ' 27 * 453.' }),
      delta(0, { type: 'signature_delta', signature }),
      stop(0),
      ...text(1, '27 * 453 = 12,231'),
      ...end('end_turn'),
    ],
  },
  {
    name: 'redacted thinking',
    whole: whole([
      { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' },
      { type: 'text', text: 'Yes.' },
    ]),
    stream: [
      start,
      begin(0, { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' }),
      stop(0),
      ...text(1, 'Yes.'),
      ...end('end_turn'),
    ],
  },
  {
    name: 'thinking between calls',
    whole: whole(
      [
        { type: 'thinking', thinking: 'A.', signature: 's1' },
        { type: 'thinking', thinking: 'B.', signature: 's2' },
        { type: 'tool_use', id: 'toolu_1', name: 'x', input: { a: [1, null] } },
      ],
      'tool_use',
    ),
    stream: [
      start,
      ...['A.', 'B.'].flatMap((thinking, at) => [
        begin(at, { type: 'thinking', thinking: '', signature: '' }),
        delta(at, { type: 'thinking_delta', thinking }),
        delta(at, { type: 'signature_delta', signature: `s${at + 1}` }),
        stop(at),
      ]),
      ...tool(2, 'toolu_1', 'x', '{"a":[1,null]}'),
      ...end('tool_use'),
    ],
  },
  {
    name: 'length',
    whole: whole([{ type: 'text', text: 'Once upon' }], 'max_tokens'),
    stream: [start, ...text(0, 'Once upon'), ...end('max_tokens')],
  },
  {
    name: 'stop sequence',
    whole: whole([{ type: 'text', text: 'One, two' }], 'stop_sequence', { stop_sequence: 'three' }),
    stream: [start, ...text(0, 'One, two'), ...end('stop_sequence', { stop_sequence: 'three' })],
  },
  { name: 'refusal', whole: whole([], 'refusal'), stream: [start, ...end('refusal')] },
  {
    name: 'a full context window',
    whole: whole([{ type: 'text', text: 'It goes on' }], 'model_context_window_exceeded'),
  },
  {
    name: 'a paused turn',
    whole: whole(
      [
        { type: 'text', text: 'I search.' },
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      ],
      'pause_turn',
    ),
  },
  {
    name: 'citations',
    whole: whole([
      { type: 'text', text: 'the grass is green', citations: [citation] },
      { type: 'text', text: ' (Shannon)', citations: [found] },
    ]),
    stream: [
      start,
      begin(0, { type: 'text', text: '', citations: [] }),
      delta(0, { type: 'text_delta', text: 'the grass is green' }),
      delta(0, { type: 'citations_delta', citation }),
      stop(0),
      begin(1, { type: 'text', text: '' }),
      delta(1, { type: 'text_delta', text: ' (Shannon)' }),
      delta(1, { type: 'citations_delta', citation: found }),
      stop(1),
      ...end('end_turn'),
    ],
  },
  {
    name: 'web search by the server',
    stream: [
      start,
      begin(0, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
      stop(0),
      begin(1, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
      stop(1),
      ...text(2, 'Found.'),
      ...end('end_turn'),
    ],
  },
  {
    name: 'usage with cache',
    whole: whole([{ type: 'text', text: 'Hi.' }], 'end_turn', {
      usage: {
        input_tokens: 50,
        cache_read_input_tokens: 100_000,
        cache_creation_input_tokens: 248,
        cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
        output_tokens: 503,
        output_tokens_details: { thinking_tokens: 400 },
        service_tier: 'standard',
      },
    }),
    stream: [
      {
        ...start,
        message: {
          ...(start.message as Json),
          usage: {
            input_tokens: 50,
            cache_read_input_tokens: 100_000,
            cache_creation_input_tokens: 248,
            cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
            output_tokens: 1,
          },
        },
      },
      ...text(0, 'Hi.'),
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 503, output_tokens_details: { thinking_tokens: 400 } },
      },
      { type: 'message_stop' },
    ],
    request: { includeUsage: true },
  },
  {
    name: 'error in the stream',
    stream: [start, ...text(0, 'Once'), { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
  },
  {
    name: 'error in place of an answer',
    whole: { type: 'error', error: { type: 'api_error', message: 'Internal server error' }, request_id: 'req_1' },
  },
  {
    name: 'cut before its end',
    stream: [start, begin(0, { type: 'text', text: '' }), delta(0, { type: 'text_delta', text: 'Once' })],
  },
  {
    name: 'unknown events',
    stream: [
      start,
      { type: 'future_event', x: 1 },
      begin(0, { type: 'future_block' }),
      delta(0, { type: 'future_delta' }),
      stop(0),
      ...text(1, 'Hi.'),
      ...end('end_turn'),
    ],
  },
  { name: 'not JSON', stream: [start, 'event: ping\ndata: {oops\n\n'] },
]

export const anthropicFamily: AnswerFamily = {
  name: 'anthropic',
  providers: ['anthropic'],
  bytes: namedBytes,
  fixtures,
}
