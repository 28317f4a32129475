/** One attempt at one deployment: which lane, what is sent, and how the answer is read. */
import type { Call } from '../core/call.ts'
import type { Deployment, Target } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { ChatFormat, EmbeddingsFormat, Format, StreamRelay } from '../core/format.ts'
import type { CallHead, Dialect, TranslatedCall } from '../core/provider.ts'
import type { Usage } from '../core/usage.ts'
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
  /** Client fields that this upstream does not get. */
  readonly dropped: readonly string[]
  answer(bytes: Uint8Array): Answer
  relay(): StreamRelay
}

const developerRole = /"role"\s*:\s*"developer"/
const heads = new WeakMap<Target, Map<Dialect, CallHead>>()

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

function checkMode(call: Call, deployment: Deployment): void {
  if (deployment.info.mode === undefined) return
  const wantsEmbedding = call.operation === 'embeddings'
  if (wantsEmbedding === (deployment.mode === 'embedding')) return
  const path = wantsEmbedding ? '/v1/chat/completions' : '/v1/embeddings'
  throw new GatewayError(
    'invalid-request',
    `the model '${call.model}' is a ${deployment.mode} model; use ${path}, or another model`,
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
    head: cachedHead(target, format.dialect, makeHead),
    body: body.edited(withModel(edits, target.model, body)),
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

function cachedHead(target: Target, dialect: Dialect, make: (target: Target) => CallHead): CallHead {
  let ofTarget = heads.get(target)
  if (!ofTarget) heads.set(target, (ofTarget = new Map()))
  let head = ofTarget.get(dialect)
  if (!head) ofTarget.set(dialect, (head = make(target)))
  return head
}

function translateAttempt(call: Call, format: Format, deployment: Deployment, body: JsonBody): Attempt | undefined {
  return format.operation === 'embeddings'
    ? embeddingsAttempt(call, format, deployment, body)
    : chatAttempt(call, format, deployment, body)
}

function chatAttempt(call: Call, format: ChatFormat, deployment: Deployment, body: JsonBody): Attempt | undefined {
  const adapter = deployment.target.provider.chat
  if (!adapter) return undefined
  const request = format.decode(body)
  request.model = call.model
  const stream = { adapter, format, request, publicModel: call.model }
  return {
    ...sent(adapter.request(request, deployment.target)),
    answer(bytes) {
      const { body: text, state } = translateAnswer(stream, bytes)
      return { body: text, usage: state.usage }
    },
    relay: () => new TranslatedRelay(stream),
  }
}

function embeddingsAttempt(
  call: Call,
  format: EmbeddingsFormat,
  deployment: Deployment,
  body: JsonBody,
): Attempt | undefined {
  const adapter = deployment.target.provider.embeddings
  if (!adapter) return undefined
  const request = format.decode(body)
  return {
    ...sent(adapter.request(request, deployment.target)),
    answer(bytes) {
      const result = adapter.result(JSON.parse(new TextDecoder().decode(bytes)))
      return { body: JSON.stringify(format.encode(result, call.model, request)), usage: result.usage }
    },
    relay() {
      throw new GatewayError('internal', 'embeddings are never streamed')
    },
  }
}

function sent(translated: TranslatedCall): Pick<Attempt, 'head' | 'body' | 'dropped'> {
  return {
    head: translated.head,
    body: [Buffer.from(JSON.stringify(translated.body), 'utf8')],
    dropped: translated.dropped,
  }
}
