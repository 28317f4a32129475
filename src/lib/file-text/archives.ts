/** Members of ZIP archives, documents of Office among them (PKWARE APPNOTE 6.3.10; ECMA-376; ISO/IEC 26300). */
import type { ReadingBudget } from './reading-budget.ts'

/** One member: its bytes, or undefined for one that cannot be unpacked. */
export interface Member {
  readonly name: string
  readonly bytes: Uint8Array | undefined
}

const membersMax = 2000

/** In the order of the directory. undefined = there is no directory. */
export function zipMembers(bytes: Uint8Array, budget: ReadingBudget): Iterable<Member> | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = buffer.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end < 0 || end + 22 > buffer.length) return undefined
  return membersFrom(buffer, { at: buffer.readUInt32LE(end + 16), count: buffer.readUInt16LE(end + 10) }, budget)
}

function* membersFrom(
  buffer: Buffer,
  directory: { readonly at: number; readonly count: number },
  budget: ReadingBudget,
): Generator<Member> {
  let { at } = directory
  for (let one = 0; one < Math.min(directory.count, membersMax); one++) {
    if (at + 46 > buffer.length || buffer.readUInt32LE(at) !== 0x02014b50) return
    const nameLength = buffer.readUInt16LE(at + 28)
    const name = buffer.toString('utf8', at + 46, at + 46 + nameLength)
    yield { name, bytes: unpackedMember(buffer, at, budget) }
    at += 46 + nameLength + buffer.readUInt16LE(at + 30) + buffer.readUInt16LE(at + 32)
  }
  if (directory.count > membersMax) yield { name: '', bytes: undefined }
}

function unpackedMember(buffer: Buffer, at: number, budget: ReadingBudget): Uint8Array | undefined {
  const isEncrypted = (buffer.readUInt16LE(at + 8) & 1) === 1
  const [method, length, local] = [
    buffer.readUInt16LE(at + 10),
    buffer.readUInt32LE(at + 20),
    buffer.readUInt32LE(at + 42),
  ]
  if (isEncrypted || local + 30 > buffer.length) return undefined
  const from = local + 30 + buffer.readUInt16LE(local + 26) + buffer.readUInt16LE(local + 28)
  const packed = buffer.subarray(from, from + length)
  if (method === 0) return budget.take(packed.length) ? packed : undefined
  return method === 8 ? budget.unpacked('raw', packed) : undefined
}

/** Elements that end a word or a line; all others may stand inside of one. */
const breaks = /<\/?(?:[\w-]+:)?(?:p|br|tr|row|c|cell|h|li|si|tab|table-cell|table-row|td|div|title|s)\b[^<>]*>/gi

/** The text of an XML document: what formatting splits is together again. */
export function xmlText(xml: string): string {
  return xml
    .replace(breaks, '\n')
    .replace(/<[^<>]*>/g, '')
    .replace(
      /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi,
      (_, hex: string, decimal: string, name: string) => {
        if (name) return { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }[name.toLowerCase()]!
        const code = hex ? parseInt(hex, 16) : Number(decimal)
        return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
      },
    )
}
