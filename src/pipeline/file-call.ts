/** Calls of files and batches: one upstream, no routing, no retry, under the limits of the key. */
import type { Call, Caller } from '../core/call.ts'
import type { HttpRequest } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import type { FileCall, FileCalls, FileContent } from '../core/files.ts'
import type { Policy } from '../core/policy.ts'
import type { BodyPiece, BodySink, ExchangeTimeouts, Transport, UpstreamExchange, UpstreamResponse } from '../core/transport.ts'
import type { Clock } from '../lib/clock.ts'
import { JsonBody, JsonBodyError } from '../lib/json-body.ts'
import { Authorizer } from './authorize.ts'
import { CallRecord } from './call-record.ts'
import { readFault } from './fault.ts'
import { rewriteLines } from './file-lines.ts'
import { editedForm } from './form.ts'
import { readForm } from './upload.ts'

/** Answers are objects that describe files. */
const answerBytesMax = 4 * 1024 * 1024
/** Pieces the client may lag behind before the upstream is paused; at most 64 KiB each. */
const piecesAhead = 16

export interface FileCallParts {
  readonly transport: Transport
  readonly clock: Clock
  /** What admits a call or refuses it, and hears of its end: the limits of the key. */
  readonly limits: Policy
  /** Where large files wait for their upstream. */
  readonly uploadDirectory: string
  settings(): { readonly bodyBytesMax: number }
}

export function createFileCalls(parts: FileCallParts): FileCalls {
  const { uploadDirectory: directory } = parts
  const sender = new Sender(parts)
  return {
    limited: (request, caller, work) => limited(parts, openCall(parts.clock, request, caller), work),
    async readForm({ raw }) {
      const { bodyBytesMax: bytesMax } = parts.settings()
      checkAnnounced(raw, bytesMax)
      return readForm(raw, { bytesMax, directory })
    },
    rewriteLines: (upload, part, rewrite) => rewriteLines(upload, part, rewrite, directory),
    json: call => sender.json(call),
    content: call => sender.content(call),
  }
}

function openCall(clock: Clock, request: HttpRequest, caller: Caller): Call {
  return new CallRecord({
    id: request.id,
    operation: 'files',
    route: request.path,
    caller,
    signal: request.raw.signal,
    clientAddress: request.clientAddress,
    userAgent: request.raw.headers.get('user-agent') ?? '',
    startedAtMs: clock.epochMs(),
    startedMs: clock.monotonicMs(),
  })
}

async function limited({ limits, clock }: FileCallParts, call: Call, work: Parameters<FileCalls['limited']>[2]): Promise<Response> {
  await limits.admit?.(call)
  const end = (status: number): void =>
    limits.settled?.({
      call, outcome: 'success', status, error: undefined, costNanoUsd: null, durationMs: clock.monotonicMs() - call.startedMs,
    })
  let held: Promise<void> | undefined
  try {
    const response = await work(until => (held = until))
    response.headers.set('x-request-id', call.id)
    for (const [name, value] of Object.entries(call.responseHeaders)) response.headers.set(name, value)
    return response
  } finally {
    if (held) void held.then(() => end(200))
    else end(200)
  }
}

function checkAnnounced(raw: Request, bytesMax: number): void {
  const encoding = raw.headers.get('content-encoding')
  if (encoding && encoding !== 'identity')
    throw new GatewayError('unsupported-media', `content-encoding '${encoding}' is not accepted; send the body as it is`)
  if (Number(raw.headers.get('content-length') ?? 0) > bytesMax)
    throw new GatewayError('too-large', `the body is larger than ${bytesMax} bytes, the limit of this gateway`)
}

class Sender {
  readonly #parts: FileCallParts
  readonly #authorizer: Authorizer

  constructor(parts: FileCallParts) {
    this.#parts = parts
    this.#authorizer = new Authorizer(parts.transport, parts.clock)
  }

  async json(call: FileCall): Promise<Record<string, unknown>> {
    const exchange = await this.#send(call)
    return answered(call, exchange, async () => {
      const response = await this.#success(call, exchange)
      return readObject(await response.body.bytes(answerBytesMax))
    })
  }

  async content(call: FileCall): Promise<FileContent> {
    const exchange = await this.#send(call)
    const response = await answered(call, exchange, () => this.#success(call, exchange))
    const download = new Download(exchange, response, call.request.raw.signal)
    return { stream: download.stream, contentType: response.header('content-type'), over: download.over }
  }

  async #send(call: FileCall): Promise<UpstreamExchange> {
    const { deployment } = call
    const { provider } = deployment.target
    if (!provider.files) throw new GatewayError('internal', `the provider ${provider.name} has no files`)
    const { contentType, pieces } = written(call)
    const head = provider.files.head(deployment.target, call.path)
    const sent = {
      method: call.method,
      head: contentType === undefined ? head : { url: head.url, headers: { ...head.headers, 'content-type': contentType } },
      body: pieces,
      timeouts: timeoutsOf(call),
    }
    const authorized = provider.authorization ? await this.#authorizer.authorize(sent, deployment.target, provider.authorization) : sent
    // Whoever left meanwhile is not served any more.
    if (call.request.raw.signal.aborted && !call.outlivesClient) throw clientClosed()
    return this.#parts.transport.send(authorized)
  }

