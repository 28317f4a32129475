/** The hand on a running call: lets the client's leaving end whatever is waiting, and settles once. */
import type { Call, Outcome } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { TimerEntry } from '../lib/timer-wheel.ts'
import type { UpstreamExchange } from '../core/transport.ts'

export type Settle = (call: Call, outcome: Outcome, status: number, error: GatewayError | undefined) => void

export class CallControl {
  readonly call: Call
  readonly #settle: Settle
  #settled = false
  #exchange: UpstreamExchange | undefined
  #rejectWaiting: ((error: GatewayError) => void) | undefined
  #left = false

  /** Runs out when a whole answer takes long. */
  readonly longWait: TimerEntry

  constructor(call: Call, settle: Settle, longWait: TimerEntry) {
    this.longWait = longWait
    this.call = call
    this.#settle = settle
    if (call.signal.aborted) this.#left = true
    else call.signal.addEventListener('abort', () => this.clientLeft(), { once: true })
  }

  get settled(): boolean {
    return this.#settled
  }

  /** Idempotent: whoever comes first decides how the call ended. */
  settle(outcome: Outcome, status: number, error?: GatewayError): void {
    if (this.#settled) return
    this.#settled = true
    this.#settle(this.call, outcome, status, error)
  }

  /** Waits for a step of `exchange`; rejects with `client-closed` as soon as the client leaves. */
  wait<T>(exchange: UpstreamExchange, step: Promise<T>): Promise<T> {
    if (this.#left) {
      exchange.cancel()
      return Promise.reject(clientClosed())
    }
    this.#exchange = exchange
    return new Promise<T>((resolve, reject) => {
      this.#rejectWaiting = reject
      step.then(resolve, reject)
    })
  }

  /** The client closed its connection: the upstream is closed now, not when someone next looks. */
  clientLeft(): void {
    this.#left = true
    this.#exchange?.cancel()
    const error = clientClosed()
    this.settle('client_closed', error.status, error)
    this.#rejectWaiting?.(error)
  }
}

function clientClosed(): GatewayError {
  return new GatewayError('client-closed', 'the client closed the connection before the answer was complete')
}
