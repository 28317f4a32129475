/** Ollama's chat (docs/api.md, "Generate a chat completion"; docs: "Tool calling", "Thinking", "Streaming"). */
import { lineBytes } from './family.ts'
import type { AnswerFamily, AnswerFixture, Json } from './family.ts'

const head = { model: 'llama3.2', created_at: '2025-07-07T20:22:19.184789Z' }
const done = {
  done: true,
  done_reason: 'stop',
  total_duration: 4_883_583_458,
  load_duration: 1_334_875,
  prompt_eval_count: 26,
  prompt_eval_duration: 342_546_000,
  eval_count: 282,
  eval_duration: 4_535_599_000,
}
const line = (message: Json): Json => ({
  ...head,
  message: { role: 'assistant', content: '', ...message },
  done: false,
})
const last = (more: Json = {}): Json => ({ ...head, message: { role: 'assistant', content: '' }, ...done, ...more })
const whole = (message: Json, more: Json = {}): Json => ({
  ...head,
  message: { role: 'assistant', content: '', ...message },
  ...done,
  ...more,
})
const call = (name: string, args: unknown, more: Json = {}): Json => ({ ...more, function: { name, arguments: args } })

const fixtures: AnswerFixture[] = [
  {
    name: 'text',
    whole: whole({ content: 'The sky… is blue.', images: null }),
    stream: [line({ content: 'The sky…' }), line({ content: ' is blue.' }), last()],
    request: { includeUsage: true },
  },
  {
    name: 'tool call',
    whole: whole({ tool_calls: [call('get_weather', { city: 'Tokyo' }, { id: 'call_1' })] }),
    stream: [line({ tool_calls: [call('get_weather', { city: 'Tokyo' }, { id: 'call_1' })] }), last()],
  },
  {
    name: 'two tool calls without ids',
    whole: whole({ tool_calls: [call('get_weather', { city: 'Tokyo' }), call('get_time', {})] }),
    stream: [
      line({ tool_calls: [call('get_weather', { city: 'Tokyo' })] }),
      line({ tool_calls: [call('get_time', {})] }),
      last(),
    ],
  },
  { name: 'arguments as text', whole: whole({ tool_calls: [call('get_time', '{"zone":"CET"}')] }) },
  {
    name: 'text beside a call',
    whole: whole({ content: 'Let me look.', tool_calls: [call('get_time', {}, { id: 'a' })] }),
    stream: [
      line({ content: 'Let me' }),
      line({ content: ' look.' }),
      line({ tool_calls: [call('get_time', {}, { id: 'a' })] }),
      last(),
    ],
  },
  {
    name: 'thinking',
    whole: whole({ thinking: 'Is it? Yes.', content: 'Yes.' }),
    stream: [line({ thinking: 'Is it?' }), line({ thinking: ' Yes.' }), line({ content: 'Yes.' }), last()],
  },
  {
    name: 'length',
    whole: whole({ content: 'Once' }, { done_reason: 'length' }),
    stream: [line({ content: 'Once' }), last({ done_reason: 'length' })],
  },
  { name: 'the model was loaded', whole: whole({}, { done_reason: 'load' }) },
  {
    name: 'the prompt was cached',
    whole: whole({ content: 'Hi.' }, { prompt_eval_count: undefined }),
    stream: [line({ content: 'Hi.' }), last({ prompt_eval_count: undefined })],
  },
  {
    name: 'logprobs',
    whole: whole({ content: 'Hi' }, { logprobs: [{ token: 'Hi', logprob: -0.2, bytes: [72, 105], top_logprobs: [] }] }),
    stream: [
      { ...line({ content: 'Hi' }), logprobs: [{ token: 'Hi', logprob: -0.2, bytes: [72, 105], top_logprobs: [] }] },
      last(),
    ],
    request: { logprobs: true },
  },
  {
    name: 'JSON',
    whole: whole({ content: '{"age": 22,\n"available": true}' }),
    stream: [line({ content: '{"age": 22,\n' }), line({ content: '"available": true}' }), last()],
  },
  { name: 'the last line without its end', stream: [line({ content: 'Hi.' }), JSON.stringify(last())] },
  { name: 'CRLF and empty lines', stream: [JSON.stringify(line({ content: 'Hi.' })), '\r\n\r\n', last()] },
  {
    name: 'error in the stream',
    stream: [line({ content: 'On' }), { error: 'an error was encountered while running the model' }],
  },
  { name: 'error in place of an answer', whole: { error: 'model "x" not found' } },
  { name: 'cut before its end', stream: [line({ content: 'On' })] },
  { name: 'not JSON', stream: [line({ content: 'On' }), 'oops\n'] },
]

export const ollamaFamily: AnswerFamily = { name: 'ollama', providers: ['ollama'], bytes: lineBytes, fixtures }
