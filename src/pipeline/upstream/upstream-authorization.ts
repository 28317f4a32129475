/** Authenticates calls to upstreams where a fixed header is not enough: signatures and short-lived tokens. */
import { GatewayError } from '../../core/errors.ts'
import type { Authorization, SignableCall, Target } from '../../core/provider.ts'
import type { BodyPiece, Transport, UpstreamRequest, UpstreamExchange } from '../../core/transport.ts'
import type { Clock } from '../../lib/clock.ts'

const tokenAnswerBytesMax = 1024 * 1024
/** A token is replaced this long before it expires, so that none expires in transit. */
const marginMs = 60_000

interface HeldToken {
  readonly token: Promise<string>
  /** By both clocks: one may be set back, one stands still while the machine sleeps. Infinity = being fetched. */
  freshUntil: { readonly epochMs: number; readonly monotonicMs: number }
}

/** Adds the headers of `Authorization` to calls; caches tokens, one per target. */
export class Authorizer {
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #tokens = new WeakMap<Target, HeldToken>()

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport
    this.#clock = clock
  }

  /** The request with its authentication headers. Rejects with `upstream-credentials` when no token can be fetched. */
  async authorize(request: UpstreamRequest, target: Target, authorization: Authorization): Promise<UpstreamRequest> {
    const token = await this.#token(target, authorization, request)
    const epochMs = this.#clock.epochMs()
    const call: SignableCall = {
      method: request.method,
      ...request.head,
      // Used only by signatures over the body, for which files are read into memory as a whole.
      get body() {
        return request.body.map(bytesOfPiece)
      },
    }
    const proof = authorization.headers(call, target, token === undefined ? { epochMs } : { epochMs, token })
    return { ...request, head: { url: request.head.url, headers: { ...request.head.headers, ...proof } } }
  }

  #token(target: Target, authorization: Authorization, request: UpstreamRequest): Promise<string | undefined> {
    const held = this.#tokens.get(target)
    if (
      held &&
      held.freshUntil.epochMs > this.#clock.epochMs() &&
      held.freshUntil.monotonicMs > this.#clock.monotonicMs()
    )
      return held.token
    const tokenRequest = authorization.tokenRequest?.(target, this.#clock.epochMs())
    if (!tokenRequest || !authorization.readToken) return Promise.resolve(undefined)
    const read = authorization.readToken
    const answered = this.#ask({ ...request, ...tokenRequest, body: [Buffer.from(tokenRequest.body, 'utf8')] }).then(
      body => read(body, this.#clock.epochMs()),
    )
    const fresh: HeldToken = {
      token: answered.then(({ token }) => token),
      freshUntil: { epochMs: Infinity, monotonicMs: Infinity },
    }
    this.#tokens.set(target, fresh)
    answered.then(
      ({ lifetimeS }) => {
        const freshMs = lifetimeS * 1000 - marginMs
        fresh.freshUntil = {
          epochMs: this.#clock.epochMs() + freshMs,
          monotonicMs: this.#clock.monotonicMs() + freshMs,
        }
      },
      () => this.#tokens.delete(target),
    )
    return fresh.token
  }

  async #ask(request: UpstreamRequest): Promise<unknown> {
    const response = await this.#transport.send(request).response
    const text = new TextDecoder().decode(await response.body.bytes(tokenAnswerBytesMax))
    if (response.status !== 200)
      throw new GatewayError('upstream-credentials', `the provider's token service answered ${response.status}`, {
        cause: text.slice(0, 500),
      })
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw new GatewayError('upstream-credentials', "the provider's token service did not answer JSON", { cause })
    }
  }
}

function bytesOfPiece(piece: BodyPiece): Uint8Array {
  if (piece instanceof Uint8Array) return piece
  const bytes = new Uint8Array(piece.length)
  for (let at = 0; at < bytes.length; ) {
    const read = piece.file.read(bytes.subarray(at), piece.offset + at)
    if (read === 0) throw new GatewayError('internal', 'the file of this call can no longer be read')
    at += read
  }
  return bytes
}

/** An exchange that is sent later: a cancel before that prevents it. */
export function deferredExchange(sending: Promise<UpstreamExchange>): UpstreamExchange {
  let cancelled = false
  let exchange: UpstreamExchange | undefined
  const response = sending.then(sent => {
    exchange = sent
    if (cancelled) sent.cancel()
    return sent.response
  })
  return {
    response,
    get sent() {
      return exchange?.sent ?? false
    },
    cancel() {
      cancelled = true
      exchange?.cancel()
    },
  }
}
