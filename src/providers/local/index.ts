/**
 * The built-in provider: no key, no network, no model. It answers in OpenAI's wire format, so that a first call works
 * without any configuration. The names of its models say that they are simulated.
 */
import { chatFields } from '../../core/hub/chat-fields.ts'
import type { ModelMode } from '../../core/deployment.ts'
import { fieldRules } from '../../core/dialects/field-rules.ts'
import type { FieldRules } from '../../core/dialects/field-rules.ts'
import type { InProcessAnswer, InProcessFile, Provider } from '../../core/provider.ts'
import type { CallHead } from '../../core/transport.ts'
import type { Json } from '../../lib/json/json-values.ts'
import { answerChat, splitTokens } from './chat.ts'
import type { LocalAnswer, LocalChoice } from './chat.ts'
import { embeddingsAdapter } from '../openai-compatible/embeddings.ts'
import { chatAdapter } from '../openai-compatible/index.ts'
import { answerCompletion } from './completions.ts'
import { answerEmbeddings } from './embeddings.ts'
import { answerImages } from './images.ts'
import { answerModerations } from './moderations.ts'
import { LocalRefusal, refusalAnswer } from './refusal.ts'
import { answerRerank, rerankBody, rerankResult } from './rerank.ts'
import { answerSpeech } from './speech.ts'
import { answerTranscription } from './transcriptions.ts'
import { createdS, events, includesUsage, json } from './wire.ts'

/** Models that are there without any configuration. */
export const localModels: readonly { modelName: string; mode: ModelMode }[] = [
  { modelName: 'local/simulated-chat', mode: 'chat' },
  { modelName: 'local/simulated-embedding', mode: 'embedding' },
  { modelName: 'local/simulated-moderation', mode: 'moderation' },
  { modelName: 'local/simulated-image', mode: 'image_generation' },
  { modelName: 'local/simulated-speech', mode: 'audio_speech' },
  { modelName: 'local/simulated-transcription', mode: 'audio_transcription' },
  { modelName: 'local/simulated-rerank', mode: 'rerank' },
]

const fingerprint = 'simulated'

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
      logprobs:
        body.logprobs === true ? { content: splitTokens(choice.text).map(logprobOf(body)), refusal: null } : null,
      finish_reason: choice.finish,
    })),
    usage: answer.usage,
  })
}

function message(choice: LocalChoice): Json {
  const head = {
    role: 'assistant',
    content: choice.calls.length > 0 ? null : choice.text,
    refusal: null,
    annotations: [],
  }
  if (choice.finish === 'function_call') return { ...head, function_call: nameAndArguments(choice.calls[0]!) }
  return { ...head, ...(choice.calls.length > 0 && { tool_calls: choice.calls.map(functionCall) }) }
}

type LocalCall = LocalChoice['calls'][number]

const nameAndArguments = (call: LocalCall): Json => ({ name: call.name, arguments: call.arguments })

const functionCall = (call: LocalCall): Json => ({ id: call.id, type: 'function', function: nameAndArguments(call) })

/** All probabilities are 1, and no token has an alternative, so fewer than `top_logprobs` are listed. */
function logprobOf(body: Json): (token: string) => Json {
  const isListed = typeof body.top_logprobs === 'number' && body.top_logprobs > 0
  return token => {
    const one = { token, logprob: 0, bytes: [...Buffer.from(token)] }
    return { ...one, top_logprobs: isListed ? [one] : [] }
  }
}

function chatChunks(body: Json, answer: LocalAnswer, head: Json): Json[] {
  const logprob = logprobOf(body)
  const chunk = (index: number, delta: Json, finish: string | null, logprobs: Json | null = null): Json => ({
    ...head,
    choices: [{ index, delta, logprobs, finish_reason: finish }],
  })
  const chunks = answer.choices.flatMap((choice, index) => [
    chunk(index, { role: 'assistant', content: choice.calls.length > 0 ? null : '', refusal: null }, null),
    ...choice.calls.map((call, at) =>
      chunk(
        index,
        choice.finish === 'function_call'
          ? { function_call: nameAndArguments(call) }
          : { tool_calls: [{ index: at, ...functionCall(call) }] },
        null,
      ),
    ),
    ...splitTokens(choice.text).map(token =>
      chunk(
        index,
        { content: token },
        null,
        body.logprobs === true ? { content: [logprob(token)], refusal: null } : null,
      ),
    ),
    chunk(index, {}, choice.finish),
  ])
  if (includesUsage(body)) chunks.push({ ...head, choices: [], usage: answer.usage })
  return chunks
}

const headOf = (operation: string): CallHead => ({ url: `local:${operation}`, headers: {} })

const operations: Readonly<Record<string, (body: Json, files: readonly InProcessFile[]) => InProcessAnswer>> = {
  chat,
  completions: answerCompletion,
  embeddings: body => json(answerEmbeddings(body)),
  moderations(body) {
    // Chat models are asked for moderations where they are guard models, which this one is not.
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

/** Parameters of chat that have an effect here. */
const understood: ReadonlySet<string> = new Set([
  'messages',
  'model',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'response_format',
  'seed',
  'stop',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'logprobs',
  'top_logprobs',
])

/**
 * Json of OpenAI's operations that have no effect here and are therefore reported as dropped. The list applies to all
 * operations, so it holds no name that is ignored by one and used by another (`prompt`), or required (`voice`).
 */
const ignored = [
  ...chatFields.map(field => field.name).filter(name => !understood.has(name)),
  'moderation',
  'prompt_cache_options',
  'prompt_cache_retention',
  // Text completions.
  'suffix',
  'best_of',
  // Images.
  'background',
  'output_compression',
  'partial_images',
  'quality',
  'style',
  // Speech and transcriptions.
  'instructions',
  'language',
  'chunking_strategy',
  'include',
  'timestamp_granularities',
]
const rules: FieldRules = { fields: fieldRules(ignored) }

/**
 * `local/...`: answered within this process, deterministically. Refusals are status 400 in OpenAI's shape. `answer` may
 * throw on a body that no format has checked, such as the line of a batch.
 */
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
  // For clients of other dialects, whose calls are translated.
  chat: chatAdapter({ rules: () => rules }, () => headOf('chat')),
  embeddings: embeddingsAdapter(() => headOf('embeddings'), { rules }),
  rules: () => rules,
  rerank: {
    request: request => ({ head: headOf('rerank'), body: rerankBody(request), dropped: [] }),
    result: rerankResult,
  },
  answer(head, body, files = []) {
    try {
      return operations[head.url.slice('local:'.length)]!(body as Json, files)
    } catch (thrown) {
      if (thrown instanceof LocalRefusal) return refusalAnswer(thrown)
      throw thrown
    }
  },
  files: { head: (_target, path) => headOf(path.slice(1)) },
}