  async #success({ deployment }: FileCall, exchange: UpstreamExchange): Promise<UpstreamResponse> {
    const response = await exchange.response
    if (response.status < 200 || response.status >= 300) throw await readFault(deployment, response, this.#parts.clock.epochMs())
    return response
  }
}

/** The shorter limit counts; 0 = none. */
function timeoutsOf({ deployment: { timeouts }, totalMs }: FileCall): ExchangeTimeouts {
  if (totalMs === undefined || (timeouts.totalMs > 0 && timeouts.totalMs < totalMs)) return timeouts
  return { ...timeouts, totalMs }
}

function written({ body }: FileCall): { contentType: string | undefined; pieces: readonly BodyPiece[] } {
  if (body === undefined) return { contentType: undefined, pieces: [] }
  if ('json' in body) return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(body.json), 'utf8')] }
  const form = editedForm(body.upload, body.edits)
  return { contentType: form.contentType, pieces: form.body }
}

/** With the bounds of a client's body: what is nested too deep to be walked is refused here. */
function readObject(bytes: Uint8Array): Record<string, unknown> {
  try {
    return JsonBody.read(bytes).parse()
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw new GatewayError('upstream-broken', "the upstream's answer is not a JSON object that can be read", { cause })
  }
}

function clientClosed(): GatewayError {
  return new GatewayError('client-closed', 'the client closed the connection before the answer was complete')
}

/** Waits for a part of the exchange; a failure ends it at once, and so does the client's leaving unless the call outlives it. */
function answered<T>({ request, outlivesClient }: FileCall, exchange: UpstreamExchange, wait: () => Promise<T>): Promise<T> {
  const { signal } = request.raw
  return new Promise<T>((resolve, reject) => {
    const over = (): void => {
      signal.removeEventListener('abort', leave)
      request.holdOpen(false)
    }
    const fail = (error: unknown): void => {
      over()
      exchange.cancel()
      reject(error)
    }
    const leave = (): void => fail(clientClosed())
    // The server's idle cut is for clients that stall: a large file may take the upstream longer.
    request.holdOpen(true)
    if (!outlivesClient) signal.addEventListener('abort', leave, { once: true })
    wait().then(value => {
      over()
      resolve(value)
    }, fail)
  })
}

/** An answer's body as a stream that reads from the upstream only as fast as the client reads from it. */
class Download implements BodySink {
  readonly stream: ReadableStream<Uint8Array>
  readonly over: Promise<void>
  readonly #exchange: UpstreamExchange
  readonly #response: UpstreamResponse
  readonly #signal: AbortSignal
  readonly #leave = (): void => this.#left()
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #finish!: () => void
  #paused = false
  #ended = false

  constructor(exchange: UpstreamExchange, response: UpstreamResponse, signal: AbortSignal) {
    this.#exchange = exchange
    this.#response = response
    this.#signal = signal
    this.over = new Promise(resolve => (this.#finish = resolve))
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => this.#resume(),
        cancel: () => this.#left(),
      },
      { highWaterMark: piecesAhead },
    )
    signal.addEventListener('abort', this.#leave, { once: true })
    if (signal.aborted) this.#left()
    else response.body.pipe(this)
  }

  data(bytes: Uint8Array): void {
    if (this.#ended) return
    this.#controller.enqueue(bytes)
    if (this.#paused || (this.#controller.desiredSize ?? 1) > 0) return
    this.#paused = true
    this.#response.body.pause()
  }

  end(): void {
    if (this.#end()) this.#controller.close()
  }

  /** Bytes have no words for an error: a cut connection is the only way to say that the file is not complete. */
  fail(error: GatewayError): void {
    if (this.#end()) this.#controller.error(error)
  }

  #resume(): void {
    if (!this.#paused || this.#ended) return
    this.#paused = false
    this.#response.body.resume()
  }

  #left(): void {
    if (!this.#end()) return
    this.#exchange.cancel()
    this.#controller.error(clientClosed())
  }

  /** false = it was over already. */
  #end(): boolean {
    if (this.#ended) return false
    this.#ended = true
    this.#signal.removeEventListener('abort', this.#leave)
    this.#finish()
    return true
  }
}
