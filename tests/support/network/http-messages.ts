/** Builds the HTTP messages that endpoints receive, for tests. */
import type { Answer } from '../../../src/core/answer.ts'
import type { HttpRequest } from '../../../src/core/request.ts'
import { internalRequest, SignalClient } from '../../../src/core/internal-request.ts'
import type { RequestParts } from '../../../src/core/internal-request.ts'

/** The response as the pipeline would return it; event streams stay streams. */
export async function answerOf(response: Response): Promise<Answer> {
  const headers = Object.fromEntries(response.headers)
  const isStream = headers['content-type']?.startsWith('text/event-stream')
  return { status: response.status, headers, body: isStream ? response.body : await response.text() }
}

/** A request; its client disconnects when `signal` aborts. */
export function requestOf(
  path: string,
  body: object | undefined,
  more: Partial<RequestParts> = {},
  signal = new AbortController().signal,
): HttpRequest {
  const [plain, query] = path.split('?')
  return internalRequest({
    path: plain!,
    params: {},
    query: new URLSearchParams(query),
    headers: new Headers(),
    id: 'id',
    bytes: Buffer.from(body ? JSON.stringify(body) : ''),
    client: new SignalClient(signal, ''),
    ...more,
  })
}
