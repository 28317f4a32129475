/** What packed files say: archives, documents of Office, PDF, compressed texts. Runs in the thread of files alone. */
import { xmlText, zipMembers } from './archives.ts'
import { chunksOf, fileOf, formOf, inOtherEncodings, isPacked, packedBytesMax } from './index.ts'
import type { PackedFileForm } from './index.ts'
import { decodedPieces } from './pieces.ts'
import type { Reading } from './reading.ts'
import type { ReadingBudget } from './reading-budget.ts'

/** A packed file in a packed file in a packed file. */
const depthMax = 2

/** Everything that can be read, and what could not. */
export async function* packedReadings(bytes: Uint8Array, budget: ReadingBudget, depth = 0): AsyncGenerator<Reading> {
  const form = formOf(bytes) as PackedFileForm
  if (depth > depthMax || bytes.length > packedBytesMax) {
    yield { unreadable: `a ${form} file that is too large or too deep` }
    return
  }
  const inside = (file: Uint8Array): AsyncGenerator<Reading> => memberReadings(file, budget, depth)
  if (form === 'pdf') yield* (await import('./pdf.ts')).pdfReadings(bytes, inside)
  else if (form === 'zip') yield* archiveReadings(bytes, budget, inside)
  else {
    const unpacked = budget.unpacked(form, bytes)
    if (unpacked) yield* inside(unpacked)
    // Two letters look like the head of zlib's form.
    else if (form === 'zlib' && !budget.isSpent) yield* inOtherEncodings(fileOf(bytes), 'text')
    else yield { unreadable: `a ${form} file that is damaged or too large` }
  }
}

async function* archiveReadings(
  bytes: Uint8Array,
  budget: ReadingBudget,
  inside: (file: Uint8Array) => AsyncGenerator<Reading>,
): AsyncGenerator<Reading> {
  const members = zipMembers(bytes, budget)
  if (!members) {
    yield { unreadable: 'a damaged or ambiguous archive' }
    return
  }
  let unreadable = 0
  for (const member of members) {
    if (member.name !== '') yield { text: member.name }
    if (member.bytes) yield* inside(member.bytes)
    else unreadable++
  }
  if (unreadable > 0) yield { unreadable: 'an archive that is encrypted, damaged or too large' }
}

/** Of a file that was unpacked: all of its texts. */
async function* memberReadings(bytes: Uint8Array, budget: ReadingBudget, depth: number): AsyncGenerator<Reading> {
  const file = fileOf(bytes)
  for (const text of decodedPieces(chunksOf(file), 'utf-8')) yield* withXmlText(text)
  if (isPacked(file)) yield* packedReadings(bytes, budget, depth + 1)
  else
    for (const one of inOtherEncodings(file))
      if ('text' in one) yield* withXmlText(one.text)
      else yield one
}

/** The text, and where it is XML or HTML what it says without its marks. */
function* withXmlText(text: string): Generator<Reading> {
  yield { text }
  if (!/^\s*(?:\ufeff)?<(?:\?xml|[a-z!])/i.test(text) && !text.includes('</')) return
  yield { text: xmlText(text) }
  if (text.includes('<!ENTITY')) yield { unreadable: 'a document with abbreviations of its own' }
}
