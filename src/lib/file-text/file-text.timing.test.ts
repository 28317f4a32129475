/** Files that are made to hang their reader are read in bounded time. */
import { expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { fileOf, readings } from './index.ts'
import { ReadingBudget } from './reading-budget.ts'

const times = (text: string, bytes: number): string => text.repeat(Math.ceil(bytes / text.length))
const size = 4_000_000
const pdf = (text: string): Buffer => Buffer.from(`%PDF-1.7\n${text}`, 'latin1')
const content = (text: string): Buffer => pdf(`1 0 obj <<>> stream\nBT ${text} Tj ET\nendstream endobj`)

const files: Record<string, Buffer> = {
  'objects without an end': pdf(times('1 0 obj ', size)),
  'objects without anything': pdf(times('1 0 obj endobj ', size)),
  'streams without an end': pdf(times('1 0 obj stream\n', size)),
  'lists that are never closed': pdf(times('1 0 obj /Type /Page /Contents[/Contents[/W[[/W[ endobj ', size)),
  'one list that is never closed': pdf(`1 0 obj /Type /Page ${times('/Contents[', size)} endobj`),
  'dictionaries that are never closed': pdf(`1 0 obj ${times('/Font<<', size)} endobj`),
  'strings that are never closed': pdf(`1 0 obj ${times('(((\\', size)} endobj`),
  'a content of brackets': content(times('((', size)),
  'a content of numbers': content(times('-.5 ', size)),
  'a content of pictures without an end': content(times('ID ', size)),
  'maps of characters without an end': pdf(
    `1 0 obj <</Type /Font /Subtype /Type0 /ToUnicode 2 0 R>> endobj 2 0 obj <<>> stream\n${times('beginbfchar ', size)}\nendstream endobj ` +
      '3 0 obj <</Font <</F 1 0 R>>>> endobj 4 0 obj <<>> stream\nBT /F 1 Tf (ab) Tj ET\nendstream endobj',
  ),
  'the same range of characters again and again': pdf(
    `1 0 obj <</Type /Font /Subtype /Type0 /ToUnicode 2 0 R>> endobj 2 0 obj <<>> stream\nbeginbfrange ${times('<0000> <FFFF> <0041> ', size)} endbfrange\nendstream endobj ` +
      '3 0 obj <</Font <</F 1 0 R>>>> endobj 4 0 obj <<>> stream\nBT /F 1 Tf (ab) Tj ET\nendstream endobj',
  ),
  'XML of brackets': gzipSync(`<?xml ${times('<p <', size)}`, { level: 0 }),
  'an archive of one member, two thousand times': sharedMember(),
  'packed zeros': gzipSync(Buffer.alloc(100_000_000)),
}

/** Every entry of the directory names the same bytes, which are not packed. */
function sharedMember(): Buffer {
  const body = Buffer.alloc(1_000_000, 'a')
  const head = Buffer.alloc(30)
  head.write('PK\x03\x04', 'latin1')
  const entry = Buffer.alloc(46)
  entry.write('PK\x01\x02', 'latin1')
  entry.writeUInt32LE(body.length, 20)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(2000, 10)
  end.writeUInt32LE(head.length + body.length, 16)
  return Buffer.concat([head, body, ...Array.from({ length: 2000 }, () => entry), end])
}

for (const [what, file] of Object.entries(files))
  test(`${what}: read within 2 s`, () => {
    const beganMs = performance.now()
    let characters = 0
    for (const one of readings(fileOf(file), new ReadingBudget())) if ('text' in one) characters += one.text.length
    const tookMs = performance.now() - beganMs
    console.log(`${what}: ${tookMs.toFixed(0)} ms, ${characters} characters`)
    expect(tookMs).toBeLessThan(2000)
  })
