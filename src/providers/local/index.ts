/**
 * The provider that is always there: no key, no network, no model. It answers in OpenAI's exact wire
 * format, so a fresh machine has a working first call, and says in its name that it is simulated.
 */
import type { ModelMode } from '../../core/deployment.ts'
import type { CallHead, InProcessAnswer, InProcessFile, Provider } from '../../core/provider.ts'
import { answerChat, splitTokens } from './chat.ts'
import type { LocalAnswer, LocalChoice } from './chat.ts'
import { generalFault } from '../fault.ts'
import { embeddingsAdapter } from '../openai-compatible/embeddings.ts'
import { chatAdapter } from '../openai-compatible/index.ts'
import { answerEmbeddings } from './embeddings.ts'
import { answerImages } from './images.ts'
import { answerModerations } from './moderations.ts'
import { LocalRefusal, refused } from './refusal.ts'
import { answerRerank, rerankBody, rerankResult } from './rerank.ts'
import { answerSpeech } from './speech.ts'
import { answerTranscription } from './transcriptions.ts'

type Json = Record<string, unknown>

/** Models that need no configuration. */
export const localModels: readonly { modelName: string; mode: ModelMode }[] = [
  { modelName: 'local/simulated-chat', mode: 'chat' },
  { modelName: 'local/simulated-embedding', mode: 'embedding' },
  { modelName: 'local/simulated-moderation', mode: 'moderation' },
  { modelName: 'local/simulated-image', mode: 'image_generation' },
  { modelName: 'local/simulated-speech', mode: 'audio_speech' },
  { modelName: 'local/simulated-transcription', mode: 'audio_transcription' },
  { modelName: 'local/simulated-rerank', mode: 'rerank' },
]

/** Fixed: the same request gives the same bytes. */
const createdS = 1_700_000_000
const fingerprint = 'simulated'
/** Prompts times choices of one text completion. */
const completionsMax = 2048

const json = (body: unknown): InProcessAnswer => ({
  status: 200,
  contentType: 'application/json',
  pieces: [JSON.stringify(body)],
})

const events = (list: readonly unknown[]): InProcessAnswer => ({
  status: 200,
  contentType: 'text/event-stream',
  pieces: [...list.map(one => `data: ${JSON.stringify(one)}\n\n`), 'data: [DONE]\n\n'],
})

function chat(body: Json): InProcessAnswer {
  const answer = answerChat(body)
  const head = { id: answer.id, created: createdS, model: body.model, system_fingerprint: fingerprint }
  if (body.stream === true) return events(chatChunks(body, answer, { ...head, object: 'chat.completion.chunk' }))
  return json({
    ...head,
    object: 'chat.completion',
    choices: answer.choices.map((choice, index) => ({
      index,
      message: message(choice),
      logprobs: body.logprobs === true ? { content: splitTokens(choice.text).map(logprob), refusal: null } : null,
      finish_reason: choice.finish,
    })),
    usage: answer.usage,
  })
}

const message = (choice: LocalChoice): Json => ({
  role: 'assistant',
  content: choice.calls.length > 0 ? null : choice.text,
  refusal: null,
  annotations: [],
  ...(choice.calls.length > 0 && { tool_calls: choice.calls.map(functionCall) }),
})

const functionCall = (call: LocalChoice['calls'][number]): Json => ({
  id: call.id,
  type: 'function',
  function: { name: call.name, arguments: call.arguments },
})

const logprob = (token: string): Json => ({ token, logprob: 0, bytes: [...Buffer.from(token)], top_logprobs: [] })

function chatChunks(body: Json, answer: LocalAnswer, head: Json): Json[] {
  const chunk = (index: number, delta: Json, finish: string | null, logprobs: Json | null = null): Json => ({
    ...head,
    choices: [{ index, delta, logprobs, finish_reason: finish }],
  })
  const chunks = answer.choices.flatMap((choice, index) => [
    chunk(index, { role: 'assistant', content: choice.calls.length > 0 ? null : '', refusal: null }, null),
    ...choice.calls.map((call, at) => chunk(index, { tool_calls: [{ index: at, ...functionCall(call) }] }, null)),
    ...splitTokens(choice.text).map(token =>
      chunk(index, { content: token }, null, body.logprobs === true ? { content: [logprob(token)], refusal: null } : null),
    ),
    chunk(index, {}, choice.finish),
  ])
  if (includesUsage(body)) chunks.push({ ...head, choices: [], usage: answer.usage })
  return chunks
}

