/** Cohere's v2 chat (docs.cohere.com: "Chat", "Streaming", "Tool use", "Citations", "Reasoning"). */
import { namedBytes } from './family.ts'
import type { AnswerFamily, AnswerFixture, Json } from './family.ts'

const usage = {
  billed_units: { input_tokens: 5, output_tokens: 418 },
  tokens: { input_tokens: 71, output_tokens: 418 },
}
const whole = (message: Json, reason = 'COMPLETE', more: Json = {}): Json => ({
  id: 'c14c80c3-18eb-4519-9460-6c92edd8cfb4',
  finish_reason: reason,
  message: { role: 'assistant', ...message },
  usage,
  ...more,
})
const start: Json = {
  type: 'message-start',
  id: 'c14c80c3-18eb-4519-9460-6c92edd8cfb4',
  delta: { message: { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] } },
}
const delta = (index: number, content: Json): Json => ({
  type: 'content-delta',
  index,
  delta: { message: { content } },
})
const text = (index: number, ...texts: string[]): Json[] => [
  { type: 'content-start', index, delta: { message: { content: { type: 'text', text: '' } } } },
  ...texts.map(one => delta(index, { text: one })),
  { type: 'content-end', index },
]
const end = (reason: string, more: Json = {}): Json => ({
  type: 'message-end',
  delta: { finish_reason: reason, usage, ...more },
})
const call = (id: string, name: string, args: string): Json => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const toolStart = (index: number, id: string, name: string): Json => ({
  type: 'tool-call-start',
  index,
  delta: { message: { tool_calls: call(id, name, '') } },
})
const toolDelta = (index: number, fragment: string): Json => ({
  type: 'tool-call-delta',
  index,
  delta: { message: { tool_calls: { function: { arguments: fragment } } } },
})
const toolEnd = (index: number): Json => ({ type: 'tool-call-end', index })
const citation = {
  start: 24,
  end: 31,
  text: '18 July',
  sources: [{ type: 'document', id: 'doc_0', document: { id: 'doc_0', text: 'On 18 July' } }],
  type: 'TEXT_CONTENT',
}

const fixtures: AnswerFixture[] = [
  {
    name: 'text',
    whole: whole({ content: [{ type: 'text', text: 'LLMs are large. ✓' }] }),
    stream: [start, ...text(0, 'LLMs', ' are', ' large. ✓'), end('COMPLETE')],
    request: { includeUsage: true },
  },
  {
    name: 'tool call with a plan',
    whole: whole(
      {
        tool_plan: 'I will look.',
        tool_calls: [call('get_weather_1byjy32y4hvq', 'get_weather', '{"location":"Toronto"}')],
      },
      'TOOL_CALL',
    ),
    stream: [
      start,
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'I will ' } } },
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'look.' } } },
      toolStart(0, 'get_weather_1byjy32y4hvq', 'get_weather'),
      toolDelta(0, '{"location"'),
      toolDelta(0, ':"Toronto"}'),
      toolEnd(0),
      end('TOOL_CALL'),
    ],
  },
  {
    name: 'two tool calls',
    whole: whole({ tool_calls: [call('a_1', 'a', '{"x":1}'), call('b_1', 'b', '{}')] }, 'TOOL_CALL'),
    stream: [
      start,
      toolStart(0, 'a_1', 'a'),
      toolDelta(0, '{"x":1}'),
      toolEnd(0),
      toolStart(1, 'b_1', 'b'),
      toolEnd(1),
      end('TOOL_CALL'),
    ],
  },
  {
    name: 'reasoning',
    whole: whole({
      content: [
        { type: 'thinking', thinking: 'Is it?' },
        { type: 'text', text: 'Yes.' },
      ],
    }),
    stream: [
      start,
      { type: 'content-start', index: 0, delta: { message: { content: { type: 'thinking', thinking: '' } } } },
      delta(0, { thinking: 'Is ' }),
      delta(0, { thinking: 'it?' }),
      { type: 'content-end', index: 0 },
      ...text(1, 'Yes.'),
      end('COMPLETE'),
    ],
  },
  {
    name: 'thinking, a plan and a tool call',
    whole: whole(
      {
        tool_plan: 'I will look.',
        content: [{ type: 'thinking', thinking: 'They want the weather. ' }],
        tool_calls: [call('a_1', 'a', '{"x":1}')],
      },
      'TOOL_CALL',
    ),
    stream: [
      start,
      { type: 'content-start', index: 0, delta: { message: { content: { type: 'thinking', thinking: '' } } } },
      delta(0, { thinking: 'They want ' }),
      delta(0, { thinking: 'the weather. ' }),
      { type: 'content-end', index: 0 },
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'I will look.' } } },
      toolStart(0, 'a_1', 'a'),
      toolDelta(0, '{"x":1}'),
      toolEnd(0),
      end('TOOL_CALL'),
    ],
  },
  {
    name: 'citations',
    whole: whole({ content: [{ type: 'text', text: 'Emperors are tall since 18 July.' }], citations: [citation] }),
    stream: [
      start,
      ...text(0, 'Emperors are tall', ' since 18 July.'),
      { type: 'citation-start', index: 0, delta: { message: { citations: citation } } },
      { type: 'citation-end', index: 0 },
      end('COMPLETE'),
    ],
  },
  {
    name: 'length',
    whole: whole({ content: [{ type: 'text', text: 'Once' }] }, 'MAX_TOKENS'),
    stream: [start, ...text(0, 'Once'), end('MAX_TOKENS')],
  },
  {
    name: 'stop sequence',
    whole: whole({ content: [{ type: 'text', text: 'One' }] }, 'STOP_SEQUENCE'),
    stream: [start, ...text(0, 'One'), end('STOP_SEQUENCE')],
  },
  { name: 'toxic', whole: whole({ content: [] }, 'ERROR_TOXIC'), stream: [start, end('ERROR_TOXIC')] },
  {
    name: 'error at the end',
    whole: whole({ content: [{ type: 'text', text: 'On' }] }, 'ERROR'),
    stream: [start, ...text(0, 'On'), end('ERROR', { error: 'generation failed' })],
    apart: true,
  },
  { name: 'time is over', stream: [start, ...text(0, 'On'), end('TIMEOUT')] },
  {
    name: 'logprobs',
    whole: whole({ content: [{ type: 'text', text: 'Hi' }] }, 'COMPLETE', {
      logprobs: [{ token_ids: [17], text: 'Hi', logprobs: [-0.5] }],
    }),
    request: { logprobs: true },
  },
  {
    name: 'search units',
    whole: whole({ content: [{ type: 'text', text: 'Hi' }] }, 'COMPLETE', {
      usage: { billed_units: { input_tokens: 12.0, output_tokens: 3, search_units: 1 }, cached_tokens: 8 },
    }),
    request: { includeUsage: true },
  },
  { name: 'empty content as text', whole: whole({ content: '' }) },
  {
    name: 'error in the stream',
    stream: [start, ...text(0, 'On'), 'data: {"message":"internal server error, this has been reported"}\n\n'],
  },
  { name: 'cut before its end', stream: [start, ...text(0, 'On')] },
  { name: 'not JSON', stream: [start, 'data: oops\n\n'] },
  {
    name: 'unknown events',
    stream: [start, { type: 'debug', prompt: 'x' }, ...text(0, 'Hi'), end('COMPLETE'), 'data: [DONE]\n\n'],
  },
]

export const cohereFamily: AnswerFamily = { name: 'cohere', providers: ['cohere'], bytes: namedBytes, fixtures }
