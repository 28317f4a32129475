/**
 * What a file says beside its bytes as UTF-8: texts in other encodings are read here, packed files (archives,
 * documents of Office, PDF) in a thread of their own (`file-threads.ts`).
 */
import { chunkBytes, decodedPieces } from './pieces.ts'
import type { TextEncoding } from './pieces.ts'
import type { FileBytes, Reading } from './reading.ts'
import type { PackedForm } from './reading-budget.ts'

/** Larger ones are not unpacked. */
export const packedBytesMax = 16 * 1024 * 1024
const headBytes = 4096

/** The forms that are read in a thread. */
export type PackedFileForm = 'pdf' | 'zip' | PackedForm
type Form = PackedFileForm | 'media' | 'text' | 'binary'

/** Bytes in memory as a file. */
export const fileOf = (bytes: Uint8Array): FileBytes => ({
  length: bytes.length,
  read: (offset, length) => bytes.subarray(offset, offset + length),
})

/** Its first bytes are those of a picture, sound or video. */
export const isMedia = (head: Uint8Array): boolean => formOf(head) === 'media'

/** It is to be read by `readInThread`. */
export const isPacked = (file: FileBytes): boolean => !/^(?:media|text|binary)$/.test(formOf(file.read(0, headBytes)))

/**
 * Of a file that is not packed, what a search of its bytes as UTF-8 would miss; nothing for a text in UTF-8, pictures,
 * sound and video. UTF-16 by its mark or by its zeros, anywhere in the file; else, where it is no UTF-8, the bytes as
 * Windows-1252.
 */
export function* inOtherEncodings(file: FileBytes, form: Form = formOf(file.read(0, headBytes))): Generator<Reading> {
  if (form === 'media') return
  let hasZero = false
  let isValid = true
  for (const text of decodedPieces(chunksOf(file), 'utf-8')) {
    hasZero ||= text.includes('\0')
    isValid &&= !text.includes('\ufffd')
    if (hasZero) break
  }
  const isMarked = hasMark(file)
  const isWide = hasZero || isMarked || form === 'binary'
  const encodings: readonly TextEncoding[] = isWide ? ['utf-16le', 'utf-16be'] : isValid ? [] : ['windows-1252']
  // UTF-32 is UTF-16 with a zero between its units.
  for (const encoding of encodings)
    for (const text of decodedPieces(chunksOf(file), encoding)) {
      yield { text: text.replaceAll('\0', '') }
      // Letters of one byte, taken in pairs, are signs of other scripts: they are no part of a word beside them.
      if (isWide && !isMarked) yield { text: text.replace(/[\u0800-\uffff]/g, '\0') }
    }
  if (form === 'binary' && !isMarked) yield { unreadable: 'a binary file of an unknown kind' }
}

function hasMark(file: FileBytes): boolean {
  const [first, second] = file.read(0, 2)
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
}

/** The bytes of the file in chunks as `decodedPieces` takes them. */
export function* chunksOf(file: FileBytes): Generator<Uint8Array> {
  for (let at = 0; at < file.length; ) {
    const chunk = file.read(at, Math.min(chunkBytes, file.length - at))
    if (chunk.length === 0) return
    at += chunk.length
    yield chunk
  }
}

/** First bytes of pictures, of sound and video, and of fonts. */
const mediaMagics = [
  /^(?:\x89PNG|\xff\xd8\xff|GIF8|BM.{4}\0{4}|II\*\0|MM\0\*)/s,
  /^(?:RIFF.{4}(?:WAVE|WEBP|AVI )|OggS|ID3|\xff[\xe2-\xfb]|fLaC|\x1a\x45\xdf\xa3|.{4}ftyp)/s,
  /^(?:wOF|OTTO|\0\x01\0\0)/,
]

/** What a file is, by its first bytes. */
export function formOf(head: Uint8Array): Form {
  const latin = Buffer.from(head.subarray(0, headBytes)).toString('latin1')
  if (latin.startsWith('PK\x03\x04') || latin.startsWith('PK\x05\x06')) return 'zip'
  if (latin.startsWith('\x1f\x8b')) return 'gzip'
  if (latin.startsWith('\x28\xb5\x2f\xfd')) return 'zstd'
  if (latin.slice(0, 1024).includes('%PDF-')) return 'pdf'
  if (/^x[\x01\x5e\x9c\xda]/.test(latin) && (latin.charCodeAt(0) * 256 + latin.charCodeAt(1)) % 31 === 0) return 'zlib'
  if (mediaMagics.some(magic => magic.test(latin))) return 'media'
  return hasTextBytes(latin) ? 'text' : 'binary'
}

/** Control characters that texts do not have, other than the zeros of UTF-16, are rare in texts of any encoding. */
function hasTextBytes(latin: string): boolean {
  const controls = latin.match(/[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]/g)?.length ?? 0
  return controls * 50 <= latin.length
}
