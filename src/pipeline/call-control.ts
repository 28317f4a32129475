/** Watches one running call: the client's leaving ends what is under way upstream, and the call is settled once. */
import type { Call } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import type { Outcome } from '../core/operation.ts'
import { clientClosed } from '../core/request.ts'
import type { Client } from '../core/request.ts'
import type { UpstreamExchange } from '../core/transport.ts'

/**
 * Told once how a call ended. `status` is what the client got: a stream that broke off still says 200. `error` is
 * undefined after a success without any failure.
 */
export type Settle = (call: Call, outcome: Outcome, status: number, error: GatewayError | undefined) => void

/** One per call. It listens for the client from the beginning; a client that left before that is seen by `left`. */
export class CallControl {
  readonly call: Call
  /** Answers the client when it leaves: what was under way never comes back. */
  onLeft: ((error: GatewayError) => void) | undefined
  /** The stream that flows to the client: it can tell of an end that the gateway itself makes. */
  stream: { interrupted(error: GatewayError): void } | undefined
  readonly #settle: Settle
  #settled = false
  #exchange: UpstreamExchange | undefined
  #sentMs = 0
  #left = false

  constructor(call: Call, settle: Settle) {
    this.call = call
    this.#settle = settle
    this.#listen(call.client)
  }

  #listen(client: Client): void {
    if (client.left) this.#left = true
    else
      client.onLeft(why => {
        // The call may go on for another client, in the background.
        if (this.call.client !== client) return
        if (why.kind === 'client-closed') this.clientLeft()
        else this.#interrupted(why)
      })
  }

  get settled(): boolean {
    return this.#settled
  }

  get left(): boolean {
    return this.#left
  }

  /** Idempotent: the first one decides how the call ended. */
  settle(outcome: Outcome, status: number, error?: GatewayError): void {
    if (this.#settled) return
    this.#settled = true
    this.#settle(this.call, outcome, status, error)
  }

  /** From here on the call is for `client`; what becomes of the one before changes nothing. */
  continueFor(client: Client): void {
    this.call.client = client
    this.#left = false
    this.#listen(client)
    if (this.#left) this.clientLeft()
  }

  /** The exchange that is to be cancelled when the client leaves, at once if it has left. */
  carries(exchange: UpstreamExchange, nowMs: number): void {
    this.#exchange = exchange
    this.#sentMs = nowMs
    if (this.#left) exchange.cancel()
  }

  /** The exchange has answered, whole or with the beginning of a stream: from here on the time is the gateway's. */
  answered(nowMs: number): void {
    this.call.upstreamMs += nowMs - this.#sentMs
  }

  /** The exchange has failed: nothing of it may go on. */
  failed(nowMs: number): void {
    if (!this.#exchange) return
    this.call.upstreamMs += nowMs - this.#sentMs
    this.#exchange.cancel()
    this.#exchange = undefined
  }

  /** The client closed its connection: the upstream exchange is cancelled at once. */
  clientLeft(): void {
    this.#left = true
    this.#exchange?.cancel()
    const error = clientClosed()
    this.settle('client_closed', error.status, error)
    this.onLeft?.(error)
  }

  /** The gateway stops and waits no longer. */
  #interrupted(error: GatewayError): void {
    this.#left = true
    if (this.stream) return this.stream.interrupted(error)
    this.#exchange?.cancel()
    this.settle('interrupted', error.status, error)
    this.onLeft?.(error)
  }
}
