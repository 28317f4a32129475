/** A request as the server hands it over, and one made inside of this program. */
import { JsonBody, JsonBodyError } from '../lib/json/json-body.ts'
import { GatewayError } from './errors.ts'

/** Whoever waits for an answer. */
export interface Client {
  readonly clientAddress: string
  readonly left: boolean
  /**
   * Calls `listener` once when the client leaves before its answer is complete (`client-closed`), or when the gateway
   * stops and cannot wait for the answer any longer: then there is a moment left to tell the client.
   */
  onLeft(listener: (why: GatewayError) => void): void
}

/** What ends a call whose client left. */
export const clientClosed = (): GatewayError =>
  new GatewayError('client-closed', 'the client closed the connection before the answer was complete')

/** The headers of a request. */
export interface RequestHeaders {
  /** By lower-case name; several lines are joined by a comma. null = not sent. */
  get(name: string): string | null
  has(name: string): boolean
}

/** Who is handed a body: one of the two is called, once. */
export interface BodyReader {
  whole(bytes: Uint8Array): void
  /** `too-large`, `client-closed`, `body-timeout`, or `invalid-request` when its framing is broken. */
  failed(error: GatewayError): void
}

/** Read once, in one of two ways. */
export interface RequestBody {
  /** As the request says; undefined = not said. */
  readonly announcedBytes: number | undefined
  /** The whole body, at once when it is there already. */
  read(bytesMax: number, reader: BodyReader): void
  /** The next piece at the pace of the caller, undefined at the end. Rejects as `BodyReader.failed` says. */
  next(): Promise<Uint8Array | undefined>
}

/** A request after routing. Paths are matched once, on one parsed form. */
export interface HttpRequest extends Client {
  readonly headers: RequestHeaders
  readonly body: RequestBody
  readonly method: string
  /** As sent, without the query. */
  readonly path: string
  /** Decoded path parameters: `{model}` may hold slashes. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** UUID v7 for `x-request-id`. */
  readonly id: string
}

/** As a promise, for whoever is in no hurry. */
export function readBody(body: RequestBody, bytesMax: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => body.read(bytesMax, { whole: resolve, failed: reject }))
}

/** What a body beyond the limit is told. */
export function bodyTooLarge(bytesMax: number): GatewayError {
  return new GatewayError(
    'too-large',
    `the body is larger than ${bytesMax} bytes, the limit of this gateway; its operator can raise max_request_size_mb`,
  )
}

/** Bodies are read as they are: a compressed one could unfold without end. Throws `unsupported-media`. */
export function checkEncoding(headers: RequestHeaders): void {
  const encoding = headers.get('content-encoding')
  if (encoding && encoding !== 'identity')
    throw new GatewayError(
      'unsupported-media',
      `content-encoding '${encoding}' is not accepted; send the body as it is`,
    )
}

/** The outline of a client's JSON. Throws `invalid-request`, with the place, when it is not one JSON object within the limits. */
export function readJsonBody(bytes: Uint8Array): JsonBody {
  if (bytes.length === 0) throw new GatewayError('invalid-request', 'the body is empty; send a JSON object')
  try {
    return JsonBody.read(bytes)
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw new GatewayError('invalid-request', cause.message, { cause })
  }
}

/** The body of a request that is made here. */
export class BytesBody implements RequestBody {
  readonly announcedBytes: number
  #bytes: Uint8Array | undefined

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.announcedBytes = bytes.length
  }

  read(bytesMax: number, reader: BodyReader): void {
    const bytes = this.#bytes ?? new Uint8Array()
    this.#bytes = undefined
    if (bytes.length > bytesMax) reader.failed(bodyTooLarge(bytesMax))
    else reader.whole(bytes)
  }

  async next(): Promise<Uint8Array | undefined> {
    const bytes = this.#bytes
    this.#bytes = undefined
    return bytes
  }
}

/** What a request is made of that the gateway sends itself. */
export interface RequestParts extends Pick<HttpRequest, 'id' | 'path' | 'params' | 'query' | 'headers'> {
  /** POST unless said. */
  readonly method?: string
  readonly bytes: Uint8Array
  readonly client: Client
}

/** A request with this body, to be answered like one from the wire. */
export function madeRequest({
  method = 'POST',
  bytes,
  client,
  id,
  path,
  params,
  query,
  headers,
}: RequestParts): HttpRequest {
  return {
    method,
    id,
    path,
    params,
    query,
    headers,
    body: new BytesBody(bytes),
    clientAddress: client.clientAddress,
    get left() {
      return client.left
    },
    onLeft: listener => client.onLeft(listener),
  }
}

/** A client inside of this program: it leaves when `signal` aborts. */
export class SignalClient implements Client {
  readonly clientAddress: string
  readonly #signal: AbortSignal

  constructor(signal: AbortSignal, clientAddress: string) {
    this.#signal = signal
    this.clientAddress = clientAddress
  }

  get left(): boolean {
    return this.#signal.aborted
  }

  onLeft(listener: (why: GatewayError) => void): void {
    this.#signal.addEventListener('abort', () => listener(clientClosed()), { once: true })
  }
}
