/** The files of an input: those of forms, as policies see them, and by what the texts of packed ones are known. */
import { createHash } from 'node:crypto'
import type { Source } from './chat.ts'
import type { BodyPiece } from '../transport.ts'
import type { Upload } from '../upload.ts'
import { chunkBytes, decodedPieces } from '../../lib/file-text/pieces.ts'
import type { FileBytes, Reading } from '../../lib/file-text/reading.ts'

/** One file of a form. */
export interface InputFile {
  /** Name of the form field. */
  readonly field: string
  readonly filename: string
  readonly bytes: number
  /**
   * The bytes as UTF-8 text, in pieces of at most 256 Ki characters; each piece after the first begins with the last
   * 1,024 characters of the one before, so that a search for shorter texts misses none. Audio and pictures yield
   * meaningless characters.
   */
  text(): Iterable<string>
  /** For what `text` misses: texts in other encodings, packed ones, PDF. */
  readonly content: FileBytes
}

/** A file inside of a JSON body. */
export type InlineFile = Extract<Source, { readonly data: string }>

/** What each packed file says, and what of it cannot be read, by `keyOf`. */
export type FileReadings = ReadonlyMap<InputFile | string, readonly Reading[]>

const hashes = new WeakMap<InlineFile, string>()

/** The key of a file in `FileReadings`. Inline files with equal bytes have one: a changed request is decoded anew. */
export function keyOf(file: InlineFile | InputFile): InputFile | string {
  if (!('data' in file)) return file
  let hash = hashes.get(file)
  if (hash === undefined) hashes.set(file, (hash = createHash('sha256').update(file.data).digest('base64url')))
  return hash
}

const filesOf = new WeakMap<Upload, InputFile[]>()

/** The files of a form as policies see them: the same objects for the same form. */
export function inputFiles(upload: Upload): InputFile[] {
  let files = filesOf.get(upload)
  if (!files) filesOf.set(upload, (files = upload.parts.flatMap(inputFile)))
  return files
}

function inputFile({ name, filename, bytes, content }: Upload['parts'][number]): InputFile[] {
  if (filename === undefined) return []
  const file = { length: bytes, read: (offset: number, length: number) => bytesAt(content, offset, length) }
  return [{ field: name, filename, bytes, text: () => decodedPieces(chunksOf(content), 'utf-8'), content: file }]
}

/** Copies at most so many bytes from there on. */
function bytesAt(content: readonly BodyPiece[], offset: number, length: number): Uint8Array {
  const into = Buffer.alloc(length)
  let begin = 0
  let filled = 0
  for (const piece of content) {
    const from = Math.max(offset + filled - begin, 0)
    const count = Math.min(piece.length - from, length - filled)
    begin += piece.length
    if (count <= 0) continue
    const part = into.subarray(filled, filled + count)
    if (piece instanceof Uint8Array) part.set(piece.subarray(from, from + count))
    else if (piece.file.read(part, piece.offset + from) < count) break
    filled += count
  }
  return into.subarray(0, filled)
}

function* chunksOf(content: readonly BodyPiece[]): Generator<Uint8Array> {
  const into = Buffer.allocUnsafe(chunkBytes)
  for (const piece of content) {
    const { length } = piece
    for (let at = 0; at < length; ) {
      const end = Math.min(at + into.length, length)
      if (piece instanceof Uint8Array) {
        yield piece.subarray(at, end)
        at = end
        continue
      }
      const read = piece.file.read(into.subarray(0, end - at), piece.offset + at)
      if (read === 0) return
      at += read
      yield into.subarray(0, read)
    }
  }
}
