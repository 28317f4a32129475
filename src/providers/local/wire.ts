/** How the built-in models write: one JSON document, or server-sent events. */
import type { InProcessAnswer } from '../../core/provider.ts'

/** Fixed: the same request gives the same bytes. */
export const createdS = 1_700_000_000

/** A whole answer, status 200. `body` has to be serialisable. */
export const json = (body: unknown): InProcessAnswer => ({
  status: 200,
  contentType: 'application/json',
  pieces: [JSON.stringify(body)],
})

/** One event each, and OpenAI's last one. */
export const events = (list: readonly unknown[]): InProcessAnswer => ({
  status: 200,
  contentType: 'text/event-stream',
  pieces: [...list.map(one => `data: ${JSON.stringify(one)}\n\n`), 'data: [DONE]\n\n'],
})

/** The client wants the counts in a last chunk without choices (OpenAI `stream_options.include_usage`). */
export function includesUsage(body: Record<string, unknown>): boolean {
  return (body.stream_options as { include_usage?: unknown } | undefined)?.include_usage === true
}
