/** OpenAI's chat completions (API reference) and what its followers made of them (their own API references). */
import { dataBytes } from './family.ts'
import type { AnswerFamily, AnswerFixture, Json } from './family.ts'

const head = {
  id: 'chatcmpl-123',
  created: 1_694_268_190,
  model: 'gpt-5-2025-08-07',
  system_fingerprint: 'fp_44709d6fcb',
}
const usage = { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 }
const whole = (message: Json, reason: string | null = 'stop', more: Json = {}): Json => ({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: reason }],
  usage,
  ...more,
})
const chunk = (delta: Json, reason: string | null = null, more: Json = {}): Json => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
  ...more,
})
const first = chunk({ role: 'assistant', content: '', refusal: null })
const counted = { ...head, object: 'chat.completion.chunk', choices: [], usage }
const said = (...texts: string[]): Json[] => texts.map(content => chunk({ content }))
const call = (id: string, name: string, args: string, index?: number): Json => ({
  ...(index !== undefined && { index }),
  id,
  type: 'function',
  function: { name, arguments: args },
})
const args = (index: number, fragment: string): Json =>
  chunk({ tool_calls: [{ index, function: { arguments: fragment } }] })
const token = (text: string, logprob: number): Json => ({
  token: text,
  logprob,
  bytes: [...Buffer.from(text)],
  top_logprobs: [{ token: text, logprob, bytes: [...Buffer.from(text)] }],
})
const note = {
  type: 'url_citation',
  url_citation: { start_index: 0, end_index: 5, url: 'https://news.example/a', title: 'News' },
}

const fixtures: AnswerFixture[] = [
  {
    name: 'text',
    whole: whole({ content: 'Hello! How can I help?', refusal: null, annotations: [] }),
    stream: [first, ...said('Hello!', ' How can', ' I help?'), chunk({}, 'stop'), counted],
    request: { includeUsage: true },
  },
  {
    name: 'unicode',
    whole: whole({ content: 'Grüße 世界 👩‍👩‍👧 \n"\\"' }),
    stream: [first, ...said('Grü', 'ße 世', '界 👩‍👩‍👧 ', '\n"\\"'), chunk({}, 'stop'), counted],
  },
  {
    name: 'tool call',
    whole: whole(
      { content: null, tool_calls: [call('call_abc123', 'get_current_weather', '{"location":"Boston, MA"}')] },
      'tool_calls',
    ),
    stream: [
      chunk({ role: 'assistant', content: null }),
      chunk({ tool_calls: [call('call_abc123', 'get_current_weather', '', 0)] }),
      args(0, '{"location"'),
      args(0, ':"Boston, MA"}'),
      chunk({}, 'tool_calls'),
      counted,
    ],
  },
  {
    name: 'parallel tool calls',
    whole: whole(
      {
        content: 'Looking.',
        tool_calls: [call('call_1', 'get_weather', '{"city":"Paris"}'), call('call_2', 'get_time', '{}')],
      },
      'tool_calls',
    ),
    stream: [
      first,
      ...said('Looking.'),
      chunk({ tool_calls: [call('call_1', 'get_weather', '', 0)] }),
      args(0, '{"city":"Paris"}'),
      chunk({ tool_calls: [call('call_2', 'get_time', '', 1)] }),
      args(1, '{}'),
      chunk({}, 'tool_calls'),
      counted,
    ],
  },
  {
    name: 'two choices',
    whole: {
      ...whole({}),
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Red' }, finish_reason: 'stop' },
        { index: 1, message: { role: 'assistant', content: 'Blue' }, finish_reason: 'length' },
      ],
    },
    stream: [0, 1]
      .map(index => ({ ...first, choices: [{ index, delta: { role: 'assistant', content: '' } }] }))
      .concat([
        { ...first, choices: [{ index: 0, delta: { content: 'Red' } } as never] },
        { ...first, choices: [{ index: 1, delta: { content: 'Blue' } } as never] },
        { ...first, choices: [{ index: 0, delta: {}, finish_reason: 'stop' } as never] },
        { ...first, choices: [{ index: 1, delta: {}, finish_reason: 'length' } as never] },
        counted as never,
      ]),
    request: { choices: 2, includeUsage: true },
  },
  {
    name: 'refusal',
    whole: whole({ content: null, refusal: "I'm sorry, I cannot assist with that." }),
    stream: [
      first,
      chunk({ refusal: "I'm sorry, " }),
      chunk({ refusal: 'I cannot assist with that.' }),
      chunk({}, 'stop'),
      counted,
    ],
  },
  {
    name: 'length',
    whole: whole({ content: 'Once upon' }, 'length'),
    stream: [first, ...said('Once', ' upon'), chunk({}, 'length'), counted],
  },
  {
    name: 'content filter',
    whole: whole({ content: '' }, 'content_filter'),
    stream: [first, chunk({}, 'content_filter'), counted],
  },
  {
    name: 'logprobs',
    whole: {
      ...whole({}),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi!' },
          logprobs: { content: [token('Hi', -0.31), token('!', -0.02)], refusal: null },
          finish_reason: 'stop',
        },
      ],
    },
    stream: [
      first,
      {
        ...first,
        choices: [
          {
            index: 0,
            delta: { content: 'Hi' },
            logprobs: { content: [token('Hi', -0.31)], refusal: null },
            finish_reason: null,
          },
        ],
      },
      {
        ...first,
        choices: [
          {
            index: 0,
            delta: { content: '!' },
            logprobs: { content: [token('!', -0.02)], refusal: null },
            finish_reason: null,
          },
        ],
      },
      chunk({}, 'stop'),
      counted,
    ],
    request: { logprobs: true },
  },
  {
    name: 'reasoning as DeepSeek writes it',
    whole: whole({ content: '9.8', reasoning_content: 'Compare 9.11 and 9.8.' }),
    stream: [
      first,
      chunk({ reasoning_content: 'Compare 9.11' }),
      chunk({ reasoning_content: ' and 9.8.' }),
      ...said('9.8'),
      chunk({}, 'stop', {
        usage: {
          ...usage,
          completion_tokens_details: { reasoning_tokens: 6 },
          prompt_cache_hit_tokens: 16,
          prompt_cache_miss_tokens: 3,
        },
      }),
    ],
    apart: true,
  },
  {
    name: 'reasoning as OpenRouter writes it',
    whole: whole({ content: 'Yes.', reasoning: 'Think.' }),
    stream: [
      ': OPENROUTER PROCESSING\n\n',
      chunk({
        role: 'assistant',
        content: '',
        reasoning: 'Think.',
        reasoning_details: [{ type: 'reasoning.text', text: 'Think.' }],
      }),
      ': OPENROUTER PROCESSING\n\n',
      ...said('Yes.'),
      chunk({}, 'stop'),
      counted,
    ],
  },
  {
    name: 'citations',
    whole: whole({ content: 'Today: rain.', annotations: [note] }),
    stream: [first, ...said('Today: rain.'), chunk({ annotations: [note] }), chunk({}, 'stop'), counted],
  },
  {
    name: 'image as OpenRouter writes it',
    whole: whole({
      content: 'Here.',
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
    }),
    stream: [
      first,
      ...said('Here.'),
      chunk({ images: [{ index: 0, type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] }),
      chunk({}, 'stop'),
      counted,
    ],
  },
  {
    name: 'signed thinking as LiteLLM writes it',
    whole: whole({
      content: 'Yes.',
      reasoning_content: 'Think.',
      thinking_blocks: [{ type: 'thinking', thinking: 'Think.', signature: 'EqQBCgIYAg==' }],
    }),
    stream: [
      chunk({
        role: 'assistant',
        reasoning_content: 'Think.',
        thinking_blocks: [{ type: 'thinking', thinking: 'Think.', signature: '' }],
      }),
      chunk({
        reasoning_content: '',
        thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'EqQBCgIYAg==' }],
      }),
      ...said('Yes.'),
      chunk({}, 'stop'),
      counted,
    ],
  },
  {
    name: 'redacted thinking as LiteLLM writes it',
    whole: whole({ content: 'Yes.', thinking_blocks: [{ type: 'redacted_thinking', data: 'EmwKAhgB' }] }),
    stream: [
      chunk({ role: 'assistant', thinking_blocks: [{ type: 'redacted_thinking', data: 'EmwKAhgB' }] }),
      ...said('Yes.'),
      chunk({}, 'stop'),
      counted,
    ],
  },
  {
    name: 'audio',
    whole: whole({
      content: null,
      audio: { id: 'audio_abc', data: 'AAEC', transcript: 'Yes.', expires_at: 1_729_018_505 },
    }),
    stream: [
      chunk({ role: 'assistant', audio: { id: 'audio_abc', transcript: 'Ye' } }),
      chunk({ audio: { data: 'AAEC' } }),
      chunk({ audio: { transcript: 's.' } }),
      chunk({ audio: { expires_at: 1_729_018_505 } }),
      chunk({}, 'stop'),
      counted,
    ],
  },
  {
    name: 'usage with cache',
    whole: whole({ content: 'Hi.' }, 'stop', {
      usage: {
        prompt_tokens: 2006,
        completion_tokens: 300,
        total_tokens: 2306,
        prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 64,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
    }),
  },
  {
    name: 'usage that cannot be believed',
    whole: whole({ content: 'Hi.' }, 'stop', { usage: { prompt_tokens: -1, completion_tokens: 1.5 } }),
  },
  {
    name: 'Azure begins with filter results',
    whole: whole({ content: 'Hi.' }, 'stop', {
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
    }),
    stream: [
      {
        choices: [],
        created: 0,
        id: '',
        model: '',
        object: '',
        prompt_filter_results: [
          { prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } },
        ],
      },
      first,
      ...said('Hi.'),
      chunk({}, 'stop'),
      counted,
    ],
  },
  {
    name: 'Groq counts in the last chunk',
    stream: [first, ...said('Hi.'), chunk({}, 'stop', { x_groq: { id: 'req_1', usage } })],
    request: { includeUsage: true },
  },
  {
    name: 'legacy function call',
    whole: whole({ content: null, function_call: { name: 'get_weather', arguments: '{"a":1}' } }, 'function_call'),
    stream: [
      first,
      chunk({ function_call: { name: 'get_weather', arguments: '' } }),
      chunk({ function_call: { arguments: '{"a"' } }),
      chunk({ function_call: { arguments: ':1}' } }),
      chunk({}, 'function_call'),
      counted,
    ],
  },
  {
    name: 'tool call at once, finished with stop',
    whole: whole({
      content: '',
      tool_calls: [{ type: 'function', id: '', function: { name: 'get_time', arguments: '{}' } }],
    }),
    stream: [
      chunk({
        role: 'assistant',
        tool_calls: [{ type: 'function', id: '', function: { name: 'get_time', arguments: '{}' } }],
      }),
      chunk({}, 'stop'),
      counted,
    ],
  },
  {
    name: 'two calls under one index',
    stream: [
      first,
      chunk({ tool_calls: [call('call_1', 'a', '{}', 0)] }),
      chunk({ tool_calls: [call('call_2', 'b', '{"x":1}', 0)] }),
      chunk({}, 'tool_calls'),
    ],
  },
  {
    name: 'error in the stream',
    stream: [
      first,
      ...said('Once'),
      { error: { message: 'The server had an error', type: 'server_error', code: null } },
    ],
  },
  {
    name: 'error as a finish reason',
    whole: whole({ content: 'Once' }, 'error', { error: { code: 502, message: 'Provider disconnected' } }),
    stream: [
      first,
      ...said('Once'),
      { ...chunk({ content: '' }, 'error'), error: { code: 'server_error', message: 'Provider disconnected' } },
    ],
    apart: true,
  },
  { name: 'error with the status 200', whole: { error: { message: 'Overloaded', code: 'overloaded' } } },
  { name: 'cut before its end', stream: [first, ...said('Once')] },
  { name: 'not JSON', stream: [first, ...said('Once'), 'data: <html>\n\n'] },
  { name: 'empty', whole: whole({ content: '' }), stream: [first, chunk({}, 'stop'), counted] },
  {
    name: 'CRLF, comments and names',
    stream: [
      ': hi\r\n\r\n',
      'event: message\r\ndata: ',
      `${JSON.stringify(first)}\r\n\r\n`,
      ...said('Hi.'),
      'id: 7\rdata: ',
      `${JSON.stringify(chunk({}, 'stop'))}\r\r`,
    ],
  },
]

export const openaiFamily: AnswerFamily = {
  name: 'openai',
  providers: [
    ...[
      'openai',
      'groq',
      'cerebras',
      'fireworks_ai',
      'xai',
      'moonshot',
      'nvidia_nim',
      'deepinfra',
      'deepseek',
      'sambanova',
    ],
    ...['vercel_ai_gateway', 'openrouter', 'together_ai', 'perplexity', 'local', 'azure', 'azure_ai'],
  ],
  bytes: dataBytes('\n', 'data: [DONE]\n\n'),
  fixtures,
}
