/** Calls of files and batches: one upstream, no routing, no retry, under the limits of the key. */
import type { CloudCredentials } from '../../clouds/cloud-credentials.ts'
import type { AnswerSink, AnswerStream } from '../../core/answer.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Outcome } from '../../core/hub/operation.ts'
import type { FileCall, FileCalls, FileContent } from '../../core/objects/files.ts'
import { clientClosed } from '../../core/request.ts'
import type {
  BodyPiece,
  BodySink,
  ExchangeTimeouts,
  Transport,
  UpstreamExchange,
  UpstreamResponse,
} from '../../core/transport.ts'
import type { Clock } from '../../lib/clock.ts'
import { JsonBody, JsonBodyError } from '../../lib/json/json-body.ts'
import { authorized } from '../upstream/upstream-authorization.ts'
import { readFault } from '../upstream/upstream-fault.ts'
import { rewriteLines } from './file-lines.ts'
import { AttemptRecord } from '../attempt-record.ts'
import { formEdits } from '../call-input.ts'
import { editedForm } from '../upstream/form.ts'
import { inProcessExchange } from '../upstream/in-process.ts'
import { KeptFiles } from './in-memory-files.ts'

/** Answers are JSON objects that describe files. */
const answerBytesMax = 4 * 1024 * 1024

interface FileCallParts {
  readonly transport: Transport
  readonly clock: Clock
  readonly credentials: CloudCredentials
  /** Holds large files until they are sent. */
  readonly uploadDirectory: string
}

/** Binds the parts. Files of in-process providers are kept here, in memory. */
export function createFileCalls(parts: FileCallParts): FileCalls {
  const { uploadDirectory: directory } = parts
  const sender = new Sender(parts)
  return {
    rewriteLines: (upload, part, rewrite) => rewriteLines(upload, part, rewrite, directory),
    json: call => sender.json(call),
    content: call => sender.content(call),
    bytes: (call, bytesMax) => sender.bytes(call, bytesMax),
  }
}

class Sender {
  readonly #parts: FileCallParts
  /** Files of in-process providers. */
  readonly #kept: KeptFiles

  constructor(parts: FileCallParts) {
    this.#parts = parts
    this.#kept = new KeptFiles(parts.clock)
  }

  async json(call: FileCall): Promise<Record<string, unknown>> {
    let exchange: UpstreamExchange | undefined
    try {
      const sent = (exchange = await this.#send(call))
      return await answered(call, sent, async () => {
        const response = await this.#success(call, sent)
        return readObject(await response.body.bytes(answerBytesMax))
      })
    } catch (error) {
      call.failed?.(exchange?.sent ?? false)
      throw error
    }
  }

  async content(call: FileCall): Promise<FileContent> {
    const exchange = await this.#send(call)
    const response = await answered(call, exchange, () => this.#success(call, exchange))
    const download = new Download(exchange, response)
    return { stream: download, contentType: response.header('content-type'), over: download.over }
  }

  async bytes(call: FileCall, bytesMax: number): Promise<Uint8Array> {
    const exchange = await this.#send(call)
    return answered(call, exchange, async () => (await this.#success(call, exchange)).body.bytes(bytesMax))
  }

  async #send(call: FileCall): Promise<UpstreamExchange> {
    const { deployment } = call
    const { provider } = deployment.target
    if (call.of) {
      call.of.attempt = new AttemptRecord(deployment, '')
      call.of.progress.attempts++
    }
    if (!provider.files) throw new GatewayError('internal', `the provider ${provider.name} has no files`)
    if (provider.answer) return inProcessExchange(this.#kept.answer(call))
    const { contentType, pieces } = written(call)
    const head = provider.files.head(deployment.target, call.path)
    const sent = {
      method: call.method,
      head:
        contentType === undefined ? head : { url: head.url, headers: { ...head.headers, 'content-type': contentType } },
      body: pieces,
      timeouts: timeoutsOf(call),
      proxies: deployment.proxies,
    }
    const proven = provider.authorize ? await authorized(sent, deployment, provider.authorize, this.#parts) : sent
    // The client has left meanwhile.
    if (call.request.left && !call.outlivesClient) throw clientClosed()
    return this.#parts.transport.send(proven)
  }

  async #success({ deployment }: FileCall, exchange: UpstreamExchange): Promise<UpstreamResponse> {
    const response = await exchange.response
    if (response.status < 200 || response.status >= 300)
      throw await readFault(deployment, response, this.#parts.clock.epochMs(), undefined)
    return response
  }
}

/** The shorter of two limits; 0 = none. */
function timeoutsOf({ deployment: { timeouts }, totalMs }: FileCall): ExchangeTimeouts {
  if (totalMs === undefined || (timeouts.totalMs > 0 && timeouts.totalMs < totalMs)) return timeouts
  return { ...timeouts, totalMs }
}

function written({ body, of }: FileCall): { contentType: string | undefined; pieces: readonly BodyPiece[] } {
  if (body === undefined) return { contentType: undefined, pieces: [] }
  if ('json' in body)
    return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(body.json), 'utf8')] }
  const form = editedForm(body.upload, of ? [...formEdits(of), ...body.edits] : body.edits)
  return { contentType: form.contentType, pieces: form.body }
}

/** With the limits of a client's body, so that too deep nesting is refused. */
function readObject(bytes: Uint8Array): Record<string, unknown> {
  try {
    return JsonBody.read(bytes).parse()
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw new GatewayError('upstream-broken', "the upstream's answer is not a JSON object that can be read", { cause })
  }
}

/**
 * Waits for a step of the exchange; a failure cancels the exchange, and so does the client's leaving unless the call
 * outlives it.
 */
function answered<T>(
  { request, outlivesClient }: FileCall,
  exchange: UpstreamExchange,
  wait: () => Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let waiting = true
    const fail = (error: unknown): void => {
      waiting = false
      exchange.cancel()
      reject(error)
    }
    if (!outlivesClient) request.onLeft(why => waiting && fail(why))
    wait().then(value => {
      waiting = false
      resolve(value)
    }, fail)
  })
}

/** An answer's body, read from the upstream only as fast as the client reads it. */
class Download implements AnswerStream, BodySink {
  readonly over: Promise<Outcome>
  readonly #exchange: UpstreamExchange
  readonly #response: UpstreamResponse
  #sink: AnswerSink | undefined
  #finish!: (outcome: Outcome) => void
  #paused = false

  constructor(exchange: UpstreamExchange, response: UpstreamResponse) {
    this.#exchange = exchange
    this.#response = response
    this.over = new Promise(resolve => (this.#finish = resolve))
  }

  // ---- what the client's connection calls

  pipe(sink: AnswerSink): void {
    this.#sink = sink
    this.#response.body.pipe(this)
  }

  resume(): void {
    if (!this.#paused || !this.#sink) return
    this.#paused = false
    this.#response.body.resume()
  }

  cancel(): void {
    this.#exchange.cancel()
    this.#end('client_closed')
  }

  // ---- what the upstream's connection calls

  data(bytes: Uint8Array): void {
    const sink = this.#sink
    if (!sink) return
    sink.write(bytes)
    if (this.#paused || !sink.full) return
    this.#paused = true
    this.#response.body.pause()
  }

  end(): void {
    this.#end('success')?.end()
  }

  /** Raw bytes cannot carry an error: only a cut connection shows that the file is incomplete. */
  fail(): void {
    this.#end('upstream_cut')?.abort()
  }

  #end(outcome: Outcome): AnswerSink | undefined {
    const sink = this.#sink
    this.#sink = undefined
    this.#finish(outcome)
    return sink
  }
}
