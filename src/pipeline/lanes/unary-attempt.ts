/** Attempts of operations whose answer is one document: JSON, or sound. */
import type { Call } from '../../core/call.ts'
import { GatewayError, unprocessable } from '../../core/errors.ts'
import type { EmbeddingsFormat, SpeechFormat, UnaryFormat, UnaryOperations } from '../../core/format.ts'
import type { EmbeddingsRequest } from '../../core/hub/embeddings.ts'
import type { EmbeddingsAdapter, TranslatedCall, UnaryAdapter } from '../../core/provider.ts'
import type { AnswerHead } from '../../core/transport.ts'
import { editedRequest } from '../call-input.ts'
import { endRequest, recordUnusableAnswer, recordUsage } from '../settlement/usage.ts'
import { readResult, outgoingRequest } from './attempt-parts.ts'
import type { PlannedAttempt, Plan } from './attempt-parts.ts'
import { EmbeddingSeries } from './embedding-series.ts'

/** Those of an operation whose answer is one JSON document. */
type Adapted<O extends keyof UnaryOperations> = UnaryAdapter<
  UnaryOperations[O]['request'],
  UnaryOperations[O]['result']
>

/** Undefined = the provider does not offer the operation. */
export function unaryAttempt<O extends keyof UnaryOperations>(
  plan: Plan,
  format: UnaryFormat<O>,
  adapter: Adapted<O> | undefined,
): PlannedAttempt | undefined {
  return adapter && requestAttempt(plan, format, adapter, editedRequest(plan.call, plan.body, format.decode))
}

function requestAttempt<O extends keyof UnaryOperations>(
  { call, deployment }: Plan,
  format: UnaryFormat<O>,
  adapter: Adapted<O>,
  request: UnaryOperations[O]['request'],
): PlannedAttempt {
  return {
    ...outgoingRequest(adapter.request(request, deployment.target)),
    streamTypes: [],
    answer(bytes, head) {
      const { result, upstream } = readDocument(adapter, request, bytes, head)
      return { body: JSON.stringify(format.encode(result, call.model, request, upstream)), usage: result.usage }
    },
    relay: neverStreamed,
  }
}

function neverStreamed(): never {
  throw new GatewayError('internal', 'an answer of one JSON document is never streamed')
}

function readDocument<Request, Result>(
  adapter: UnaryAdapter<Request, Result>,
  request: Request,
  bytes: Uint8Array,
  head: AnswerHead,
): { result: Result; upstream: unknown } {
  return readResult(() => {
    const upstream: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return { result: adapter.result(upstream, request, head), upstream }
  })
}

/** As `unaryAttempt`; more inputs than the upstream takes in a request are sent in parts. */
export function embeddingsAttempt(
  plan: Plan,
  format: EmbeddingsFormat,
  adapter: EmbeddingsAdapter | undefined,
): PlannedAttempt | undefined {
  if (!adapter) return undefined
  const { call, deployment, body } = plan
  const request: EmbeddingsRequest = editedRequest(call, body, format.decode)
  const most = adapter.inputsMax?.(deployment.target) ?? request.inputs.length
  if (request.inputs.length <= most) return requestAttempt(plan, format, adapter, request)
  const series = new EmbeddingSeries(request, adapter, deployment.target, most)
  return {
    ...outgoingRequest(series.call()),
    streamTypes: [],
    check: {
      isSeries: true,
      whole(bytes, head) {
        const next = readPart(call, { adapter, series }, bytes, head)
        if (next) endRequest(call, true)
        return next && outgoingRequest(next)
      },
      isOver: () => true,
      endsInMs: () => 0,
      steps: () => 0,
      streamed: neverStreamed,
    },
    answer: () => ({
      body: JSON.stringify(format.encode(series.result, call.model, request)),
      usage: call.attempt!.usage,
    }),
    relay: neverStreamed,
  }
}

/** Each part is billed, so its usage is recorded as it arrives. */
function readPart(
  call: Call,
  { adapter, series }: { readonly adapter: EmbeddingsAdapter; readonly series: EmbeddingSeries },
  bytes: Uint8Array,
  head: AnswerHead,
): TranslatedCall | undefined {
  try {
    const { result } = readDocument(adapter, series.part, bytes, head)
    const next = series.take(result)
    recordUsage(call, result.usage)
    return next
  } catch (thrown) {
    recordUnusableAnswer(call, bytes, thrown)
    throw thrown
  }
}

/** As `unaryAttempt`. */
export function speechAttempt({ call, deployment, body }: Plan, format: SpeechFormat): PlannedAttempt | undefined {
  const { speech } = deployment.target.provider
  if (!speech) return undefined
  if (call.stream) {
    const msg = `"sse" is not offered by the model '${call.model}'; leave it out to get the audio itself`
    throw unprocessable([{ loc: ['body', 'stream_format'], msg, type: 'unsupported' }])
  }
  const request = editedRequest(call, body, format.decode)
  return {
    ...outgoingRequest(speech.request(request, deployment.target)),
    streamTypes: format.forward.streamTypes ?? [],
    // Audio inside JSON can be decoded only as a whole.
    streamed: speech.result === undefined,
    answer(bytes) {
      const result = readResult(() => speech.result!(JSON.parse(new TextDecoder().decode(bytes)), request))
      return { body: result.audio, contentType: result.mediaType, usage: result.usage }
    },
    relay: contentType => format.forward.relay(call.model, body, contentType),
  }
}
