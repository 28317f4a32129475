/** What a request consists of: its client, headers and body, and how a body is read. */
import { JsonBody, JsonBodyError } from '../lib/json/json-body.ts'
import { GatewayError } from './errors.ts'

/** Who waits for an answer. */
export interface Client {
  /** Its own, where the proxies in front are trusted to tell it (`trusted_proxies`); else that of its connection. */
  readonly clientAddress: string
  readonly left: boolean
  /**
   * Calls `listener` once when the client leaves before its answer is complete (`client-closed`), or when the gateway
   * stops and cannot wait for the answer any longer: then there is a moment left to answer the client.
   */
  onLeft(listener: (why: GatewayError) => void): void
  /** Called when a call of it has ended that an upstream may bill; absent = does not ask. */
  billed?(): void
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

/** Receives a body: exactly one of the two is called, once. */
export interface BodyReader {
  whole(bytes: Uint8Array): void
  /**
   * `too-large`, `overloaded`, `client-closed`, `body-timeout`, `unsupported-media` (an encoding that is not known), or
   * `invalid-request` when its framing or its encoding is broken.
   */
  failed(error: GatewayError): void
}

/** Read once, in one of two ways, unpacked where the client sent it compressed. */
export interface RequestBody {
  /** As the request says; undefined = not said, or compressed. */
  readonly announcedBytes: number | undefined
  /** All of it has arrived. */
  readonly ended: boolean
  /** The whole body, at once when it is there already. */
  read(bytesMax: number, reader: BodyReader): void
  /** The next piece at the pace of the caller, undefined at the end. Rejects as `BodyReader.failed` says. */
  next(): Promise<Uint8Array | undefined>
  /** Its memory stays counted when the request is over, until the returned function is called. */
  keep(): () => void
  /**
   * Counts what was unpacked from the body, or read for the request from the store, as memory of the body, until the
   * request is over. Throws `overloaded` when there is no room for it.
   */
  hold(bytes: number): void
}

/** A request after routing. Paths are matched once, on one parsed form. */
export interface HttpRequest extends Client {
  /** The address of the connection: of the client, or of the last proxy. */
  readonly peerAddress: string
  readonly headers: RequestHeaders
  readonly body: RequestBody
  readonly method: string
  /** As sent, without the query. */
  readonly path: string
  /** Decoded path parameters: `{model}` may hold slashes. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** UUID v7: the gateway's own id, which is `x-request-id` unless the client sent one. */
  readonly id: string
}

const requestIdForm = /^[A-Za-z0-9._:/@=+~-]{1,128}$/

/** The client's own `x-request-id`, if it is short and safe in headers, logs and URLs; it need not be unique. */
export function clientRequestId(headers: RequestHeaders): string | undefined {
  const id = headers.get('x-request-id')
  return id !== null && isSafeId(id) ? id : undefined
}

/** true = 1 to 128 characters, all safe in headers, logs and URLs. */
export function isSafeId(id: string): boolean {
  return requestIdForm.test(id)
}

/** A request from the wire, before and while it is routed. */
export interface IncomingRequest extends HttpRequest {
  /** Replaced by the router where a trusted proxy names another. */
  clientAddress: string
  /** Without the prefix below which the gateway is served (`SERVER_ROOT_PATH`), once the router has it. */
  path: string
  /** Set when the endpoint is found. */
  params: Readonly<Record<string, string>>
  /** Replaced where its end has to be waited for; see `endpoints/common/late-body.ts`. */
  body: RequestBody
  /** Set when the request's key has proved valid. Other requests hold their connection only for moments. */
  authenticated: boolean
  /** Set with `authenticated`, to the id of the key: the keys share the memory for bodies. */
  set owner(keyId: string)
}

/** The whole body as a promise, where an await per call does not matter. Rejects as `BodyReader.failed` says. */
export function readBody(body: RequestBody, bytesMax: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => body.read(bytesMax, { whole: resolve, failed: reject }))
}

/** The error of a body beyond the limit. */
export function bodyTooLarge(bytesMax: number): GatewayError {
  return new GatewayError(
    'too-large',
    `the body is larger than ${bytesMax} bytes, the limit of this gateway; its operator can raise max_request_size_mb`,
  )
}

/**
 * The outline of a client's JSON. Throws `invalid-request` with the place when it is no JSON object within the limits.
 */
export function readJsonBody(bytes: Uint8Array): JsonBody {
  if (bytes.length === 0) throw new GatewayError('invalid-request', 'the body is empty; send a JSON object')
  try {
    return JsonBody.read(bytes)
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw new GatewayError('invalid-request', cause.message, { cause })
  }
}
