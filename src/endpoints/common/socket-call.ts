/** A message of a WebSocket as a request of its own: admitted, limited, charged and recorded like any other. */
import type { GatewayError } from '../../core/errors.ts'
import { bodyTooLarge } from '../../core/request.ts'
import type { BodyReader, HttpRequest, RequestBody } from '../../core/request.ts'

/** The body is there as a whole. */
class MessageBody implements RequestBody {
  readonly announcedBytes: number
  readonly ended = true
  readonly #bytes: Uint8Array
  readonly #heldBytesMax: number
  #heldBytes = 0
  #isRead = false

  constructor(bytes: Uint8Array, heldBytesMax: number) {
    this.#bytes = bytes
    this.#heldBytesMax = heldBytesMax
    this.announcedBytes = bytes.length
  }

  read(bytesMax: number, reader: BodyReader): void {
    if (this.#bytes.length > bytesMax) reader.failed(bodyTooLarge(bytesMax))
    else reader.whole(this.#bytes)
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.#isRead) return undefined
    this.#isRead = true
    return this.#bytes
  }

  keep(): () => void {
    return () => {}
  }

  hold(bytes: number): void {
    this.#heldBytes += bytes
    if (this.#heldBytes > this.#heldBytesMax) throw bodyTooLarge(this.#heldBytesMax)
  }
}

type Listener = (why: GatewayError) => void

/** Has the headers and the addresses of the request that opened the socket. */
export class SocketCall implements HttpRequest {
  readonly method = 'POST'
  readonly path: string
  readonly params: Readonly<Record<string, string>> = {}
  readonly query = new URLSearchParams()
  readonly id = Bun.randomUUIDv7()
  readonly body: RequestBody
  readonly #opening: HttpRequest
  #why: GatewayError | undefined
  #listeners: Listener[] = []

  /** `heldBytesMax` = what may be read for it from the store. */
  constructor(opening: HttpRequest, path: string, bytes: Uint8Array, heldBytesMax: number) {
    this.#opening = opening
    this.path = path
    this.body = new MessageBody(bytes, heldBytesMax)
  }

  get headers(): HttpRequest['headers'] {
    return this.#opening.headers
  }

  get clientAddress(): string {
    return this.#opening.clientAddress
  }

  get peerAddress(): string {
    return this.#opening.peerAddress
  }

  get left(): boolean {
    return this.#why !== undefined
  }

  onLeft(listener: Listener): void {
    this.#listeners.push(listener)
  }

  /** The client is gone, or the gateway waits no longer; once. */
  leave(why: GatewayError): void {
    if (this.#why) return
    this.#why = why
    for (const listener of this.#listeners.splice(0)) listener(why)
  }
}
