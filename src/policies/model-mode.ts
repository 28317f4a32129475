/** A model can be called only with the operations of its mode. */
import type { Call, CallInAdmission } from '../core/call.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError, unprocessable } from '../core/errors.ts'
import type { Operation } from '../core/hub/operation.ts'
import type { Policy } from '../core/policy.ts'
import { isObject } from '../lib/json/json-values.ts'

/** The operations of each mode, and its usual path. */
const modes: Readonly<Record<Deployment['mode'], { what: string; operations: readonly Operation[]; path: string }>> = {
  chat: {
    what: 'a chat model',
    operations: ['chat', 'completions', 'moderations', 'count-tokens'],
    path: '/v1/chat/completions',
  },
  completion: {
    what: 'a text completion model',
    operations: ['chat', 'completions', 'count-tokens'],
    path: '/v1/completions',
  },
  embedding: { what: 'an embedding model', operations: ['embeddings', 'count-tokens'], path: '/v1/embeddings' },
  moderation: { what: 'a moderation model', operations: ['moderations'], path: '/v1/moderations' },
  rerank: { what: 'a reranking model', operations: ['rerank'], path: '/v1/rerank' },
  image_generation: {
    what: 'an image generation model',
    operations: ['images', 'chat'],
    path: '/v1/images/generations',
  },
  audio_speech: { what: 'a speech model', operations: ['speech', 'chat'], path: '/v1/audio/speech' },
  audio_transcription: {
    what: 'an audio transcription model',
    operations: ['transcriptions', 'chat'],
    path: '/v1/audio/transcriptions',
  },
}

/** Keeps the candidates that offer the call's operation. Throws `invalid-request` when there is none. */
export function modelMode(): Policy {
  return {
    name: 'model-mode',
    stage: 'body',
    admit(call) {
      checkThinkingMode(call)
      for (const one of call.candidates) if (!offers(one, call)) return keepFitting(call)
    },
  }
}

function keepFitting(call: CallInAdmission): void {
  const { candidates } = call
  const fitting = candidates.filter(one => offers(one, call))
  if (fitting.length === 0) throw wrongMode(call, candidates[0]!)
  call.candidates = fitting
}

/** Templates of models that think in tags know two words; another one would silently mean the default. */
function checkThinkingMode({ body, candidates }: Call): void {
  if (!body?.has('chat_template_kwargs')) return
  const template = body.get('chat_template_kwargs')
  const mode = isObject(template) ? template.thinking_mode : undefined
  if (mode == null || mode === 'on' || mode === 'off') return
  if (candidates.every(one => one.profile.thinking === 'separate')) return
  throw unprocessable([
    {
      loc: ['body', 'chat_template_kwargs', 'thinking_mode'],
      msg: `must be "on" or "off"; got ${JSON.stringify(mode).slice(0, 60)}`,
      type: 'unknown_value',
    },
  ])
}

/** true = the deployment can serve the call's operation. Only a declared mode excludes it. */
export function offers({ info, mode }: Deployment, { operation }: Pick<Call, 'operation'>): boolean {
  return info.mode === undefined || modes[mode].operations.includes(operation)
}

function wrongMode({ model }: Call, { mode }: Deployment): GatewayError {
  const { what, path } = modes[mode]
  return new GatewayError('invalid-request', `the model '${model}' is ${what}; use ${path}, or another model`, {
    param: 'model',
  })
}
