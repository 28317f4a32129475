/** A request from the wire: the one object that the server, the router and the endpoints share. */
import { randomUUIDv7 } from 'bun'
import type { IncomingRequest, RequestBody } from '../../core/request.ts'
import type { GatewayError } from '../../core/errors.ts'
import { decodedBody } from './content-encoding.ts'
import type { IncomingBody } from './incoming-body.ts'
import type { RequestHead } from './request-head.ts'

type Listener = (why: GatewayError) => void

const noParams: Readonly<Record<string, string>> = {}

/** Made when the head is complete; valid until `complete` or `abort`. What few requests need is made at first use. */
export class ServerRequest implements IncomingRequest {
  readonly method: string
  /** Set by the router, below a prefix; see `IncomingRequest`. */
  path: string
  /** Set by the router; see `IncomingRequest`. */
  params = noParams
  /** Set by the router; see `IncomingRequest`. */
  authenticated = false
  readonly headers: RequestHead
  /** May be replaced by the router; see `IncomingRequest`. */
  body: RequestBody
  /** The body as it arrives. */
  readonly incoming: IncomingBody
  readonly #connection: { readonly address: string }
  #id: string | undefined
  #clientAddress: string | undefined
  #query: URLSearchParams | undefined
  #left = false
  #over = false
  #listener: Listener | undefined
  #moreListeners: Listener[] | undefined

  constructor(connection: { readonly address: string }, headers: RequestHead, incoming: IncomingBody) {
    const { target } = headers
    const queryStart = target.indexOf('?')
    this.method = headers.method
    this.path = queryStart < 0 ? target : target.slice(0, queryStart)
    this.headers = headers
    this.incoming = incoming
    this.body = decodedBody(incoming, headers.get('content-encoding'))
    this.#connection = connection
  }

  /** Set by the router; see `IncomingRequest`. */
  set owner(owner: string) {
    this.incoming.owner = owner
  }

  get id(): string {
    return (this.#id ??= randomUUIDv7())
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(/\?.*/s.exec(this.headers.target)?.[0]))
  }

  get peerAddress(): string {
    return this.#connection.address
  }

  get clientAddress(): string {
    return this.#clientAddress ?? this.#connection.address
  }

  /** Set by the router; see `IncomingRequest`. */
  set clientAddress(address: string) {
    this.#clientAddress = address
  }

  get left(): boolean {
    return this.#left
  }

  onLeft(listener: Listener): void {
    if (this.#over) return
    if (this.#listener) (this.#moreListeners ??= []).push(listener)
    else this.#listener = listener
  }

  // ---- what the connection calls

  /** The answer is complete: a client that leaves now is no longer reported. */
  complete(): void {
    if (!this.#over) this.incoming.release()
    this.#over = true
    this.#listener = undefined
    this.#moreListeners = undefined
  }

  /** The client has left. Does nothing once the answer is complete. */
  abort(error: GatewayError): void {
    if (this.#over) return
    this.#over = true
    this.interrupt(error)
    this.incoming.release()
  }

  /** The gateway stops and cannot wait for the answer; an answer that is given synchronously now is still sent. */
  interrupt(error: GatewayError): void {
    const listener = this.#listener
    const more = this.#moreListeners ?? []
    this.#listener = undefined
    this.#moreListeners = undefined
    this.#left = true
    if (!this.incoming.ended) this.incoming.fail(error)
    listener?.(error)
    for (const one of more) one(error)
  }
}
