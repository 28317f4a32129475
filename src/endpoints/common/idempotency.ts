/** Does a request with an `Idempotency-Key` once: its answer is recorded, and given to those who send it again. */
import { callableDeployments, unaliased } from '../../access/models/model-access.ts'
import { storingIdOf } from '../../core/caller.ts'
import { isAnswerStream } from '../../core/answer.ts'
import type { Answer, AnswerBody, AnswerSink, AnswerStream } from '../../core/answer.ts'
import type { Endpoint, EndpointContext } from '../../core/endpoint.ts'
import { GatewayError } from '../../core/errors.ts'
import type { KeptResponse, IdempotentClaim, IdempotentRequest } from '../../core/objects/idempotency.ts'
import { readBody } from '../../core/request.ts'
import type { HttpRequest } from '../../core/request.ts'
import { Secret } from '../../lib/secret.ts'
import { FingerprintedRequest } from './request-fingerprint.ts'

const keyForm = /^[\x21-\x7e]{1,255}$/
/** Between two looks at the first request, which grows to the second. */
const pollsMs = [20, 250] as const
/** A longer answer is given once, and not kept. */
const answerBytesMax = 16 * 1024 * 1024
/** Of one answer alone. */
const passingHeaders = /^(?:x-ratelimit-|retry-after|x-proxy-overhead)/

/** true = the request asks to be done once, and its endpoint can do it: calls, uploads, batches, runs. */
export function isIdempotent(endpoint: Endpoint, { headers }: HttpRequest, isOfCalls: boolean): boolean {
  return headers.has('idempotency-key') && isOfCalls && endpoint.auth === 'key'
}

interface RepeatableRequest extends EndpointContext {
  readonly endpoint: Endpoint
}

/** Rejects as the endpoint does; with `conflict` for another body, and where the first request was lost. */
export async function handleIdempotent(repeatable: RepeatableRequest): Promise<Answer> {
  const { request, services, caller } = repeatable
  const text = request.headers.get('idempotency-key')!
  if (!keyForm.test(text))
    throw new GatewayError(
      'invalid-request',
      '`Idempotency-Key` must have 1 to 255 visible ASCII characters without blanks; a UUID is usual',
      { param: 'Idempotency-Key' },
    )
  const own = await fingerprinted(repeatable)
  // A derived key has records of its own: what others of its key asked for is not its answer.
  const storingId = storingIdOf(caller)
  const whose = [storingId, ...(caller.derived ?? []).map(one => one.id)].join('\n')
  const claimed: IdempotentRequest = {
    id: services.sign(`idempotency\n${whose}\n${text}`).toString('hex'),
    sealingKey: new Secret(services.sign(`answer of idempotency\n${whose}\n${text}`).toString('hex')),
    keyId: storingId,
    fingerprint: own.fingerprint ?? null,
    owner: request.id,
  }
  const claim = await services.idempotentRequests.claim(claimed)
  if (claim.state === 'first') return doFirst(repeatable, own, claimed)
  return again(repeatable, own, { claimed, claim })
}

/** A JSON body is read at once; a form is read by its endpoint, and hashed on the way. */
async function fingerprinted({ request, services }: RepeatableRequest): Promise<FingerprintedRequest> {
  const own = new FingerprintedRequest(request)
  if (!own.isForm) own.take(await readBody(request.body, services.current.settings.bodyBytesMax))
  return own
}

interface RepeatedRequest {
  readonly claimed: IdempotentRequest
  readonly claim: IdempotentClaim
}

/**
 * Waits for the first one, and gives its answer. A form stays unread until then: where the first one did nothing, this
 * one takes its place, and a form can be read once.
 */
async function again(
  repeatable: RepeatableRequest,
  own: FingerprintedRequest,
  { claimed, claim }: RepeatedRequest,
): Promise<Answer> {
  const { request, services } = repeatable
  let now: IdempotentClaim | undefined = claim
  for (let waitMs: number = pollsMs[0]; ; waitMs = Math.min(waitMs * 2, pollsMs[1])) {
    now ??= await services.idempotentRequests.claim(claimed)
    if (now.state === 'first') return doFirst(repeatable, own, claimed)
    if (now.state !== 'running' && own.isForm) await own.readAll()
    if (now.fingerprint !== null && own.fingerprint !== undefined && now.fingerprint !== own.fingerprint)
      throw otherRequest()
    if (now.state === 'answered') {
      checkRights(repeatable, own)
      return replay(now.response)
    }
    if (now.state === 'lost') throw lostRequest()
    if (request.left) throw new GatewayError('client-closed', 'the client left while it waited for the first request')
    await Bun.sleep(waitMs)
    now = await services.idempotentRequests.look(claimed)
  }
}

/** Throws what the call would be refused with today: the key may have been narrowed since the answer was recorded. */
function checkRights({ services, caller }: RepeatableRequest, { model: named }: FingerprintedRequest): void {
  if (named === undefined) return
  const callable = callableDeployments(caller, unaliased(caller, named), services.current.models.of(caller))
  if (callable instanceof GatewayError && callable.kind === 'model-forbidden') throw callable
}

