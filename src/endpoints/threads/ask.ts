/** The call of the model that a run makes: through the front of the pipeline, like every other call of its key. */
import { randomUUIDv7 } from 'bun'
import { toResponse } from '../../core/answer.ts'
import type { Caller } from '../../core/caller.ts'
import type { Services } from '../../core/endpoint.ts'
import type { HttpRequest } from '../../core/request.ts'
import { GatewayError } from '../../core/errors.ts'
import { internalRequest, SignalClient } from '../../core/internal-request.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { frameSplitter } from '../../lib/frames.ts'
import type { Fields } from '../kept-objects.ts'
import type { Ending } from './run-object.ts'
import type { Turn } from './turn.ts'

type Failure = Extract<Ending, { status: 'failed' }>

/** What is still needed of the request that began a run, once that request is answered. */
export interface Origin {
  readonly path: string
  readonly clientAddress: string
  readonly userAgent: string
}

/** Holds nothing of the request itself, which is answered before its run ends. */
export function originOf({ headers, path, clientAddress }: HttpRequest): Origin {
  return { path, clientAddress, userAgent: headers.get('user-agent') ?? '' }
}

/** One call of the model; `signal` ends it. */
interface Question {
  readonly services: Services
  readonly caller: Caller
  readonly origin: Origin
  /** Of a chat completion. */
  readonly body: Fields
  readonly signal: AbortSignal
}

/** How a question ended; what was answered is in its turn. */
export interface Asked {
  /** Absent = the answer came to its end. */
  readonly failure?: Failure
  /** Fields that the upstream could not be given. */
  readonly dropped: readonly string[]
}

/** Asks, and fills the turn with the answer. */
export async function askModel(question: Question, turn: Turn): Promise<Asked> {
  const { services, caller, body } = question
  const call = { format: openaiChat, route: '/v1/threads/{thread_id}/runs', stream: body.stream === true }
  const response = toResponse(await services.callModel(requestOf(question), caller, call))
  const dropped = (response.headers.get(`${services.settings().headerPrefix}-dropped-params`) ?? '')
    .split(',')
    .filter(Boolean)
  return { ...(await readAnswer(response, question.signal, turn)), dropped: dropped.map(name => name.trim()) }
}

function requestOf({ origin, body, signal }: Question): HttpRequest {
  const { path, clientAddress, userAgent } = origin
  return internalRequest({
    id: randomUUIDv7(),
    path,
    params: {},
    query: new URLSearchParams(),
    headers: new Headers({ 'content-type': 'application/json', 'user-agent': userAgent }),
    bytes: Buffer.from(JSON.stringify(body)),
    client: new SignalClient(signal, clientAddress),
  })
}

async function readAnswer(response: Response, signal: AbortSignal, turn: Turn): Promise<{ failure?: Failure }> {
  const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
  if (response.status === 200 && isStream && response.body) return readStream(response.body, signal, turn)
  const body = (await response.json()) as Fields
  if (response.status !== 200) return { failure: failureOf(response.status, body) }
  take(body, turn)
  return turn.finish === '' ? cut : {}
}

const cut = { failure: serverFailure('the answer of the model has no end') }

/** `message` is for clients to read. */
export function serverFailure(message: string): Failure {
  return { status: 'failed', code: 'server_error', message }
}

/** A status as runs name failures; they have three words. */
function failureOf(status: number, body: Fields): Failure {
  const { message } = (body.error ?? {}) as Fields
  const code =
    status === 429 ? 'rate_limit_exceeded' : [400, 413, 422].includes(status) ? 'invalid_prompt' : 'server_error'
  return { status: 'failed', code, message: typeof message === 'string' ? message : 'the call of the model failed' }
}

/** Clients read the message of a GatewayError; of any other error only that the gateway failed. */
export function failureOfError(error: unknown): Failure {
  if (!(error instanceof GatewayError)) return serverFailure('the gateway failed on this run')
  return failureOf(error.status, { error: { message: error.message } })
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  turn: Turn,
): Promise<{ failure?: Failure }> {
  const reader = stream.getReader()
  // Nobody else ends a stream whose reader is in this process.
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
        const chunk = JSON.parse(data) as Fields
        if (chunk.error)
          return { failure: failureOf((chunk.error as Fields).type === 'rate_limit_error' ? 429 : 500, chunk) }
        take(chunk, turn)
      }
    }
  } finally {
    signal.removeEventListener('abort', leave)
    leave()
  }
}

/** A chunk, or a whole answer. */
function take(answer: Fields, turn: Turn): void {
  const [choice] = Array.isArray(answer.choices) ? (answer.choices as Fields[]) : []
  const said = choice?.delta ?? choice?.message
  if (said) turn.push(said as Fields)
  if (typeof choice?.finish_reason === 'string') turn.finish = choice.finish_reason
  if (!answer.usage) return
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage as Fields
  turn.usage = { prompt_tokens, completion_tokens, total_tokens }
}
