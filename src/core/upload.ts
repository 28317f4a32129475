/** A received multipart form: its fields in memory, its large files on disk. */
import type { BodyPiece } from './transport.ts'

/** One part of a form. */
export interface UploadPart {
  /** As the client wrote it: `model`, `timestamp_granularities[]`. */
  readonly name: string
  /** Undefined = a field, not a file. */
  readonly filename: string | undefined
  /** As the client sent it; undefined = not sent. */
  readonly contentType: string | undefined
  readonly content: readonly BodyPiece[]
  readonly bytes: number
}

/** A form that was received: fields in memory, files on disk. */
export interface Upload {
  /** In the client's order. */
  readonly parts: readonly UploadPart[]
  /** Frees the files: nothing can be read afterwards. Idempotent. */
  close(): void
}
