/** Streams of bytes split into frames, for each framing that vendors use. */
import { EventStreamSplitter } from './aws/aws-event-stream.ts'
import type { FrameSplitter } from './frame.ts'
import { ElementSplitter, LineSplitter } from './json/json-frames.ts'
import { SseSplitter } from './sse.ts'

/**
 * `ndjson` = one JSON document a line; `json-array` = the elements of one array, as they are completed;
 * `aws-event-stream` = AWS's binary messages.
 */
export type Framing = 'sse' | 'ndjson' | 'json-array' | 'aws-event-stream'

const splitters: Record<Framing, () => FrameSplitter> = {
  sse: () => new SseSplitter(),
  ndjson: () => new LineSplitter(),
  'json-array': () => new ElementSplitter(),
  'aws-event-stream': () => new EventStreamSplitter(),
}

/** A fresh one for each stream: it holds what is not complete yet. */
export function frameSplitter(framing: Framing = 'sse'): FrameSplitter {
  return splitters[framing]()
}

/** The `content-type` with which a stream of this framing is announced, as a prefix. */
export const framingMediaTypes: Record<Framing, readonly string[]> = {
  sse: ['text/event-stream'],
  ndjson: ['application/x-ndjson', 'application/json', 'application/jsonl', 'application/stream+json'],
  'json-array': ['application/json'],
  'aws-event-stream': ['application/vnd.amazon.eventstream'],
}
