/** A request while its connection carries it. */
import type { GatewayError } from '../../core/errors.ts'
import type { Client } from '../../core/request.ts'
import type { IncomingBody } from './incoming-body.ts'
import type { RequestHead } from './request-head.ts'

/** A request as it comes from the wire. */
export interface IncomingRequest extends Client {
  readonly head: RequestHead
  readonly body: IncomingBody
}

type Listener = (why: GatewayError) => void

/** The request as the rest of the program sees it. */
export class ConnectedRequest implements IncomingRequest {
  readonly head: RequestHead
  readonly body: IncomingBody
  readonly #connection: { readonly address: string }
  #left = false
  #over = false
  #listener: Listener | undefined
  #more: Listener[] | undefined

  constructor(connection: { readonly address: string }, head: RequestHead, body: IncomingBody) {
    this.#connection = connection
    this.head = head
    this.body = body
  }

  get clientAddress(): string {
    return this.#connection.address
  }

  get left(): boolean {
    return this.#left
  }

  onLeft(listener: Listener): void {
    if (this.#over) return
    if (this.#listener) (this.#more ??= []).push(listener)
    else this.#listener = listener
  }

  /** The answer is complete: from here on nobody can leave. */
  answered(): void {
    this.#over = true
    this.#listener = undefined
    this.#more = undefined
  }

  /** The client has left: nothing happens when the answer was complete. */
  leave(error: GatewayError): void {
    if (this.#over) return
    this.#over = true
    this.interrupt(error)
  }

  /** The gateway cannot wait for the answer any longer; what is answered in this moment still goes out. */
  interrupt(error: GatewayError): void {
    const listener = this.#listener
    const more = this.#more ?? []
    this.#listener = undefined
    this.#more = undefined
    this.#left = true
    if (!this.body.ended) this.body.fail(error)
    listener?.(error)
    for (const one of more) one(error)
  }
}
