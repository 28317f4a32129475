/** What every framing of a stream has in common. */

/** One message of a stream: the optional event name and its text. */
export interface Frame {
  readonly event?: string
  readonly data: string
}

/** Wherever the bytes are cut, the frames are the same. `push` throws on bytes that are not the framing's. */
export interface FrameSplitter {
  /** The frames that `bytes` completes. */
  push(bytes: Uint8Array): Frame[]
  /** The bytes have ended: the last frame, where a framing lets it end with the bytes. */
  end(): Frame[]
  /** What stands after the last complete frame: a truthful server leaves nothing. */
  rest(): string
}

/** A message of a stream, of any framing, is larger than its splitter allows. Nothing may be pushed after it. */
export class FrameTooLargeError extends Error {
  override readonly name = 'FrameTooLargeError'
}
