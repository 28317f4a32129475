/** The body of a call, read before the call is made, and the same request with another body. */
import type { HttpRequest, Services } from '../../core/endpoint.ts'
import { JsonBody, JsonBodyError } from '../../lib/json-body.ts'

export interface ReadRequest {
  /** To be called in place of the original, whose body is gone. */
  readonly request: HttpRequest
  /** Undefined = not readable; the call itself says why. */
  readonly body: JsonBody | undefined
}

export async function readRequest(request: HttpRequest, services: Services): Promise<ReadRequest> {
  const { raw } = request
  const announced = Number(raw.headers.get('content-length') ?? 0)
  const refused = raw.headers.has('content-encoding') || announced > services.settings().bodyBytesMax
  if (refused) return { request, body: undefined }
  let bytes: Uint8Array
  try {
    bytes = await raw.bytes()
  } catch {
    return { request, body: undefined }
  }
  const replayed = withBody(request, bytes)
  try {
    return { request: replayed, body: JsonBody.read(bytes) }
  } catch (error) {
    if (!(error instanceof JsonBodyError)) throw error
    return { request: replayed, body: undefined }
  }
}

/** The same request with these bytes. `signal` = what ends it, if not the client's leaving. */
export function withBody(request: HttpRequest, bytes: Uint8Array, signal: AbortSignal = request.raw.signal): HttpRequest {
  const { raw, method, path, params, query, clientAddress, id } = request
  const headers = new Headers(raw.headers)
  headers.delete('content-length')
  headers.delete('transfer-encoding')
  return {
    raw: new Request(raw.url, { method, headers, body: bytes as Uint8Array<ArrayBuffer>, signal }),
    method, path, params, query, clientAddress, id,
    holdOpen: hold => request.holdOpen(hold),
  }
}
