/** Files that are made to hang their reader, or to fill the memory, are given up in bounded time. */
import { expect, test } from 'bun:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { FileThreads } from './file-threads.ts'

const times = (text: string, bytes: number): string => text.repeat(Math.ceil(bytes / text.length))
const size = 4_000_000

/** One page with one content, packed. */
function pdf(content: string): Buffer {
  const stream = deflateSync(content)
  const head = [
    '%PDF-1.7',
    '1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj',
    '2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj',
    '3 0 obj <</Type /Page /Parent 2 0 R /Resources <</Font <</F 4 0 R>>>> /Contents 5 0 R>> endobj',
    '4 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj',
    `5 0 obj <</Length ${stream.length} /Filter /FlateDecode>> stream\n`,
  ].join('\n')
  return Buffer.concat([Buffer.from(head), stream, Buffer.from('\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF')])
}

const files: Record<string, Buffer> = {
  'objects without an end': Buffer.from(`%PDF-1.7\n${times('1 0 obj ', size)}`),
  'objects without anything': Buffer.from(`%PDF-1.7\n${times('1 0 obj endobj ', size)}`),
  'lists that are never closed': Buffer.from(`%PDF-1.7\n${times('1 0 obj /Type /Page /Contents[', size)}`),
  'dictionaries that are never closed': Buffer.from(`%PDF-1.7\n1 0 obj ${times('/Font<<', size)} endobj`),
  'a content of brackets': pdf(times('((', size)),
  'a content of states that are kept and taken back': pdf(times('q Q ', 20 * size)),
  'a content of very many words': pdf(`BT /F 12 Tf ${times('(a word) Tj ', 20 * size)} ET`),
  'a content of 400 MB of spaces': pdf(times(' ', 400_000_000)),
  'XML of brackets': gzipSync(`<?xml ${times('<p <', size)}`, { level: 0 }),
  'packed zeros': gzipSync(Buffer.alloc(100_000_000)),
}

const readMs = 1500
const threads = new FileThreads({ readMs })

for (const [what, file] of Object.entries(files))
  test(`${what}: the end within ${readMs} ms and a start, while the event loop goes on`, async () => {
    let lagMs = 0
    let lastMs = performance.now()
    const beat = setInterval(() => {
      lagMs = Math.max(lagMs, performance.now() - lastMs)
      lastMs = performance.now()
    }, 10)
    const beganMs = performance.now()
    const [read] = await threads.read([file], 'owner')
    const tookMs = performance.now() - beganMs
    clearInterval(beat)
    console.log(`${what}: ${tookMs.toFixed(0)} ms, lag ${lagMs.toFixed(0)} ms, ${JSON.stringify(read).slice(-90)}`)
    expect(tookMs).toBeLessThan(readMs + 1000)
    expect(lagMs).toBeLessThan(500)
    if (what !== 'XML of brackets') expect(read!.some(one => 'unreadable' in one)).toBe(true)
  })

test('who sends much does not keep others waiting: keys are served in turn', async () => {
  const one = new FileThreads({ threadsMax: 1, readMs: 500 })
  const ended: string[] = []
  const ask = (owner: string, file: Buffer) => one.read([file], owner).then(() => ended.push(owner))
  const slow = pdf(times('((', size))
  await Promise.all([...Array.from({ length: 4 }, () => ask('many', slow)), ask('few', pdf('BT /F 12 Tf (a) Tj ET'))])
  expect(ended.indexOf('few')).toBeLessThanOrEqual(2)
  expect(ended).toHaveLength(5)
})

test('where more calls wait than there are places, or for too long, their files are unreadable', async () => {
  const few = new FileThreads({ threadsMax: 1, waitingMax: 1, readMs: 500, waitMs: 100 })
  const slow = pdf(times('((', size))
  const reads = await Promise.all(Array.from({ length: 4 }, () => few.read([slow], 'owner')))
  for (const [read] of reads) expect(read!.some(one => 'unreadable' in one)).toBe(true)
})
