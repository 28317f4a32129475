/** The fixed request and answer of every measurement: a small chat, as it is most of the time. */

export const model = 'bench-model'

/** 252 bytes. */
export const requestBody = JSON.stringify({
  model,
  messages: [
    { role: 'system', content: 'You are a helpful assistant that answers in one short sentence.' },
    { role: 'user', content: 'What is the capital of France, and which river runs through it?' },
  ],
  temperature: 0.2,
  max_tokens: 64,
})

/** The same call with a longer question: so many bytes in all. */
export function requestOf(bytes: number): string {
  const words = ' The weather in the north stays cold, and 12 ships wait in the harbour of 1848.'
  const missing = bytes - requestBody.length
  const text = words.repeat(Math.ceil(missing / words.length)).slice(0, missing)
  return requestBody.replace('through it?', `through it?${text}`)
}

/** 684 bytes or a little more. */
export const answerBody = JSON.stringify({
  id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
  object: 'chat.completion',
  created: 1741569952,
  model: 'gpt-4.1-2025-04-14',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'The capital of France is Paris, and the river that runs through it is the Seine.',
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 38,
    completion_tokens: 19,
    total_tokens: 57,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  },
  service_tier: 'default',
  system_fingerprint: 'fp_44709d6fcb',
})

const chunk = (delta: object, finish: string | null, obfuscation = 'p7Bq2mXw4Zk9') =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG',
    object: 'chat.completion.chunk',
    created: 1741570283,
    model: 'gpt-4.1-2025-04-14',
    service_tier: 'default',
    system_fingerprint: 'fp_44709d6fcb',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: null,
    obfuscation,
  })}\n\n`

/** About 300 bytes each. */
export const firstEvent = chunk({ role: 'assistant', content: '', refusal: null }, null)
/** Of other lengths, some with escapes, as the tokens of an answer are. */
export const middleEvents = [' Seine', ',', ' which', ' runs', '\n\n', ' "', 'über', ' through', ' it', '.'].map(
  (content, at) => chunk({ content }, null, 'p7Bq2mXw4Zk9Rt'.slice(at)),
)
export const lastEvents = `${chunk({}, 'stop')}data: ${JSON.stringify({
  id: 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG',
  object: 'chat.completion.chunk',
  created: 1741570283,
  model: 'gpt-4.1-2025-04-14',
  choices: [],
  usage: { prompt_tokens: 38, completion_tokens: 250, total_tokens: 288 },
})}\n\ndata: [DONE]\n\n`

/** The same answer and the same events from a vendor of another dialect, for the translate lane. */
export const foreignAnswerBody = JSON.stringify({
  id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  content: [{ type: 'text', text: 'The capital of France is Paris, and the river that runs through it is the Seine.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: {
    input_tokens: 38,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 19,
    service_tier: 'standard',
  },
})

const foreign = (data: { type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

export const foreignFirstEvents =
  foreign({
    type: 'message_start',
    message: {
      id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5-20250929',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 38, output_tokens: 1 },
    },
  } as { type: string }) +
  foreign({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as { type: string })
export const foreignMiddleEvent = foreign({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: ' Seine' },
} as { type: string })
export const foreignLastEvents =
  foreign({ type: 'content_block_stop', index: 0 } as { type: string }) +
  foreign({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 250 },
  } as { type: string }) +
  foreign({ type: 'message_stop' })

/** A chat request of about `bytes`, nearly all of it one inline image. */
export function largeBody(bytes: number): string {
  const image = `data:image/png;base64,${'iVBORw0KGgo'.repeat(Math.ceil(bytes / 11)).slice(0, bytes)}`
  return JSON.stringify({
    model,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: image } },
        ],
      },
    ],
  })
}
