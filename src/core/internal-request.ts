/** Requests that the gateway makes itself: runs of assistants, background responses, replayed bodies. */
import { randomUUIDv7 } from 'bun'
import type { GatewayError } from './errors.ts'
import { gatewayKeyHeaders, vendorKeyHeaders } from './client-credential.ts'
import { bodyTooLarge, clientClosed } from './request.ts'
import type { BodyReader, Client, HttpRequest, IncomingRequest, RequestBody, RequestHeaders } from './request.ts'
import { exactText } from '../lib/json/exact-json.ts'

/** The parts of a request that the gateway sends itself. */
export interface RequestParts extends Pick<HttpRequest, 'id' | 'path' | 'params' | 'query' | 'headers'> {
  /** Default: POST. */
  readonly method?: string
  readonly bytes: Uint8Array
  readonly client: Client
}

/** A request with the body `bytes`, to be answered like one from the network. */
export function internalRequest(parts: RequestParts): IncomingRequest {
  const { method = 'POST', bytes, client, id, path, params, query, headers } = parts
  return {
    method,
    id,
    path,
    params,
    query,
    headers,
    authenticated: false,
    owner: '',
    body: new BytesBody(bytes),
    clientAddress: client.clientAddress,
    peerAddress: client.clientAddress,
    get left() {
      return client.left
    },
    onLeft: listener => client.onLeft(listener),
  }
}

/** The parts of a POST with a JSON body. `headers` = those beside its content type. */
interface JsonRequestParts {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
  readonly client: Client
}

/** A POST with a JSON body and an id of its own. */
export function internalJsonRequest({ path, headers, body, client }: JsonRequestParts): IncomingRequest {
  return internalRequest({
    id: randomUUIDv7(),
    path,
    params: {},
    query: new URLSearchParams(),
    headers: new Headers({ 'content-type': 'application/json', ...headers }),
    bytes: Buffer.from(exactText(body)),
    client,
  })
}

/**
 * Headers of a client that hold for the further calls that the gateway makes within its own: what changes an answer,
 * by which calls are found, what limits them, and with whose credentials they are made.
 */
const followingHeaders = [
  ...['anthropic-version', 'anthropic-beta', 'openai-beta', 'x-litellm-tags', 'x-proxy-session-budget'],
  ...gatewayKeyHeaders,
  ...vendorKeyHeaders,
  ...['openai-organization', 'openai-project', 'chatgpt-account-id', 'originator', 'x-app'],
]

/** What of a call its further calls have in common with it. */
interface Followed {
  readonly headers: RequestHeaders | undefined
  readonly userAgent: string
  readonly sessionId: string | null
}

/** The headers of a further call that the gateway makes within one of a client. */
export function followUpHeaders({ headers, userAgent, sessionId }: Followed): Record<string, string> {
  const given: Record<string, string> = {}
  for (const name of followingHeaders) {
    const value = headers?.get(name)
    if (value) given[name] = value
  }
  return { ...given, 'user-agent': userAgent, ...(sessionId !== null && { 'x-proxy-session-id': sessionId }) }
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

class BytesBody implements RequestBody {
  readonly announcedBytes: number
  readonly ended = true
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

  keep(): () => void {
    return () => {}
  }

  /** What the gateway asks itself is bounded where it begins. */
  hold(): void {}
}
