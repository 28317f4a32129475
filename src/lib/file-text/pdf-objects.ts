/** Objects of a PDF and their streams, unpacked (ISO 32000-1, 7.3 to 7.5). */
import type { ReadingBudget } from './reading-budget.ts'

/** One object: its text without its stream, as Latin-1. */
export interface PdfObject {
  readonly number: number
  readonly text: string
  /** As it stands in the file, packed. */
  readonly stream: Uint8Array | undefined
}

/** All objects of a file. */
export interface PdfObjects {
  /** Older versions of changed objects included. */
  readonly all: readonly PdfObject[]
  /** The last one of each number. */
  readonly byNumber: ReadonlyMap<number, PdfObject>
  readonly isEncrypted: boolean
  /** Packed objects that could not be read. */
  readonly unreadable: number
}

const objectsMax = 200_000

/** Reads the objects of the file, and those in its object streams. */
export function objectsOf(bytes: Uint8Array, budget: ReadingBudget): PdfObjects {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const file = buffer.toString('latin1')
  const all: PdfObject[] = []
  let unreadable = 0
  for (let at = 0; all.length < objectsMax && !budget.isSpent; ) {
    start.lastIndex = at
    const found = start.exec(file)
    if (!found) break
    const { object, end } = objectAt(file, buffer, { number: Number(found[1]), from: start.lastIndex })
    all.push(object)
    at = end
    if (!/\/Type\s*\/ObjStm\b/.test(object.text)) continue
    const packed = streamBytes(object, budget)
    if (!packed) unreadable++
    else for (const one of packedObjects(object, Buffer.from(packed).toString('latin1'))) all.push(one)
  }
  if (budget.isSpent) unreadable++
  const isEncrypted =
    /\/Encrypt\s*(?:<<|\d+\s+\d+\s+R)/.test(file) || all.some(one => /\/Encrypt\s+\d+\s+\d+\s+R/.test(one.text))
  return { all, byNumber: new Map(all.map(one => [one.number, one])), isEncrypted, unreadable }
}

const start = /(?<!\d)(\d{1,10})\s+\d{1,5}\s+obj\b/g

function objectAt(
  file: string,
  buffer: Buffer,
  { number, from }: { readonly number: number; readonly from: number },
): { object: PdfObject; end: number } {
  const over = indexOr(file, 'endobj', from)
  const text = file.slice(from, over)
  const keyword = /stream\r?\n/.exec(text)
  if (!keyword) return { object: { number, text, stream: undefined }, end: over }
  const dictionary = text.slice(0, keyword.index)
  const begin = from + keyword.index + keyword[0].length
  // Bytes of a stream may look like its end: its length counts where the end stands behind it.
  const length = Number(/\/Length\s+(\d+)(?!\s+\d+\s+R)/.exec(dictionary)?.[1] ?? NaN)
  const isMeant = /^\s{0,2}endstream/.test(file.slice(begin + length, begin + length + 12))
  const end = isMeant ? begin + length : indexOr(file, 'endstream', begin)
  const object = { number, text: dictionary, stream: buffer.subarray(begin, end) }
  return { object, end: indexOr(file, 'endobj', end) }
}

function indexOr(file: string, word: string, from: number): number {
  const at = file.indexOf(word, from)
  return at < 0 ? file.length : at
}

function packedObjects({ text }: PdfObject, unpacked: string): PdfObject[] {
  const first = Number(/\/First\s+(\d+)/.exec(text)?.[1] ?? NaN)
  const numbers = (unpacked.slice(0, first || 0).match(/\d+/g) ?? []).map(Number)
  const objects: PdfObject[] = []
  for (let at = 0; at + 1 < numbers.length; at += 2) {
    const end = numbers[at + 3]
    const [from, to] = [first + numbers[at + 1]!, end === undefined ? unpacked.length : first + end]
    objects.push({ number: numbers[at]!, text: unpacked.slice(from, to), stream: undefined })
  }
  return objects
}

/** undefined = it cannot be unpacked: damaged, too large, or by a filter of pictures. */
export function streamBytes({ text, stream }: PdfObject, budget: ReadingBudget): Uint8Array | undefined {
  const named = /\/(?:Filter|F)\s*(\[[^\]]*\]|\/[A-Za-z0-9]+)/.exec(text)?.[1] ?? ''
  let bytes: Uint8Array | undefined = stream
  for (const [, filter] of named.matchAll(/\/([A-Za-z0-9]+)/g)) bytes = bytes && filtered(filter!, bytes, budget)
  return bytes
}

function filtered(filter: string, bytes: Uint8Array, budget: ReadingBudget): Uint8Array | undefined {
  switch (filter) {
    case 'FlateDecode':
    case 'Fl':
      return budget.unpacked('zlib', bytes)
    case 'ASCIIHexDecode':
    case 'AHx':
      return Buffer.from(Buffer.from(bytes).toString('latin1').replace(/>.*/s, '').replace(/\s/g, ''), 'hex')
    case 'ASCII85Decode':
    case 'A85':
      return fromAscii85(Buffer.from(bytes).toString('latin1'))
    default:
      return undefined
  }
}

function fromAscii85(text: string): Uint8Array {
  const out: number[] = []
  let group: number[] = []
  const add = (count: number): void => {
    let value = 0
    for (let at = 0; at < 5; at++) value = value * 85 + (group[at] ?? 84)
    for (let at = 0; at < count; at++) out.push(Math.floor(value / 256 ** (3 - at)) % 256)
    group = []
  }
  for (const letter of text.replace(/^\s*<~/, '').replace(/~.*/s, '')) {
    if (letter === 'z' && group.length === 0) out.push(0, 0, 0, 0)
    else if (letter >= '!' && letter <= 'u') group.push(letter.charCodeAt(0) - 33)
    if (group.length === 5) add(4)
  }
  if (group.length > 1) add(group.length - 1)
  return Uint8Array.from(out)
}
