/** Answers and requests of tests, in the words of the platform. */
import type { Answer } from '../src/core/answer.ts'
import { madeRequest, SignalClient } from '../src/core/request.ts'
import type { HttpRequest, RequestParts } from '../src/core/request.ts'

/** What the pipeline would answer; events stay a stream. */
export async function madeAnswer(response: Response): Promise<Answer> {
  const headers = Object.fromEntries(response.headers)
  const isStream = headers['content-type']?.startsWith('text/event-stream')
  return { status: response.status, headers, body: isStream ? response.body : await response.text() }
}

/** A request whose client stays until `signal` aborts. */
export function requestOf(
  path: string,
  body: object | undefined,
  more: Partial<RequestParts> = {},
  signal = new AbortController().signal,
): HttpRequest {
  const [plain, query] = path.split('?')
  return madeRequest({
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
