/**
 * What a file says beside its bytes as UTF-8: texts in other encodings, packed texts, documents of Office, and PDF.
 * Bounded in bytes and time by a `ReadingBudget`.
 */
import { xmlText, zipMembers } from './archives.ts'
import { pdfReadings } from './pdf.ts'
import { chunkBytes, decodedPieces } from './pieces.ts'
import type { TextEncoding } from './pieces.ts'
import type { FileBytes, Reading } from './reading.ts'
import type { PackedForm, ReadingBudget } from './reading-budget.ts'

/** Larger ones are not unpacked. */
const packedBytesMax = 16 * 1024 * 1024
/** A packed file in a packed file in a packed file. */
const depthMax = 2
const headBytes = 4096

type Form = 'pdf' | 'zip' | 'media' | 'text' | 'binary' | PackedForm

/** Bytes in memory as a file. */
export const fileOf = (bytes: Uint8Array): FileBytes => ({
  length: bytes.length,
  read: (offset, length) => bytes.subarray(offset, offset + length),
})

/** What a search of the bytes as UTF-8 would miss; nothing for a text in UTF-8, pictures, sound and video. */
export function* readings(file: FileBytes, budget: ReadingBudget, depth = 0): Generator<Reading> {
  const form = formOf(file.read(0, headBytes))
  switch (form) {
    case 'media':
      return
    case 'text':
    case 'binary':
      yield* inOtherEncodings(file, form)
      return
    default:
      if (depth > depthMax || file.length > packedBytesMax)
        yield { unreadable: `a ${form} file that is too large or too deep` }
      else yield* packedReadings(Buffer.from(file.read(0, file.length)), form, { budget, depth })
  }
}

function* packedReadings(
  bytes: Uint8Array,
  form: Exclude<Form, 'media' | 'text' | 'binary'>,
  { budget, depth }: { readonly budget: ReadingBudget; readonly depth: number },
): Generator<Reading> {
  if (form === 'pdf') yield* pdfReadings(bytes, { budget, embedded: file => memberReadings(file, budget, depth) })
  else if (form === 'zip') yield* archiveReadings(bytes, budget, depth)
  else {
    const unpacked = budget.unpacked(form, bytes)
    if (unpacked) yield* memberReadings(unpacked, budget, depth)
    else if (form === 'zlib' && !budget.isSpent) yield* inOtherEncodings(fileOf(bytes), 'text')
    else yield { unreadable: `a ${form} file that is damaged or too large` }
  }
}

function* archiveReadings(bytes: Uint8Array, budget: ReadingBudget, depth: number): Generator<Reading> {
  const members = zipMembers(bytes, budget)
  if (!members) {
    yield { unreadable: 'a damaged archive' }
    return
  }
  let unreadable = 0
  for (const member of members) {
    if (member.name !== '') yield { text: member.name }
    if (member.bytes) yield* memberReadings(member.bytes, budget, depth)
    else unreadable++
  }
  if (unreadable > 0) yield { unreadable: 'an archive that is encrypted, damaged or too large' }
}

/** Of a file that was unpacked: all of its texts. */
function* memberReadings(bytes: Uint8Array, budget: ReadingBudget, depth: number): Generator<Reading> {
  const file = fileOf(bytes)
  for (const text of decodedPieces(chunksOf(file), 'utf-8')) {
    yield { text }
    if (/^\s*(?:\ufeff)?<(?:\?xml|[a-z!])/i.test(text) || text.includes('</')) yield { text: xmlText(text) }
  }
  yield* readings(file, budget, depth + 1)
}

/** UTF-16 by its mark or by its zeros, anywhere in the file; else, where it is no UTF-8, the bytes as Windows-1252. */
function* inOtherEncodings(file: FileBytes, form: 'text' | 'binary'): Generator<Reading> {
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

function* chunksOf(file: FileBytes): Generator<Uint8Array> {
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

/** Its first bytes are those of a picture, sound or video. */
export const isMedia = (head: Uint8Array): boolean => formOf(head) === 'media'

function formOf(head: Uint8Array): Form {
  const latin = Buffer.from(head).toString('latin1')
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
