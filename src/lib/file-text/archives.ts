/** Members of ZIP archives, documents of Office among them (PKWARE APPNOTE 6.3.10; ECMA-376; ISO/IEC 26300). */
import { crc32 } from 'node:zlib'
import type { ReadingBudget } from './reading-budget.ts'

/** One member: its bytes, or undefined for one that cannot be unpacked. */
export interface Member {
  readonly name: string
  readonly bytes: Uint8Array | undefined
}

const membersMax = 2000
const endBytes = 22
const entryBytes = 46
const headBytes = 30

/** An entry of the directory. */
interface Entry {
  readonly name: string
  /** Of its own head, and of the entry in the directory. */
  readonly at: number
  readonly entryAt: number
  readonly flags: number
  readonly method: number
  readonly checksum: number
  readonly packedBytes: number
  readonly bytes: number
}

/**
 * In the order of the directory. undefined = two readers could find different members: more than one end, a directory
 * that does not fit its place or its count, bytes before, between or behind the members, members over one another.
 */
export function zipMembers(bytes: Uint8Array, budget: ReadingBudget): Iterable<Member> | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const entries = entriesOf(buffer)
  return entries && membersOf(buffer, entries, budget)
}

function* membersOf(buffer: Buffer, entries: readonly Entry[], budget: ReadingBudget): Generator<Member> {
  for (const entry of entries) yield { name: entry.name, bytes: unpacked(buffer, entry, budget) }
}

function entriesOf(buffer: Buffer): readonly Entry[] | undefined {
  const end = onlyEnd(buffer)
  if (end === undefined) return undefined
  const count = buffer.readUInt16LE(end + 10)
  const directory = buffer.readUInt32LE(end + 16)
  const isWhole = buffer.readUInt32LE(end + 4) === 0 && buffer.readUInt16LE(end + 8) === count
  if (!isWhole || count > membersMax || directory + buffer.readUInt32LE(end + 12) !== end) return undefined
  const entries: Entry[] = []
  let at = directory
  for (let one = 0; one < count; one++) {
    if (at + entryBytes > end || buffer.readUInt32LE(at) !== 0x02014b50) return undefined
    const nameEnd = at + entryBytes + buffer.readUInt16LE(at + 28)
    entries.push({
      name: buffer.toString('utf8', at + entryBytes, nameEnd),
      at: buffer.readUInt32LE(at + 42),
      entryAt: at,
      flags: buffer.readUInt16LE(at + 8),
      method: buffer.readUInt16LE(at + 10),
      checksum: buffer.readUInt32LE(at + 16),
      packedBytes: buffer.readUInt32LE(at + 20),
      bytes: buffer.readUInt32LE(at + 24),
    })
    at = nameEnd + buffer.readUInt16LE(at + 30) + buffer.readUInt16LE(at + 32)
  }
  return at === end && fill(buffer, entries, directory) ? entries : undefined
}

/** The one end record whose comment ends with the file. */
function onlyEnd(buffer: Buffer): number | undefined {
  let found: number | undefined
  for (let at = buffer.length - endBytes; at >= Math.max(0, buffer.length - endBytes - 0xffff); at--) {
    if (buffer.readUInt32LE(at) !== 0x06054b50) continue
    if (at + endBytes + buffer.readUInt16LE(at + 20) !== buffer.length) continue
    if (found !== undefined) return undefined
    found = at
  }
  return found
}

/** Sizes and checksum behind the data, where its writer did not know them before. */
const descriptorBytes: ReadonlySet<number> = new Set([12, 16, 20, 24])

/** Each member begins where the one before ends, the first at the begin of the file; its head says the same of it. */
function fill(buffer: Buffer, entries: readonly Entry[], directory: number): boolean {
  let from = 0
  for (const entry of [...entries].sort((one, other) => one.at - other.at)) {
    const gap = entry.at - from
    if (gap !== 0 && !(from > 0 && descriptorBytes.has(gap))) return false
    const { at, entryAt } = entry
    if (at + headBytes > directory || buffer.readUInt32LE(at) !== 0x04034b50) return false
    const nameEnd = at + headBytes + buffer.readUInt16LE(at + 26)
    const name = buffer.subarray(entryAt + entryBytes, entryAt + entryBytes + buffer.readUInt16LE(entryAt + 28))
    if (!buffer.subarray(at + headBytes, nameEnd).equals(name) || buffer.readUInt16LE(at + 8) !== entry.method)
      return false
    from = nameEnd + buffer.readUInt16LE(at + 28) + entry.packedBytes
  }
  return from === directory || descriptorBytes.has(directory - from)
}

function unpacked(buffer: Buffer, entry: Entry, budget: ReadingBudget): Uint8Array | undefined {
  const { at, flags, method, packedBytes } = entry
  if ((flags & 1) === 1) return undefined
  const from = at + headBytes + buffer.readUInt16LE(at + 26) + buffer.readUInt16LE(at + 28)
  const packed = buffer.subarray(from, from + packedBytes)
  const bytes = method === 0 ? packed : method === 8 ? budget.unpacked('raw', packed) : undefined
  if (method === 0 && !budget.take(packed.length)) return undefined
  return bytes?.length === entry.bytes && crc32(bytes) === entry.checksum ? bytes : undefined
}

/** Elements that end a word or a line; all others may stand inside of one. */
const breaks = /<\/?(?:[\w-]+:)?(?:p|br|tr|row|c|cell|h|li|si|tab|table-cell|table-row|td|div|title|s)\b[^<>]*>/gi

/** The text of an XML document: what formatting splits is together again. */
export function xmlText(xml: string): string {
  return xml
    .replace(breaks, '\n')
    .replace(/<!\[CDATA\[([\s\S]*?)\]\]>|<[^<>]*>/g, '$1')
    .replace(
      /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi,
      (_, hex: string, decimal: string, name: string) => {
        if (name) return { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }[name.toLowerCase()]!
        const code = hex ? parseInt(hex, 16) : Number(decimal)
        return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
      },
    )
}
