/** OpenAI's Responses (API reference, "The response object", "Streaming events") and those of open hosts. */
import { namedBytes } from './family.ts'
import type { AnswerFamily, AnswerFixture, Json } from './family.ts'

const head = {
  id: 'resp_67ccd2bed1ec8190b14f964abc054267',
  object: 'response',
  created_at: 1_741_476_542,
  model: 'gpt-5.6-sol-2026-07-01',
  error: null,
  incomplete_details: null,
}
const usage = {
  input_tokens: 36,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 87,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 123,
}
const token = (text: string, logprob: number): Json => ({
  token: text,
  logprob,
  bytes: [...Buffer.from(text)],
  top_logprobs: [{ token: text, logprob, bytes: [...Buffer.from(text)] }],
})

interface Item {
  readonly whole: Json
  readonly start: Json
  /** Without place and number. */
  readonly deltas: readonly Json[]
}

const text = (content: string, more: Json = {}): Json => ({
  type: 'output_text',
  text: content,
  annotations: [],
  logprobs: [],
  ...more,
})

function message(pieces: readonly string[], part: Json = text(pieces.join('')), deltas?: readonly Json[]): Item {
  const own = { id: 'msg_1', type: 'message', role: 'assistant' }
  return {
    whole: { ...own, status: 'completed', content: [part] },
    start: { ...own, status: 'in_progress', content: [] },
    deltas: [
      { type: 'response.content_part.added', content_index: 0, part: text('') },
      ...(deltas ??
        pieces.map(delta => ({ type: 'response.output_text.delta', content_index: 0, delta, logprobs: [] }))),
      { type: 'response.output_text.done', content_index: 0, text: pieces.join('') },
      { type: 'response.content_part.done', content_index: 0, part },
    ],
  }
}

function refusal(pieces: readonly string[]): Item {
  const whole = pieces.join('')
  const deltas = [
    ...pieces.map(delta => ({ type: 'response.refusal.delta', content_index: 0, delta })),
    { type: 'response.refusal.done', content_index: 0, refusal: whole },
  ]
  return message([], { type: 'refusal', refusal: whole }, deltas)
}

function call(id: string, name: string, pieces: readonly string[]): Item {
  const own = { id: `fc_${id}`, type: 'function_call', call_id: `call_${id}`, name }
  const whole = pieces.join('')
  return {
    whole: { ...own, status: 'completed', arguments: whole },
    start: { ...own, status: 'in_progress', arguments: '' },
    deltas: [
      ...pieces.map(delta => ({ type: 'response.function_call_arguments.delta', delta })),
      { type: 'response.function_call_arguments.done', name, arguments: whole },
    ],
  }
}

function custom(id: string, name: string, pieces: readonly string[]): Item {
  const own = { id: `ctc_${id}`, type: 'custom_tool_call', call_id: `call_${id}`, name }
  const whole = pieces.join('')
  return {
    whole: { ...own, input: whole },
    start: { ...own, input: '' },
    deltas: [
      ...pieces.map(delta => ({ type: 'response.custom_tool_call_input.delta', delta })),
      { type: 'response.custom_tool_call_input.done', input: whole },
    ],
  }
}

function reasoning(summaries: readonly (readonly string[])[], more: Json = {}): Item {
  const own = { id: 'rs_1', type: 'reasoning' }
  return {
    whole: { ...own, summary: summaries.map(pieces => ({ type: 'summary_text', text: pieces.join('') })), ...more },
    start: { ...own, summary: [], ...(more.encrypted_content !== undefined && { encrypted_content: 'gAAA' }) },
    deltas: summaries.flatMap((pieces, summary_index) => [
      {
        type: 'response.reasoning_summary_part.added',
        summary_index,
        part: { type: 'summary_text', text: '' },
      },
      ...pieces.map(delta => ({ type: 'response.reasoning_summary_text.delta', summary_index, delta })),
      { type: 'response.reasoning_summary_text.done', summary_index, text: pieces.join('') },
    ]),
  }
}

/** Thinking of open models, as it was. */
const openReasoning = (pieces: readonly string[]): Item => ({
  whole: {
    id: 'rs_1',
    type: 'reasoning',
    summary: [],
    content: [{ type: 'reasoning_text', text: pieces.join('') }],
  },
  start: { id: 'rs_1', type: 'reasoning', summary: [], content: [] },
  deltas: pieces.map(delta => ({ type: 'response.reasoning_text.delta', content_index: 0, delta })),
})

const silent = (whole: Json): Item => ({ whole, start: { ...whole, status: 'in_progress', result: null }, deltas: [] })

const whole = (items: readonly Item[], more: Json = {}): Json => ({
  ...head,
  status: 'completed',
  output: items.map(item => item.whole),
  usage,
  ...more,
})

function* events(items: readonly Item[], last: Json): Generator<Json> {
  const { id, object, created_at, model } = head
  yield { type: 'response.created', response: { id, object, created_at, model, status: 'in_progress', output: [] } }
  yield { type: 'response.in_progress', response: { id } }
  for (const [output_index, item] of items.entries()) {
    yield { type: 'response.output_item.added', output_index, item: item.start }
    for (const delta of item.deltas) yield { ...delta, item_id: item.whole.id, output_index }
    yield { type: 'response.output_item.done', output_index, item: item.whole }
  }
  yield { type: `response.${String(last.status)}`, response: last }
}

const stream = (items: readonly Item[], last: Json = whole(items)): Json[] =>
  [...events(items, last)].map((event, sequence_number) => ({ ...event, sequence_number }))

