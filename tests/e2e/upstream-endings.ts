/** Answers with a given word for their end and a given usage, as each vendor documents them, whole and as a stream. */

/** A way from a client's dialect to an upstream's. */
export interface EndingLane {
  readonly name: string
  /** The model's prefix in the configuration of the test. */
  readonly model: string
  readonly path: string
  readonly ask: (model: string, stream: boolean) => object
  readonly upstream: Upstream
}

/** The upstream's side: a failing word of its own, and its answers with 7 tokens of input and 5 of output. */
export interface Upstream {
  readonly word: string
  /** As the error of the answer says it. */
  readonly whole: (word: string) => object
  readonly stream: (word: string) => string
}

const data = (events: readonly unknown[]): string => events.map(one => `data: ${JSON.stringify(one)}\n\n`).join('')
const named = (events: readonly Readonly<Record<string, unknown>>[]): string =>
  events.map(one => `event: ${String(one.type)}\ndata: ${JSON.stringify(one)}\n\n`).join('')

const chatUsage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
const chatHead = { id: 'chatcmpl-1', created: 1, model: 'm' }
/** The usage is a chunk of its own, behind the finish. */
const openai: Upstream = {
  word: 'insufficient_system_resource',
  whole: word => ({
    ...chatHead,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Half an' }, finish_reason: word }],
    usage: chatUsage,
  }),
  stream: word => {
    const chunk = (delta: object, finish: string | null) => ({
      ...chatHead,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    return `${data([
      chunk({ role: 'assistant', content: 'Half an' }, null),
      chunk({}, word),
      { ...chatHead, object: 'chat.completion.chunk', choices: [], usage: chatUsage },
    ])}data: [DONE]\n\n`
  },
}

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }
const anthropic: Upstream = {
  word: 'ran_dry',
  whole: word => ({
    ...message,
    content: [{ type: 'text', text: 'Half an' }],
    stop_reason: word,
    stop_sequence: null,
    usage: { input_tokens: 7, output_tokens: 5 },
  }),
  stream: word =>
    named([
      {
        type: 'message_start',
        message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 7, output_tokens: 1 } },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half an' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: word, stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ]),
}

const counts = { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 }
const candidate = (word: string) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Half an' }] }, finishReason: word }],
  usageMetadata: counts,
  modelVersion: 'm',
  responseId: 'r1',
})
const gemini: Upstream = { word: 'IMAGE_OTHER', whole: candidate, stream: word => data([candidate(word)]) }

const billed = { billed_units: { input_tokens: 7, output_tokens: 5 } }
const cohere: Upstream = {
  word: 'USER_CANCEL',
  whole: word => ({
    id: 'c1',
    message: { role: 'assistant', content: [{ type: 'text', text: 'Half an' }] },
    finish_reason: word,
    usage: billed,
  }),
  stream: word =>
    named([
      { type: 'message-start', id: 'c1', delta: { message: { role: 'assistant' } } },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Half an' } } } },
      { type: 'message-end', delta: { finish_reason: word, usage: billed } },
    ]),
}

const messages = [{ role: 'user', content: 'hi' }]
const chat = (model: string, stream: boolean) => ({
  model,
  stream,
  messages,
  ...(stream && { stream_options: { include_usage: true } }),
})
const toMessages = (model: string, stream: boolean) => ({ model, stream, messages, max_tokens: 50 })
const toResponses = (model: string, stream: boolean) => ({ model, stream, input: 'hi' })

/** Both lanes of each dialect that has two. */
export const endingLanes: readonly EndingLane[] = [
  { name: 'chat, forwarded', model: 'openai', path: '/v1/chat/completions', ask: chat, upstream: openai },
  { name: 'Messages by chat', model: 'openai', path: '/v1/messages', ask: toMessages, upstream: openai },
  { name: 'Responses by chat', model: 'openai', path: '/v1/responses', ask: toResponses, upstream: openai },
  { name: 'Messages, forwarded', model: 'claude', path: '/v1/messages', ask: toMessages, upstream: anthropic },
  { name: 'chat by Messages', model: 'claude', path: '/v1/chat/completions', ask: chat, upstream: anthropic },
  {
    name: 'Gemini, forwarded',
    model: 'gemini',
    path: '/v1beta/models/{model}:{method}',
    ask: () => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
    upstream: gemini,
  },
  { name: 'chat by Gemini', model: 'gemini', path: '/v1/chat/completions', ask: chat, upstream: gemini },
  { name: 'chat by Cohere', model: 'command', path: '/v1/chat/completions', ask: chat, upstream: cohere },
]
