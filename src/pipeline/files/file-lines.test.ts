/**
 * Lines of any length in pieces of any size, from memory and from disk: numbered rightly, written anew, never whole in
 * memory.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import type { BodyPiece } from '../../core/transport.ts'
import type { Upload, UploadPart } from '../../core/upload.ts'
import { rewriteLines } from './file-lines.ts'
import { Spool } from './spool.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-lines-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const bytes = (text: string) => new TextEncoder().encode(text)

/** Files of this test that are open in this process. */
function openFiles(): number {
  return readdirSync('/proc/self/fd').filter(fd => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)
    } catch {
      return false
    }
  }).length
}

/** A closed file is given back by another thread, a moment later. */
async function openInTheEnd(): Promise<number> {
  for (let turn = 0; turn < 100 && openFiles() > 0; turn++) await Bun.sleep(10)
  return openFiles()
}

function uploadOf(content: readonly BodyPiece[], close = () => {}): { upload: Upload; part: UploadPart } {
  const length = content.reduce((sum, piece) => sum + piece.length, 0)
  const part: UploadPart = { name: 'file', filename: 'x.jsonl', contentType: undefined, content, bytes: length }
  const purpose: UploadPart = {
    name: 'purpose',
    filename: undefined,
    contentType: undefined,
    content: [bytes('batch')],
    bytes: 5,
  }
  return { part, upload: { parts: [purpose, part], close } }
}

function textOf({ parts }: Upload): string {
  const [piece] = parts[1]!.content as [Exclude<BodyPiece, Uint8Array>]
  const into = Buffer.alloc(piece.length)
  for (let at = 0; at < into.length; ) at += piece.file.read(into.subarray(at), piece.offset + at)
  return into.toString('utf8')
}

async function numbered(content: readonly BodyPiece[]): Promise<string> {
  const { upload, part } = uploadOf(content)
  const rewritten = await rewriteLines(upload, part, (line, number) => [bytes(`${number}:`), line], folder)
  try {
    expect(rewritten.parts[0]).toBe(upload.parts[0]!)
    expect(rewritten.parts[1]!.bytes).toBe(Buffer.byteLength(textOf(rewritten)))
    return textOf(rewritten)
  } finally {
    rewritten.close()
  }
}

test('the same lines wherever the bytes are cut; blank lines keep their number and go', async () => {
  const text = '{"ä":1}\n\n {"b":"\u2028"} \r\n \t\r\n\nlast'
  const whole = '1:{"ä":1}\n3: {"b":"\u2028"} \r\n6:last\n'
  const all = bytes(text)
  expect(await numbered([all])).toBe(whole)
  for (let at = 0; at <= all.length; at++) expect(await numbered([all.subarray(0, at), all.subarray(at)])).toBe(whole)
  expect(await numbered([...all].map(byte => Uint8Array.of(byte)))).toBe(whole)
  expect(await numbered([bytes('a\nb\n')])).toBe('1:a\n2:b\n')
  expect(await numbered([])).toBe('')
  expect(await numbered([bytes('\n\n  \n')])).toBe('')
})

test('lines around the size of a read, from a file that begins elsewhere', async () => {
  const lines = [65_534, 65_535, 65_536, 65_537, 1, 200_000].map((length, at) =>
    String.fromCharCode(97 + at).repeat(length),
  )
  const spool = await Spool.open(folder)
  await spool.append(bytes(`before${lines.join('\n')}after`))
  const length = spool.bytes - 'beforeafter'.length
  expect(await numbered([{ file: spool, offset: 6, length }])).toBe(
    lines.map((line, at) => `${at + 1}:${line}\n`).join(''),
  )
  spool.close()
  await expect(numbered([{ file: spool, offset: 6, length }])).rejects.toMatchObject({ kind: 'internal' })
})

test('a refused line ends it, and nothing stays open', async () => {
  const { upload, part } = uploadOf([bytes('a\nb\nc\n')])
  const seen: number[] = []
  const refuse = rewriteLines(
    upload,
    part,
    (line, number) => {
      seen.push(number)
      if (number === 2) throw new GatewayError('invalid-request', `line ${number} is bad`)
      return [line]
    },
    folder,
  )
  await expect(refuse).rejects.toMatchObject({ kind: 'invalid-request', message: 'line 2 is bad' })
  expect(seen).toEqual([1, 2])
  expect(await openInTheEnd()).toBe(0)
})

test('a line without an end is refused with its number before it fills the memory', async () => {
  const piece = new Uint8Array(1024 * 1024).fill(120)
  const { upload, part } = uploadOf([bytes('a\n'), ...Array.from({ length: 64 }, () => piece)])
  await expect(rewriteLines(upload, part, line => [line], folder)).rejects.toMatchObject({
    kind: 'invalid-request',
    status: 400,
    param: 'file',
    message: 'line 2 of the file is longer than 8388608 bytes; give its request less content',
  })
  expect(await openInTheEnd()).toBe(0)
})

test('closing what was rewritten closes the upload behind it, too', async () => {
  let closed = 0
  const { upload, part } = uploadOf([bytes('a\n')], () => closed++)
  const rewritten = await rewriteLines(upload, part, line => [line], folder)
  expect([closed, openFiles()]).toEqual([0, 1])
  rewritten.close()
  rewritten.close()
  expect([closed, await openInTheEnd()]).toEqual([2, 0])
})

test('sixty megabytes pass with a part of them in memory', async () => {
  const spool = await Spool.open(folder)
  const block = bytes(`{"custom_id":"x","body":"${'y'.repeat(8000)}"}\n`.repeat(32))
  const blocks = 240
  for (let at = 0; at < blocks; at++) await spool.append(block)
  expect(spool.bytes).toBeGreaterThan(60_000_000)
  const { upload, part } = uploadOf([{ file: spool, offset: 0, length: spool.bytes }])
  Bun.gc(true)
  const before = process.memoryUsage().rss
  let peak = before
  let count = 0
  const rewritten = await rewriteLines(
    upload,
    part,
    (one, number) => {
      count = number
      if (number % 64 === 0) peak = Math.max(peak, process.memoryUsage().rss)
      return [one]
    },
    folder,
  )
  const sizes = [count, rewritten.parts[1]!.bytes, spool.bytes]
  rewritten.close()
  spool.close()
  expect(sizes).toEqual([32 * blocks, block.length * blocks, block.length * blocks])
  expect(peak - before).toBeLessThan(40_000_000)
})
