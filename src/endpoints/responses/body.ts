/** The body of a call, read before the call is made, and the same request with another body. */
import type { Services } from '../../core/endpoint.ts'
import { madeRequest, readBody } from '../../core/request.ts'
import type { Client, HttpRequest } from '../../core/request.ts'
import { JsonBody, JsonBodyError } from '../../lib/json/json-body.ts'

/** A request that can still be called, and its body for who has to look into it first. */
interface ReadRequest {
  /** To be called in place of the original, whose body is gone. */
  readonly request: HttpRequest
  /** Undefined = not readable; the call itself says why. */
  readonly body: JsonBody | undefined
}

/** The body of `request` is used up afterwards. Wrong, large or encoded bodies throw nothing here: the call refuses them. */
export async function readRequest(request: HttpRequest, services: Services): Promise<ReadRequest> {
  if (request.headers.has('content-encoding')) return { request, body: undefined }
  let bytes: Uint8Array
  try {
    bytes = await readBody(request.body, services.settings().bodyBytesMax)
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

/** The same request with these bytes. `client` = who waits for its answer, if not the client itself. */
export function withBody(request: HttpRequest, bytes: Uint8Array, client: Client = request): HttpRequest {
  const { id, path, params, query, headers } = request
  return madeRequest({ id, path, params, query, headers, bytes, client })
}
