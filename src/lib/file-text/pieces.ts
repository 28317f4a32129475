/** Bytes as text in pieces that overlap, so that a search for shorter texts misses none at a border. */

const pieceCharacters = 256 * 1024
const overlapCharacters = 1024

/** A character takes at least one byte, and one may have begun in the bytes before: no piece of text is longer. */
export const chunkBytes = pieceCharacters - overlapCharacters - 1

/** Encodings of which the platform has a decoder. */
export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'

/**
 * Pieces of at most 256 Ki characters; each after the first begins with the last 1,024 characters of the one before.
 * `chunks` have at most `chunkBytes` bytes each. Bytes that are no text become U+FFFD.
 */
export function* decodedPieces(chunks: Iterable<Uint8Array>, encoding: TextEncoding): Generator<string> {
  const decoder = new TextDecoder(encoding)
  let held = ''
  for (const bytes of chunks) {
    if (held.length + bytes.length > pieceCharacters) {
      yield held
      held = held.slice(-overlapCharacters)
    }
    held += decoder.decode(bytes, { stream: true })
  }
  held += decoder.decode()
  if (held !== '') yield held
}
