/** Stream events as text. */
import type { JsonObject } from '../lib/json.ts'
import type { StreamEvent } from './response.ts'

/** A server-sent event without a name. */
export function dataEvent(value: unknown, kind: StreamEvent['kind'], tokens = 0): StreamEvent {
  return { text: `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`, kind, tokens }
}

/** A server-sent event whose name is the value's `type`. */
export function namedEvent(value: JsonObject, kind: StreamEvent['kind'], tokens = 0): StreamEvent {
  return { text: `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`, kind, tokens }
}

/** A line of newline-delimited JSON. */
export function lineEvent(value: JsonObject, kind: StreamEvent['kind'], tokens = 0): StreamEvent {
  return { text: `${JSON.stringify(value)}\n`, kind, tokens }
}
