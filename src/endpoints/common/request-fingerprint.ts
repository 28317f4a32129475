/** A request that goes on without its client, with the fingerprint of what it asks for. */
import { createHash } from 'node:crypto'
import { clientClosed } from '../../core/request.ts'
import type { BodyReader, HttpRequest, RequestBody } from '../../core/request.ts'
import type { GatewayError } from '../../core/errors.ts'
import { parsedObject } from '../../lib/json/json-values.ts'

/** For one `Idempotency-Key`. The client's leaving is not passed on: its answer is recorded for the next time. */
export class FingerprintedRequest implements HttpRequest {
  readonly #request: HttpRequest
  readonly body: RequestBody
  readonly isForm: boolean
  /** A call of it was sent to an upstream that may bill it. */
  mayBeBilled = false
  #fingerprint: string | undefined
  #release: (() => void) | undefined

  constructor(request: HttpRequest) {
    this.#request = request
    const type = request.headers.get('content-type') ?? ''
    this.isForm = /^multipart\//i.test(type)
    const boundary = /boundary="?([^";]+)/i.exec(type)?.[1] ?? ''
    this.#hash = new FormHash(boundary, this.#line())
    this.body = this.isForm ? this.#formBody() : this.#takenBody()
  }

  readonly #hash: FormHash
  #taken: Uint8Array = new Uint8Array()

  /** Hexadecimal; undefined = the form is not read to its end. */
  get fingerprint(): string | undefined {
    return this.#fingerprint
  }

  /** The body, of a request that is no form. */
  take(bytes: Uint8Array): void {
    this.#taken = bytes
    this.#release = this.#request.body.keep()
    this.#fingerprint = createHash('sha256').update(this.#line()).update(bytes).digest('hex')
  }

  /** The model that the path, the query or a JSON body names; undefined = none, or a form does. */
  get model(): string | undefined {
    const { params, query } = this.#request
    const inBody = this.#taken.length === 0 ? undefined : parsedObject(Buffer.from(this.#taken).toString('utf8'))?.model
    const named = params.model ?? (typeof inBody === 'string' ? inBody : undefined) ?? query.get('model') ?? undefined
    return named?.replace(/^models\//, '')
  }

  /** Reads a form for its fingerprint alone. Rejects as its reading does. */
  async readAll(): Promise<void> {
    while ((await this.body.next()) !== undefined);
  }

  /** The body's memory is no longer needed. */
  release(): void {
    this.#release?.()
    this.#release = undefined
  }

  // ---- the request

  get headers(): HttpRequest['headers'] {
    return this.#request.headers
  }
  get method(): string {
    return this.#request.method
  }
  get path(): string {
    return this.#request.path
  }
  get params(): HttpRequest['params'] {
    return this.#request.params
  }
  get query(): URLSearchParams {
    return this.#request.query
  }
  get id(): string {
    return this.#request.id
  }
  get peerAddress(): string {
    return this.#request.peerAddress
  }

  get clientAddress(): string {
    return this.#request.clientAddress
  }
  get left(): boolean {
    return false
  }

  onLeft(listener: (why: GatewayError) => void): void {
    const closed = clientClosed().kind
    this.#request.onLeft(why => {
      if (why.kind !== closed) listener(why)
    })
  }

  billed(): void {
    this.mayBeBilled = true
  }

  // ---- inside

  /** What is asked, beside the body. A key in the query is no part of it. */
  #line(): string {
    const query = [...this.#request.query].filter(([name]) => name !== 'key').sort()
    return JSON.stringify([this.#request.method, this.#request.path, query])
  }

  #takenBody(): RequestBody {
    const taken = () => this.#taken
    const { body } = this.#request
    let isRead = false
    return {
      get announcedBytes() {
        return taken().length
      },
      ended: true,
      read: (_bytesMax: number, reader: BodyReader) => reader.whole(taken()),
      async next() {
        if (isRead) return undefined
        isRead = true
        return taken()
      },
      keep: () => body.keep(),
      hold: bytes => body.hold(bytes),
    }
  }

  #formBody(): RequestBody {
    const { body } = this.#request
    return {
      announcedBytes: body.announcedBytes,
      get ended() {
        return body.ended
      },
      read: (bytesMax, reader) => body.read(bytesMax, reader),
      next: async () => {
        const piece = await body.next()
        if (piece) this.#hash.update(piece)
        else this.#fingerprint ??= this.#hash.digest()
        return piece
      },
      keep: () => body.keep(),
      hold: bytes => body.hold(bytes),
    }
  }
}

/** Of a form without its boundary, which clients choose anew each time. */
class FormHash {
  readonly #boundary: Buffer
  readonly #hash = createHash('sha256')
  /** The last bytes so far: a boundary may have begun in them. */
  #rest = Buffer.alloc(0)

  constructor(boundary: string, line: string) {
    this.#boundary = Buffer.from(boundary, 'latin1')
    this.#hash.update(line)
  }

  update(piece: Uint8Array): void {
    const { length } = this.#boundary
    let data = Buffer.concat([this.#rest, piece])
    if (length > 0)
      for (let at = data.indexOf(this.#boundary); at >= 0; at = data.indexOf(this.#boundary)) {
        this.#hash.update(data.subarray(0, at))
        data = data.subarray(at + length)
      }
    const kept = Math.min(Math.max(length - 1, 0), data.length)
    this.#hash.update(data.subarray(0, data.length - kept))
    this.#rest = data.subarray(data.length - kept)
  }

  digest(): string {
    return this.#hash.update(this.#rest).digest('hex')
  }
}
