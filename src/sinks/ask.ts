/** Sends a request of a sink, and says in words why it was not taken. */
import type { Transport } from '../core/transport.ts'

const timeouts = { connectMs: 5000, firstByteMs: 20_000, idleMs: 10_000, totalMs: 30_000 }
const answerBytesMax = 1024 * 1024

/** What sinks work with. */
export interface SinkParts {
  readonly transport: Transport
  readonly epochMs: () => number
}

interface SinkRequest {
  readonly method?: 'POST' | 'PUT'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** The text of a 2xx answer. Rejects with status and the beginning of the answer for others. */
export async function ask({ transport }: SinkParts, { method = 'POST', url, headers, body }: SinkRequest) {
  const sent = typeof body === 'string' ? Buffer.from(body) : body
  const answer = await transport.send({ method, head: { url, headers: { ...headers } }, body: [sent], timeouts })
    .response
  const text = Buffer.from(await answer.body.bytes(answerBytesMax)).toString('utf8')
  if (answer.status < 200 || answer.status >= 300)
    throw new Error(`it answered with status ${answer.status}: ${text.slice(0, 200)}`)
  return text
}

/** `authorization` for a user and a password; empty = there is none. */
export function basicAuth(username: string | undefined, password: string | undefined): Record<string, string> {
  if (username === undefined && password === undefined) return {}
  const pair = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')
  return { authorization: `Basic ${pair}` }
}
