/** One attempt at one deployment: which lane, what is sent, and how the answer is read. */
import type { Call, Operation } from '../core/call.ts'
import type { Deployment, Target } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { ChatFormat, Format, StreamRelay, UnaryFormat, UnaryOperations } from '../core/format.ts'
import type { CallHead, MakeHead, TranslatedCall, UnaryAdapter } from '../core/provider.ts'
import type { Usage } from '../core/usage.ts'
import { framingMediaTypes } from '../lib/frames.ts'
import type { Edit, JsonBody } from '../lib/json-body.ts'
import { translateAnswer, TranslatedRelay } from './translate.ts'

/** A whole answer, ready for the client. */
export interface Answer {
  readonly body: Uint8Array | string
  readonly usage: Usage | undefined
}

export interface Attempt {
  readonly head: CallHead
  readonly body: readonly Uint8Array[]
  /** What a stream of this upstream is announced as; one of them. */
  readonly streamTypes: readonly string[]
  /** Client fields that this upstream does not get. */
  readonly dropped: readonly string[]
  answer(bytes: Uint8Array): Answer
  relay(): StreamRelay
}

const developerRole = /"role"\s*:\s*"developer"/
/** Forward heads by target and maker: whole calls and streams apart. */
const heads = new WeakMap<Target, Map<MakeHead, [CallHead?, CallHead?]>>()

/** Plans the call of `deployment`. Throws GatewayError when it cannot serve this operation. */
export function planAttempt(call: Call, format: Format, deployment: Deployment): Attempt {
  checkMode(call, deployment)
  const body = call.body!
  const attempt = forwardAttempt(call, format, deployment, body) ?? translateAttempt(call, format, deployment, body)
  if (!attempt) {
    throw new GatewayError(
      'invalid-request',
      `the model '${call.model}' does not offer ${call.operation}; see GET /v1/models for those that do`,
      { param: 'model' },
    )
  }
  if (attempt.dropped.length > 0 && !deployment.dropParams) throw lossRefused(attempt.dropped, call.model)
  return attempt
}

/** What a model of each mode is called with, and where. */
const modes: Readonly<Record<Deployment['mode'], { operations: readonly Operation[]; path: string }>> = {
  chat: { operations: ['chat', 'completions', 'moderations', 'count-tokens'], path: '/v1/chat/completions' },
  completion: { operations: ['chat', 'completions', 'count-tokens'], path: '/v1/completions' },
  embedding: { operations: ['embeddings', 'count-tokens'], path: '/v1/embeddings' },
  moderation: { operations: ['moderations'], path: '/v1/moderations' },
  rerank: { operations: ['rerank'], path: '/v1/rerank' },
  image_generation: { operations: ['images', 'chat'], path: '/v1/images/generations' },
  audio_speech: { operations: ['speech', 'chat'], path: '/v1/audio/speech' },
  audio_transcription: { operations: ['transcriptions', 'chat'], path: '/v1/audio/transcriptions' },
}

/** Only a mode that somebody declared can contradict a call. */
function checkMode(call: Call, deployment: Deployment): void {
  if (deployment.info.mode === undefined) return
  const { operations, path } = modes[deployment.mode]
  if (operations.includes(call.operation)) return
  throw new GatewayError(
    'invalid-request',
    `the model '${call.model}' is a ${deployment.mode.replace('_', ' ')} model; use ${path}, or another model`,
    { param: 'model' },
  )
}

function lossRefused(dropped: readonly string[], model: string): GatewayError {
  return new GatewayError(
    'unprocessable',
    `the model '${model}' does not take ${dropped.join(', ')}; leave them out, or allow drop_params`,
    {
      param: dropped[0],
      problems: dropped.map(name => ({
        loc: ['body', name],
        msg: `not supported by the model '${model}'`,
        type: 'unsupported',
      })),
    },
  )
}

