/** The wire formats of the built-in models: one JSON document, or server-sent events. */
import type { InProcessAnswer } from '../../core/provider.ts'

/** `created` in epoch seconds; a constant, so that answers are deterministic. */
export const createdS = 1_700_000_000

/** A whole answer with status 200. `body` has to be JSON-serialisable. */
export const json = (body: unknown): InProcessAnswer => ({
  status: 200,
  contentType: 'application/json',
  pieces: [JSON.stringify(body)],
})

/** A stream of one event per item, ended by OpenAI's `[DONE]`. */
export const events = (list: readonly unknown[]): InProcessAnswer => ({
  status: 200,
  contentType: 'text/event-stream',
  pieces: [...list.map(one => `data: ${JSON.stringify(one)}\n\n`), 'data: [DONE]\n\n'],
})

/** true = the client wants the usage in a last chunk without choices (`stream_options.include_usage`). */
export function includesUsage(body: Record<string, unknown>): boolean {
  return (body.stream_options as { include_usage?: unknown } | undefined)?.include_usage === true
}
