/** Streams of bytes cut into frames: what a frame is, and how vendors delimit them. */

/** One message of a stream: the optional event name and its text. */
export interface Frame {
  readonly event?: string
  readonly data: string
}

/**
 * `ndjson` = one JSON document a line; `json-array` = the elements of one array, as they are completed;
 * `aws-event-stream` = AWS's binary messages.
 */
export type Framing = 'sse' | 'ndjson' | 'json-array' | 'aws-event-stream'

/** Wherever the bytes are cut, the frames are the same. `push` throws on bytes that are not the framing's. */
export interface FrameSplitter {
  /** The frames that `bytes` completes. */
  push(bytes: Uint8Array): Frame[]
  /** The bytes have ended: the last frame, where a framing lets it end with the bytes. */
  end(): Frame[]
  /** What stands after the last complete frame: a truthful server leaves nothing. */
  rest(): string
}
