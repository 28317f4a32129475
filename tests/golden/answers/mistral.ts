/** Mistral's chat completions (docs.mistral.ai: API, "Reasoning", "Citations", "Function calling"). */
import { dataBytes } from './family.ts'
import type { AnswerFamily, AnswerFixture, Json } from './family.ts'

const head = { id: 'cmpl-e5cc70bb28c444948073e77776eb30ef', created: 1_702_256_327, model: 'mistral-large-latest' }
const usage = { prompt_tokens: 16, completion_tokens: 34, total_tokens: 50 }
const whole = (message: Json, reason = 'stop', more: Json = {}): Json => ({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', tool_calls: null, ...message }, finish_reason: reason }],
  usage,
  ...more,
})
const chunk = (delta: Json, reason: string | null = null): Json => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: reason }],
  ...(reason && { usage }),
})
const first = chunk({ role: 'assistant', content: '' })
const call = (id: string, name: string, args: unknown, index = 0): Json => ({
  id,
  function: { name, arguments: args },
  index,
})
const thinking = (text: string): Json => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
const reference = { type: 'reference', reference_ids: [0, 2] }

const fixtures: AnswerFixture[] = [
  {
    name: 'text',
    whole: whole({ content: 'Rayleigh scattering – c’est ça.' }),
    stream: [
      first,
      chunk({ content: 'Rayleigh' }),
      chunk({ content: ' scattering – c’est ça.' }),
      chunk({ content: '' }, 'stop'),
    ],
    request: { includeUsage: true },
  },
  {
    name: 'tool call',
    whole: whole({ content: '', tool_calls: [call('D681PevKs', 'get_weather', '{"city": "Paris"}')] }, 'tool_calls'),
    stream: [
      first,
      chunk({ content: '', tool_calls: [call('D681PevKs', 'get_weather', '{"city": "Paris"}')] }, 'tool_calls'),
    ],
  },
  {
    name: 'two tool calls',
    whole: whole(
      { content: '', tool_calls: [call('D681PevKs', 'a', '{}'), call('bXfOEaGH5', 'b', '{"x": 1}', 1)] },
      'tool_calls',
    ),
    stream: [
      first,
      chunk({ tool_calls: [call('D681PevKs', 'a', '{}'), call('bXfOEaGH5', 'b', '{"x": 1}', 1)] }, 'tool_calls'),
    ],
  },
  {
    name: 'arguments as an object',
    whole: whole({ content: '', tool_calls: [call('D681PevKs', 'a', { x: 1 })] }, 'tool_calls'),
  },
  {
    name: 'thinking',
    whole: whole({ content: [thinking('Who is it? John.'), { type: 'text', text: 'John.' }] }),
    stream: [
      first,
      chunk({ content: [thinking('Who is')] }),
      chunk({ content: [thinking(' it? John.')] }),
      chunk({ content: [{ type: 'text', text: 'John' }] }),
      chunk({ content: '.' }, 'stop'),
    ],
  },
  {
    name: 'thinking before a call',
    whole: whole({ content: [thinking('Look.')], tool_calls: [call('D681PevKs', 'a', '{}')] }, 'tool_calls'),
    stream: [
      first,
      chunk({ content: [thinking('Look.')] }),
      chunk({ tool_calls: [call('D681PevKs', 'a', '{}')] }, 'tool_calls'),
    ],
  },
  {
    name: 'references',
    whole: whole({
      content: [{ type: 'text', text: 'The prize of 2024' }, reference, { type: 'text', text: ' went there.' }],
    }),
    stream: [
      first,
      chunk({ content: 'The prize of 2024' }),
      chunk({ content: [reference] }),
      chunk({ content: ' went there.' }, 'stop'),
    ],
  },
  {
    name: 'length',
    whole: whole({ content: 'Once' }, 'length'),
    stream: [first, chunk({ content: 'Once' }, 'length')],
  },
  { name: 'length of the model', whole: whole({ content: 'Once' }, 'model_length') },
  {
    name: 'error as a finish reason',
    whole: whole({ content: 'On' }, 'error'),
    stream: [first, chunk({ content: 'On' }), chunk({ content: '' }, 'error')],
  },
  {
    name: 'two choices',
    whole: {
      ...whole({}),
      choices: [0, 1].map(index => ({
        index,
        message: { role: 'assistant', content: `No. ${index}` },
        finish_reason: 'stop',
      })),
    },
    request: { choices: 2 },
  },
  {
    name: 'sound counted',
    whole: whole({ content: 'Hi.' }, 'stop', { usage: { ...usage, prompt_audio_seconds: 3 } }),
    request: { includeUsage: true },
  },
  {
    name: 'fill in the middle',
    whole: whole({ content: 'return a + b' }, 'stop', { object: 'chat.completion', model: 'codestral-2405' }),
    stream: [chunk({ role: 'assistant', content: 'return' }), chunk({ content: ' a + b' }, 'stop')],
  },
  {
    name: 'error in the stream',
    stream: [first, { object: 'error', message: 'Service unavailable', type: 'internal_server_error', code: '1000' }],
  },
  {
    name: 'error with the status 200',
    whole: { object: 'error', message: 'Service unavailable', type: 'internal_server_error', code: '1000' },
  },
  { name: 'cut before its end', stream: [first, chunk({ content: 'On' })] },
  { name: 'not JSON', stream: [first, 'data: {"id"\n\n'] },
]

export const mistralFamily: AnswerFamily = {
  name: 'mistral',
  providers: ['mistral'],
  bytes: dataBytes('\n', 'data: [DONE]\n\n'),
  fixtures,
}