function forwardAttempt(call: Call, format: Format, deployment: Deployment, body: JsonBody): Attempt | undefined {
  const { target } = deployment
  const { provider } = target
  const makeHead = provider.speaks[format.dialect]
  if (!makeHead) return undefined
  if (provider.quirks?.noDeveloperRole && provider.chat && mentionsDeveloper(body)) return undefined
  const { edits, dropped } = format.forward.edits(body, provider.quirks ?? {})
  const publicModel = call.model
  return {
    head: withClientHeaders(cachedHead(target, makeHead, call.stream), call.forwardedHeaders),
    streamTypes: framingMediaTypes.sse,
    body: body.edited(format.forward.modelInPath ? edits : withModel(edits, target.model, body)),
    dropped,
    answer: bytes => format.forward.answer(bytes, publicModel),
    relay: () => format.forward.relay(publicModel, body),
  }
}

function withModel(edits: Edit[], model: string, body: JsonBody): Edit[] {
  if (!body.has('model') || body.get('model') !== model) edits.push({ set: 'model', json: JSON.stringify(model) })
  return edits
}

/** Only small bodies are searched; in a large one the upstream judges the role itself. */
function mentionsDeveloper(body: JsonBody): boolean {
  return body.sizeOf('messages') <= 256 * 1024 && developerRole.test(body.rawText('messages') ?? '')
}

function cachedHead(target: Target, make: MakeHead, stream: boolean): CallHead {
  let ofTarget = heads.get(target)
  if (!ofTarget) heads.set(target, (ofTarget = new Map()))
  let pair = ofTarget.get(make)
  if (!pair) ofTarget.set(make, (pair = []))
  return (pair[stream ? 1 : 0] ??= make(target, stream))
}

/** The client's version and betas win over the deployment's: only the client knows what its bytes need. */
function withClientHeaders(head: CallHead, client: Call['forwardedHeaders']): CallHead {
  return client === undefined ? head : { url: head.url, headers: { ...head.headers, ...client } }
}

function translateAttempt(call: Call, format: Format, deployment: Deployment, body: JsonBody): Attempt | undefined {
  if ('writer' in format) return chatAttempt(call, format, deployment, body)
  const { provider } = deployment.target
  switch (format.operation) {
    case 'embeddings':
      return unaryAttempt(call, format, deployment, provider.embeddings)
    case 'rerank':
      return unaryAttempt(call, format, deployment, provider.rerank)
    case 'moderations':
      return unaryAttempt(call, format, deployment, provider.moderations)
    case 'images':
      return unaryAttempt(call, format, deployment, provider.images)
    case 'count-tokens':
      return unaryAttempt(call, format, deployment, provider.countTokens)
  }
}

function chatAttempt(call: Call, format: ChatFormat, deployment: Deployment, body: JsonBody): Attempt | undefined {
  const adapter = deployment.target.provider.chat
  if (!adapter) return undefined
  const request = format.decode(body)
  request.model = call.model
  request.stream = call.stream
  const stream = { adapter, format, request, publicModel: call.model }
  return {
    ...sent(adapter.request(request, deployment.target)),
    streamTypes: framingMediaTypes[adapter.framing ?? 'sse'],
    answer(bytes) {
      const { body: text, state } = translateAnswer(stream, bytes)
      return { body: text, usage: state.usage }
    },
    relay: () => new TranslatedRelay(stream),
  }
}

function unaryAttempt<O extends keyof UnaryOperations>(
  call: Call,
  format: UnaryFormat<O>,
  deployment: Deployment,
  adapter: UnaryAdapter<UnaryOperations[O]['request'], UnaryOperations[O]['result']> | undefined,
): Attempt | undefined {
  if (!adapter) return undefined
  const request = format.decode(call.body!)
  request.model = call.model
  return {
    ...sent(adapter.request(request, deployment.target)),
    streamTypes: [],
    answer(bytes) {
      const result = readResult(() => adapter.result(JSON.parse(new TextDecoder().decode(bytes)), request))
      return { body: JSON.stringify(format.encode(result, call.model, request)), usage: result.usage }
    },
    relay() {
      throw new GatewayError('internal', `${format.operation} is never streamed`)
    },
  }
}

/** What an adapter cannot read is the upstream's fault, never the gateway's. */
function readResult<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError('upstream-broken', "the upstream's answer does not follow its protocol", { cause })
  }
}

function sent(translated: TranslatedCall): Pick<Attempt, 'head' | 'body' | 'dropped'> {
  return {
    head: translated.head,
    body: [Buffer.from(JSON.stringify(translated.body), 'utf8')],
    dropped: translated.dropped,
  }
}
