/** The call of the model that a run makes: admitted, limited and recorded like every other call of its key. */
import { toResponse } from '../core/answer.ts'
import type { Call } from '../core/call.ts'
import type { Caller } from '../core/caller.ts'
import type { Services } from '../core/endpoint.ts'
import { clientRequestId } from '../core/request.ts'
import type { HttpRequest } from '../core/request.ts'
import { GatewayError } from '../core/errors.ts'
import { internalJsonRequest, SignalClient } from '../core/internal-request.ts'
import { openaiChat } from '../formats/openai/chat/index.ts'
import { frameSplitter } from '../lib/frame-splitter.ts'
import type { Json } from '../lib/json/json-values.ts'
import type { Ending } from './run-object.ts'

type Failure = Extract<Ending, { status: 'failed' }>

/** Takes the answer of a model as it comes. */
export interface AnswerReceiver {
  /** A `delta` of a chunk, or the `message` of a whole answer. */
  push(delta: Json): void
  /** OpenAI's finish reason; empty = the answer has not ended. */
  finish: string
  usage: Json | null
}

/** Facts of the request that started a run, for the time after that request was answered. */
export interface Origin {
  readonly requestId: string
  readonly path: string
  readonly clientAddress: string
  readonly userAgent: string
}

/** Copies, so that the request itself can be freed before its run ends. */
export function originOf(request: HttpRequest): Origin {
  const { id, headers, path, clientAddress } = request
  const requestId = clientRequestId(headers) ?? id
  return { requestId, path, clientAddress, userAgent: headers.get('user-agent') ?? '' }
}

/** One call of the model; `signal` ends it. */
interface ModelRequest {
  readonly services: Services
  readonly caller: Caller
  readonly origin: Origin
  /** The body of a chat completion. */
  readonly body: Json
  readonly signal: AbortSignal
  /** Canonical path for metrics and the ledger. */
  readonly route: string
  /** Given the call once its fields are checked. */
  readonly watch?: (call: Call) => void
  /** See `CallOptions.isPrivate`. */
  readonly isPrivate?: true
  /** The conversation or thread that the call is part of. */
  readonly sessionId: string
}

/** How the call ended; the answer itself is in its receiver. */
export interface ModelAnswer {
  /** Absent = the answer is complete. */
  readonly failure?: Failure
  /** Of a failure: the code that a client of the call would have got. Absent = the answer has no end. */
  readonly code?: string
  /** Of a refusal: after how many seconds a call may pass. Absent = not known. */
  readonly retryAfterS?: number
  /** Names of request fields that the upstream does not support. */
  readonly dropped: readonly string[]
}

/** Calls the model and adds its answer to the receiver. */
export async function askModel(request: ModelRequest, turn: AnswerReceiver): Promise<ModelAnswer> {
  const { services, caller, body, route, watch, isPrivate = false } = request
  const stream = body.stream === true
  const call = { format: openaiChat, route, stream, isPrivate, ...(watch && { prepare: watch }) }
  const response = toResponse(await services.callModel(requestOf(request), caller, call))
  const dropped = (response.headers.get(`${services.current.settings.headerPrefix}-dropped-params`) ?? '')
    .split(',')
    .filter(Boolean)
  return { ...(await readAnswer(response, request.signal, turn)), dropped: dropped.map(name => name.trim()) }
}

function requestOf({ origin, body, signal, sessionId }: ModelRequest): HttpRequest {
  const { path, clientAddress, userAgent } = origin
  return internalJsonRequest({
    path,
    headers: { 'user-agent': userAgent, 'x-litellm-session-id': sessionId },
    body,
    client: new SignalClient(signal, clientAddress),
  })
}

async function readAnswer(
  response: Response,
  signal: AbortSignal,
  turn: AnswerReceiver,
): Promise<Omit<ModelAnswer, 'dropped'>> {
  const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
  if (response.status === 200 && isStream && response.body) return readStream(response.body, signal, turn)
  const body = (await response.json()) as Json
  if (response.status !== 200) return refusalOf(response, body)
  addToTurn(body, turn)
  return turn.finish === '' ? cut : {}
}

function refusalOf({ status, headers }: Response, body: Json): Omit<ModelAnswer, 'dropped'> {
  const seconds = Number(headers.get('retry-after'))
  return { failure: failureOf(status, body), ...codeOf(body), ...(seconds > 0 && { retryAfterS: seconds }) }
}

function codeOf({ error }: Json): { code?: string } {
  const { code, type } = (error ?? {}) as Json
  const known = code ?? type
  return typeof known === 'string' ? { code: known } : {}
}

const cut = { failure: serverFailure('the answer of the model has no end') }

/** `message` is shown to clients. */
export function serverFailure(message: string): Failure {
  return { status: 'failed', code: 'server_error', message }
}

/** The failure of a run for an HTTP status; runs have three codes. */
function failureOf(status: number, body: Json): Failure {
  const { message } = (body.error ?? {}) as Json
  const code =
    status === 429 ? 'rate_limit_exceeded' : [400, 413, 422].includes(status) ? 'invalid_prompt' : 'server_error'
  return { status: 'failed', code, message: typeof message === 'string' ? message : 'the call of the model failed' }
}

/** Only the message of a GatewayError is shown to clients. */
export function failureOfError(error: unknown): Failure {
  if (!(error instanceof GatewayError)) return serverFailure('the gateway failed on this run')
  return failureOf(error.status, { error: { message: error.message } })
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  turn: AnswerReceiver,
): Promise<Omit<ModelAnswer, 'dropped'>> {
  const reader = stream.getReader()
  // A stream inside this process ends only when its reader cancels it.
  const leave = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const splitter = frameSplitter()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return turn.finish === '' ? cut : {}
      for (const { data } of splitter.push(value)) {
        if (data === '[DONE]') continue
        const chunk = JSON.parse(data) as Json
        if (chunk.error) {
          const status = (chunk.error as Json).type === 'rate_limit_error' ? 429 : 500
          return { failure: failureOf(status, chunk), ...codeOf(chunk) }
        }
        addToTurn(chunk, turn)
      }
    }
  } finally {
    signal.removeEventListener('abort', leave)
    leave()
  }
}

/** Adds a chunk, or a whole answer, to the turn. */
function addToTurn(answer: Json, turn: AnswerReceiver): void {
  const [choice] = Array.isArray(answer.choices) ? (answer.choices as Json[]) : []
  const delta = choice?.delta ?? choice?.message
  if (delta) turn.push(delta as Json)
  if (typeof choice?.finish_reason === 'string') turn.finish = choice.finish_reason
  if (!answer.usage) return
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage as Json
  turn.usage = { prompt_tokens, completion_tokens, total_tokens }
}