function includesUsage(body: Json): boolean {
  return (body.stream_options as { include_usage?: unknown } | undefined)?.include_usage === true
}

/** Text completions: the prompt is answered like a user's message. */
function completion(body: Json): InProcessAnswer {
  const prompts = Array.isArray(body.prompt) ? (typeof body.prompt[0] === 'number' ? [body.prompt] : body.prompt) : [body.prompt ?? '']
  if (prompts.length * Math.max(Number(body.n ?? 1), 1) > completionsMax)
    throw new LocalRefusal('prompt', `prompts times \`n\` may be at most ${completionsMax}; send fewer prompts at a time`)
  const answers = prompts.map(prompt =>
    answerChat({ ...body, messages: [{ role: 'user', content: Array.isArray(prompt) ? prompt.join(' ') : String(prompt) }] }),
  )
  const texts = answers.flatMap(answer => answer.choices)
  const head = { id: answers[0]!.id.replace('chatcmpl', 'cmpl'), object: 'text_completion', created: createdS, model: body.model }
  const choice = (index: number, text: string, finish: string | null): Json => ({ index, text, logprobs: null, finish_reason: finish })
  const sum = (field: keyof LocalAnswer['usage']) => answers.reduce((total, answer) => total + answer.usage[field], 0)
  const usage = {
    prompt_tokens: sum('prompt_tokens'),
    completion_tokens: sum('completion_tokens'),
    total_tokens: sum('total_tokens'),
  }
  if (body.stream !== true)
    return json({ ...head, choices: texts.map((one, index) => choice(index, one.text, one.finish)), usage })
  const chunks: Json[] = texts.flatMap((one, index) => [
    ...splitTokens(one.text).map(token => ({ ...head, choices: [choice(index, token, null)] })),
    { ...head, choices: [choice(index, '', one.finish)] },
  ])
  if (includesUsage(body)) chunks.push({ ...head, choices: [], usage })
  return events(chunks)
}

const headOf = (operation: string): CallHead => ({ url: `local:${operation}`, headers: {} })

const operations: Readonly<Record<string, (body: Json, files: readonly InProcessFile[]) => InProcessAnswer>> = {
  chat,
  completions: completion,
  embeddings: body => json(answerEmbeddings(body)),
  moderations(body) {
    // A chat model may be asked to judge when it is a guard; this one would be no better than a coin.
    if (body.model === 'simulated-chat')
      throw new LocalRefusal('model', 'the built-in chat model judges nothing; use local/simulated-moderation')
    return json(answerModerations(body))
  },
  images: body => json(answerImages(body, createdS)),
  speech: answerSpeech,
  transcriptions: (body, files) => answerTranscription('transcribe', body, files),
  translations: (body, files) => answerTranscription('translate', body, files),
  rerank: body => json(answerRerank(body as unknown as Parameters<typeof answerRerank>[0])),
}

export const local: Provider = {
  name: 'local',
  defaultBaseUrl: 'local:',
  apiKeyEnv: [],
  keyless: true,
  speaks: {
    'openai-chat': () => headOf('chat'),
    'openai-completions': () => headOf('completions'),
    'openai-embeddings': () => headOf('embeddings'),
    'openai-moderations': () => headOf('moderations'),
    'openai-images': () => headOf('images'),
    'openai-speech': () => headOf('speech'),
    'openai-transcriptions': () => headOf('transcriptions'),
    'openai-translations': () => headOf('translations'),
  },
  // For clients of other dialects: the same answers, through the hub.
  chat: chatAdapter({ apiKeyEnv: [] }, () => headOf('chat')),
  embeddings: embeddingsAdapter(() => headOf('embeddings'), {}),
  rerank: {
    request: request => ({ head: headOf('rerank'), body: rerankBody(request), dropped: [] }),
    result: rerankResult,
  },
  answer(head, body, files = []) {
    try {
      return operations[head.url.slice('local:'.length)]!(body as Json, files)
    } catch (thrown) {
      if (thrown instanceof LocalRefusal) return refused(thrown)
      throw thrown
    }
  },
  files: { head: (_target, path) => headOf(path.slice(1)) },
  fault: generalFault,
  chatParams: [
    'messages', 'model', 'max_tokens', 'max_completion_tokens', 'n', 'response_format', 'seed', 'stop', 'stream',
    'stream_options', 'tools', 'tool_choice', 'logprobs',
  ],
}