function otherRequest(): GatewayError {
  return new GatewayError(
    'conflict',
    'this `Idempotency-Key` was sent with another request (path or body) before; use a new key for a new request',
    { param: 'Idempotency-Key', code: 'idempotency_key_reused' },
  )
}

function lostRequest(): GatewayError {
  return new GatewayError(
    'conflict',
    'the first request with this `Idempotency-Key` was begun and its answer is not there: its process ended, or the ' +
      'answer broke off or was too large to be kept. It may have been billed: look at GET /spend/logs, and use a new ' +
      'key to send it again',
    { param: 'Idempotency-Key', code: 'idempotency_answer_lost' },
  )
}

function replay({ status, headers, body }: KeptResponse): Answer {
  return { status, headers: { ...headers, 'idempotent-replayed': 'true' }, body }
}

/** The request is stored as begun before anything is done, and goes on when its client leaves. */
async function doFirst(
  repeatable: RepeatableRequest,
  own: FingerprintedRequest,
  claimed: IdempotentRequest,
): Promise<Answer> {
  const { endpoint, services, caller } = repeatable
  const { idempotentRequests: store } = services
  let answer: Answer
  try {
    answer = await endpoint.handle(own, services, caller)
  } catch (thrown) {
    const status = thrown instanceof GatewayError ? thrown.status : 500
    await (mayBeDone(own, endpoint, status) ? store.lost(claimed) : store.forget(claimed)).catch(() => {})
    own.release()
    throw thrown
  }
  const { status, headers, body } = answer
  const settle = async (bytes: Uint8Array | undefined): Promise<void> => {
    own.release()
    const done = { ...claimed, fingerprint: own.fingerprint ?? null }
    if (status >= 400 && !mayBeDone(own, endpoint, status)) return store.forget(done)
    if (!bytes || bytes.length > answerBytesMax) return store.lost(done)
    return store.answered(done, { status, headers: keptHeaders(headers), body: bytes })
  }
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
    // Whether or not it could be recorded: it is what was paid for.
    await settle(Buffer.from(body ?? '')).catch(() => {})
    return answer
  }
  return { ...answer, body: new RecordedStream(streamIn(body), settle) }
}

/** A failure after which a bill, or an object, may be there. Without a call of a model the status alone decides. */
function mayBeDone(own: FingerprintedRequest, { doc }: Endpoint, status: number): boolean {
  return own.mayBeBilled || (doc.callsModel !== true && status >= 500 && status !== 503)
}

function keptHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !passingHeaders.test(name)))
}

/** What is pulled becomes pushed. */
function streamIn(body: Exclude<AnswerBody, Uint8Array | string | null>): AnswerStream {
  if (isAnswerStream(body)) return body
  const reader = body.getReader()
  const pump = async (sink: AnswerSink): Promise<void> => {
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) sink.write(piece.value)
      sink.end()
    } catch {
      sink.abort()
    }
  }
  return { pipe: sink => void pump(sink), resume: () => {}, cancel: () => void reader.cancel() }
}

/** Records a stream on its way to the client, and to its end when the client has left. */
class RecordedStream implements AnswerStream {
  readonly #source: AnswerStream
  readonly #settle: (bytes: Uint8Array | undefined) => Promise<void>
  #pieces: Uint8Array[] = []
  #bytes = 0
  #sink: AnswerSink | undefined
  #isRead = false

  constructor(source: AnswerStream, settle: (bytes: Uint8Array | undefined) => Promise<void>) {
    this.#source = source
    this.#settle = settle
  }

  pipe(sink: AnswerSink): void {
    this.#sink = sink
    this.#read()
  }

  #read(): void {
    this.#isRead = true
    const isFull = (): boolean => this.#sink?.full ?? false
    this.#source.pipe({
      get full() {
        return isFull()
      },
      write: piece => {
        this.#record(piece)
        this.#sink?.write(piece)
      },
      // Stored before the client can know that the answer is complete: from then on it may ask for it again.
      end: () => void this.#end(this.#bytes > answerBytesMax ? undefined : Buffer.concat(this.#pieces)),
      abort: () => void this.#settled(undefined).then(() => this.#sink?.abort()),
    })
  }

  resume(): void {
    this.#source.resume()
  }

  cancel(): void {
    this.#sink = undefined
    if (this.#isRead) this.#source.resume()
    else this.#read()
  }

  #record(piece: Uint8Array | string): void {
    const bytes = typeof piece === 'string' ? Buffer.from(piece, 'utf8') : Uint8Array.from(piece)
    this.#bytes += bytes.length
    if (this.#bytes > answerBytesMax) this.#pieces = []
    else this.#pieces.push(bytes)
  }

  async #end(bytes: Uint8Array | undefined): Promise<void> {
    await this.#settled(bytes)
    this.#sink?.end()
  }

  /** The answer is complete all the same where its record could not be changed: that one is `lost` after a while. */
  async #settled(bytes: Uint8Array | undefined): Promise<void> {
    await this.#settle(bytes).catch(() => {})
  }
}
