/** Pieces of answers are texts or bytes. */

/** A text in UTF-8; bytes as they are, without a copy. */
export const utf8Bytes = (piece: string | Uint8Array): Uint8Array =>
  typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece
