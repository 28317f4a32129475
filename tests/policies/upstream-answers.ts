/** One answer as the upstreams of each dialect send it, whole or as a stream that is split where the test says. */

/** What the model says: thinking, text, one tool call; or a refusal alone, where the dialect has one. */
export interface ModelAnswer {
  readonly reasoning: string
  readonly text: string
  /** Of the tool `look_up`; a text of JSON. */
  readonly args: string
  readonly refusal?: string
}

/** The pieces of each text of a stream. */
export type Split = (text: string) => string[]

interface RawAnswer {
  readonly headers: Record<string, string>
  readonly body: string
}

/** Tokens that every upstream reports. */
export const reported = { input: 7, output: 9 } as const

const json = (body: object): RawAnswer => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const events = (frames: readonly string[]): RawAnswer => ({
  headers: { 'content-type': 'text/event-stream' },
  body: frames.map(frame => `${frame}\n\n`).join(''),
})

const openaiUsage = { prompt_tokens: reported.input, completion_tokens: reported.output, total_tokens: 16 }

function openaiWhole({ reasoning, text, args, refusal }: ModelAnswer): RawAnswer {
  const call = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: args } }
  const said = refusal
    ? { content: null, refusal }
    : { content: text, reasoning_content: reasoning, ...(args !== '' && { tool_calls: [call] }) }
  const finish_reason = refusal || args === '' ? 'stop' : 'tool_calls'
  return json({
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'up',
    system_fingerprint: null,
    choices: [{ index: 0, message: { role: 'assistant', ...said }, finish_reason }],
    usage: openaiUsage,
    x_unknown: 'kept',
  })
}

function openaiStream({ reasoning, text, args, refusal }: ModelAnswer, split: Split): RawAnswer {
  const chunk = (more: object): string =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'up', x_unknown: 'kept', ...more })}`
  const delta = (fields: object, finish_reason: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: fields, finish_reason }] })
  const frames = [delta({ role: 'assistant', content: '' })]
  if (refusal) frames.push(...split(refusal).map(piece => delta({ refusal: piece })))
  else {
    frames.push(...split(reasoning).map(piece => delta({ reasoning_content: piece })))
    frames.push(...split(text).map(piece => delta({ content: piece })))
    const calls = args === '' ? [] : split(args)
    for (const [at, piece] of calls.entries()) {
      const begin = at === 0 ? { id: 'call_1', type: 'function' } : {}
      frames.push(
        delta({
          tool_calls: [{ index: 0, ...begin, function: { ...(at === 0 && { name: 'look_up' }), arguments: piece } }],
        }),
      )
    }
  }
  frames.push(delta({}, refusal || args === '' ? 'stop' : 'tool_calls'))
  frames.push(chunk({ choices: [], usage: openaiUsage }), 'data: [DONE]')
  return events(frames)
}

const claudeUsage = { input_tokens: reported.input, output_tokens: reported.output }

function claudeWhole({ reasoning, text, args }: ModelAnswer): RawAnswer {
  return json({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [
      { type: 'thinking', thinking: reasoning, signature: 'c2ln' },
      { type: 'text', text },
      { type: 'tool_use', id: 'toolu_1', name: 'look_up', input: JSON.parse(args) },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: claudeUsage,
  })
}

function claudeStream({ reasoning, text, args }: ModelAnswer, split: Split): RawAnswer {
  const frames: string[] = []
  const send = (event: { type: string; [name: string]: unknown }): void =>
    void frames.push(`event: ${event.type}\ndata: ${JSON.stringify(event)}`)
  const block = (index: number, content_block: object, deltas: object[]): void => {
    send({ type: 'content_block_start', index, content_block })
    for (const delta of deltas) send({ type: 'content_block_delta', index, delta })
    send({ type: 'content_block_stop', index })
  }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'up', content: [], stop_reason: null }
  send({
    type: 'message_start',
    message: { ...message, stop_sequence: null, usage: { ...claudeUsage, output_tokens: 1 } },
  })
  block(0, { type: 'thinking', thinking: '', signature: '' }, [
    ...split(reasoning).map(piece => ({ type: 'thinking_delta', thinking: piece })),
    { type: 'signature_delta', signature: 'c2ln' },
  ])
  block(
    1,
    { type: 'text', text: '' },
    split(text).map(piece => ({ type: 'text_delta', text: piece })),
  )
  block(
    2,
    { type: 'tool_use', id: 'toolu_1', name: 'look_up', input: {} },
    split(args).map(piece => ({ type: 'input_json_delta', partial_json: piece })),
  )
  send({ type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: claudeUsage })
  send({ type: 'message_stop' })
  return events(frames)
}

const geminiParts = (answer: ModelAnswer, split: Split): object[] => [
  ...split(answer.reasoning).map(text => ({ text, thought: true })),
  ...split(answer.text).map(text => ({ text })),
  { functionCall: { name: 'look_up', args: JSON.parse(answer.args) as object } },
]
const geminiUsage = { promptTokenCount: reported.input, candidatesTokenCount: reported.output, totalTokenCount: 16 }
const candidate = (parts: object[], finishReason?: string): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
  usageMetadata: geminiUsage,
  modelVersion: 'up',
  responseId: 'r',
})

const geminiWhole = (answer: ModelAnswer): RawAnswer =>
  json(
    candidate(
      geminiParts(answer, text => [text]),
      'STOP',
    ),
  )
const geminiStream = (answer: ModelAnswer, split: Split): RawAnswer => {
  const parts = geminiParts(answer, split)
  return events(
    parts.map((part, at) => `data: ${JSON.stringify(candidate([part], at === parts.length - 1 ? 'STOP' : undefined))}`),
  )
}

/** As a model writes that knows its tools from the prompt alone. */
const prompted = ({ reasoning, text, args }: ModelAnswer): ModelAnswer => ({
  reasoning,
  text: `${text}\n<tool_call>\n{"name": "look_up", "arguments": ${args}}\n</tool_call>`,
  args: '',
})

/** By the kind of upstream: models of `maskConfig` have the same names. */
export const upstreamAnswers: Readonly<
  Record<string, { whole(answer: ModelAnswer): RawAnswer; stream(answer: ModelAnswer, split: Split): RawAnswer }>
> = {
  openai: { whole: openaiWhole, stream: openaiStream },
  claude: { whole: claudeWhole, stream: claudeStream },
  gemini: { whole: geminiWhole, stream: geminiStream },
  prompted: {
    whole: answer => openaiWhole(prompted(answer)),
    stream: (answer, split) => openaiStream(prompted(answer), split),
  },
}
