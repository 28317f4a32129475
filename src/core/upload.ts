/** A multipart form on its way through the gateway: its fields in memory, its large files on disk. */
import type { BodyPiece } from './transport.ts'

/** One part of a form. */
export interface UploadPart {
  /** As the client wrote it: `model`, `timestamp_granularities[]`. */
  readonly name: string
  /** Undefined = a field, not a file. */
  readonly filename: string | undefined
  /** As the client said; undefined = it did not. */
  readonly contentType: string | undefined
  readonly content: readonly BodyPiece[]
  readonly bytes: number
}

/** A form that was received: fields in memory, files on disk. */
export interface Upload {
  /** In the client's order. */
  readonly parts: readonly UploadPart[]
  /** Lets go of the files: nothing can be read any more. Idempotent. */
  close(): void
}