const both = (name: string, items: readonly Item[], more: Json = {}, request?: AnswerFixture['request']) => ({
  name,
  whole: whole(items, more),
  stream: stream(items, whole(items, more)),
  ...(request && { request }),
})

const note = { type: 'url_citation', start_index: 0, end_index: 5, url: 'https://news.example/a', title: 'News' }
const weather = call('1', 'get_weather', ['{"city"', ':"Paris"}'])

const fixtures: AnswerFixture[] = [
  both('text', [message(['Hello!', ' How can', ' I help?'])], {}, { includeUsage: true }),
  both('unicode', [message(['Grü', 'ße 世', '界 👩‍👩‍👧 ', '\n"\\"'])]),
  both('tool call', [weather]),
  both('parallel tool calls', [message(['Looking.']), weather, call('2', 'get_time', ['{}'])]),
  both('tool call without arguments', [call('1', 'get_time', [''])]),
  both('call of a tool that takes text', [custom('1', 'apply_patch', ['*** Begin\n"q', 'uoted" \\ 😀', '\n*** End'])]),
  both('call of a tool that takes text, without any', [custom('1', 'apply_patch', [])]),
  both('encrypted reasoning before a call', [reasoning([], { encrypted_content: 'gAAAAABo_x-Y=' }), weather]),
  both('summarised reasoning', [reasoning([['First ', 'this.'], ['Then that.']]), message(['Yes.'])]),
  both('reasoning summarised and encrypted', [
    reasoning([['Think.']], { encrypted_content: 'gAAAAABo_x-Y=' }),
    message(['Yes.']),
  ]),
  both('reasoning of an open model', [openReasoning(['Let me', ' see.']), message(['Yes.'])]),
  both('two messages', [
    message(['I shall look.']),
    silent({ id: 'ws_1', type: 'web_search_call' }),
    message(['Rain.']),
  ]),
  both('refusal', [refusal(["I'm sorry, ", 'I cannot assist with that.'])]),
  both('length', [message(['Once', ' upon'])], {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  }),
  both('length while it reasoned', [reasoning([])], {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  }),
  both('content filter', [message(['Once'])], {
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
  }),
  both(
    'logprobs',
    [
      message(
        ['Hi', '!'],
        text('Hi!', { logprobs: [token('Hi', -0.31), token('!', -0.02)] }),
        [['Hi', -0.31] as const, ['!', -0.02] as const].map(([delta, logprob]) => ({
          type: 'response.output_text.delta',
          content_index: 0,
          delta,
          logprobs: [token(delta, logprob)],
        })),
      ),
    ],
    {},
    { logprobs: true },
  ),
  both('citations', [
    message(['Today: rain.'], text('Today: rain.', { annotations: [note] }), [
      { type: 'response.output_text.delta', content_index: 0, delta: 'Today: rain.' },
      { type: 'response.output_text.annotation.added', content_index: 0, annotation_index: 0, annotation: note },
    ]),
  ]),
  both('picture', [
    silent({
      id: 'ig_1',
      type: 'image_generation_call',
      status: 'completed',
      result: 'iVBORw0KGgo=',
      output_format: 'png',
    }),
  ]),
  both('usage with cache', [message(['Hi.'])], {
    usage: {
      input_tokens: 2006,
      input_tokens_details: { cached_tokens: 1920, cache_write_tokens: 80 },
      output_tokens: 300,
      output_tokens_details: { reasoning_tokens: 64 },
      total_tokens: 2306,
    },
  }),
  both('usage that cannot be believed', [message(['Hi.'])], { usage: { input_tokens: -1, output_tokens: 1.5 } }),
  both('failed', [message(['Once'])], {
    status: 'failed',
    error: { code: 'server_error', message: 'The model produced invalid content.' },
  }),
  both('failed by a limit', [], {
    status: 'failed',
    error: { code: 'rate_limit_exceeded', message: 'Rate limit reached for gpt-5.6.' },
  }),
  { name: 'still running', whole: whole([], { status: 'in_progress', usage: null }) },
  { name: 'not a response', whole: { choices: [] } },
  { name: 'error with the status 200', whole: { error: { message: 'Overloaded', code: 'overloaded' } } },
  {
    name: 'error in the stream',
    stream: [
      ...stream([message(['Once'])]).slice(0, 5),
      { type: 'error', code: 'server_error', message: 'The server had an error', param: null, sequence_number: 5 },
    ],
  },
  {
    name: 'error as in a body',
    stream: [...stream([message(['Once'])]).slice(0, 5), 'data: {"error":{"message":"Upstream gone"}}\n\n'],
  },
  { name: 'cut before its end', stream: stream([message(['Once'])]).slice(0, 6) },
  { name: 'not JSON', stream: [...stream([message(['Once'])]).slice(0, 5), 'data: <html>\n\n'] },
  {
    name: 'finished items without deltas, and the last frame of chat',
    whole: whole([reasoning([['Think.']]), message(['Hi.']), weather]),
    stream: [
      ...stream([reasoning([['Think.']]), message(['Hi.']), weather]).filter(
        ({ type }) => !/delta|part|arguments/.test(String(type)),
      ),
      'data: [DONE]\n\n',
    ],
  },
  {
    name: 'events without names',
    stream: stream([message(['Hi.'])]).map(event => `data: ${JSON.stringify(event)}\n\n`),
  },
]

export const responsesFamily: AnswerFamily = {
  name: 'responses',
  providers: ['openai-responses', 'azure-responses', 'hosted_vllm-responses', 'perplexity-responses'],
  bytes: namedBytes,
  fixtures,
}
