/** Controls one running call: cancels the upstream exchange when the client leaves, settles the call once. */
import type { GatewayError } from '../core/errors.ts'
import type { Outcome } from '../core/hub/operation.ts'
import { clientClosed } from '../core/request.ts'
import type { Client } from '../core/request.ts'
import type { UpstreamExchange } from '../core/transport.ts'
import type { CallRecord } from './call-record.ts'
import type { Settle } from './settlement/settle.ts'
import { endRequest, oweRequest } from './settlement/usage.ts'

/** Is called when an attempt ends together with its call: the end of a stream, or a client that left. */
export interface AttemptListener {
  ended(control: CallControl, outcome: Outcome, error: GatewayError | undefined): void
}

/** One per call. Listens for the client's leaving from the start; `left` is true for one that left before. */
export class CallControl {
  readonly call: CallRecord
  /** Ends the call when the client leaves: the cancelled exchange reports nothing. */
  onLeft: ((error: GatewayError) => void) | undefined
  /** Set while an attempt is under way. */
  attempting: AttemptListener | undefined
  /** The stream to the client, which can report an end that the gateway decides. */
  stream: { interrupted(error: GatewayError): void } | undefined
  readonly #settle: Settle
  #settled = false
  #exchange: UpstreamExchange | undefined
  #left = false

  constructor(call: CallRecord, settle: Settle) {
    this.call = call
    this.#settle = settle
    this.#listen(call.client)
  }

  #listen(client: Client): void {
    if (client.left) this.#left = true
    else
      client.onLeft(why => {
        // The call may continue for another client, in the background.
        if (this.call.client !== client) return
        if (why.kind === 'client-closed') this.#clientClosed()
        else this.#interrupted(why)
      })
  }

  /** Others may wait for the same answer: then the call goes on for them. */
  #clientClosed(): void {
    const { watch } = this.call
    if (watch === undefined || !watch.outlives(() => this.clientLeft())) this.clientLeft()
  }

  get settled(): boolean {
    return this.#settled
  }

  /** When the last attempt was sent, on the monotonic clock. */
  get sentMs(): number {
    return this.call.progress.sentMs
  }

  get left(): boolean {
    return this.#left
  }

  /** Idempotent: the first call decides the outcome. */
  settle(outcome: Outcome, status: number, error?: GatewayError): void {
    if (this.#settled) return
    this.#settled = true
    this.attempting?.ended(this, outcome, error)
    oweRequest(this.call, this.#exchange?.sent ?? false)
    this.#settle(this.call, outcome, status, error)
  }

  /** Continues the call for `client`; the previous one no longer matters. */
  continueFor(client: Client): void {
    this.call.client = client
    this.#left = false
    this.#listen(client)
    if (this.#left) this.clientLeft()
  }

  /** Sets the exchange to be cancelled when the client leaves; cancels it at once if it has left. */
  setExchange(exchange: UpstreamExchange, nowMs: number): void {
    this.#exchange = exchange
    this.call.progress.sentMs = nowMs
    const { attempt } = this.call
    if (attempt) attempt.sentMs = nowMs
    if (this.#left) exchange.cancel()
  }

  /** The exchange has answered, whole or with the beginning of a stream: the wait for the upstream ends. */
  answered(nowMs: number): void {
    this.call.progress.upstreamMs += nowMs - this.sentMs
    const { attempt } = this.call
    if (attempt) attempt.answeredMs = nowMs
  }

  /** The exchange has failed and is cancelled; what it used is owed. */
  failed(nowMs: number): void {
    const exchange = this.#exchange
    if (!exchange) return
    this.call.progress.upstreamMs += nowMs - this.sentMs
    const { attempt } = this.call
    if (attempt) attempt.answeredMs = nowMs
    exchange.cancel()
    this.#exchange = undefined
    if (!this.#settled) endRequest(this.call, exchange.sent)
  }

  /** The client closed its connection: the upstream exchange is cancelled at once. */
  clientLeft(): void {
    this.#left = true
    this.#exchange?.cancel()
    const error = clientClosed()
    this.settle('client_closed', error.status, error)
    this.onLeft?.(error)
  }

  /** The gateway stops and no longer waits for the call. */
  #interrupted(error: GatewayError): void {
    this.#left = true
    if (this.stream) return this.stream.interrupted(error)
    this.#exchange?.cancel()
    this.settle('interrupted', error.status, error)
    this.onLeft?.(error)
  }
}
