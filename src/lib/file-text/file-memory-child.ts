/** Reads a PDF that unpacks to 200 MB of blanks, in a process of its own: memory filled before would be used again. */
import { buffer } from 'node:stream/consumers'
import { once } from 'node:events'
import { createDeflate } from 'node:zlib'
import { FileThreads } from './file-threads.ts'

const threads = new FileThreads({ readMs: 40_000, growthBytesMax: 16 * 1024 * 1024 })
const packer = createDeflate()
const packed = buffer(packer)
const part = Buffer.alloc(500_000, ' ')
for (let parts = 0; parts < 400; parts++) if (!packer.write(part)) await once(packer, 'drain')
packer.end()
const stream = await packed
const head = [
  '%PDF-1.7',
  '1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj',
  '2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj',
  '3 0 obj <</Type /Page /Parent 2 0 R /Contents 4 0 R>> endobj',
  `4 0 obj <</Length ${stream.length} /Filter /FlateDecode>> stream\n`,
].join('\n')
const tail = '\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF'
const [read] = await threads.read([Buffer.concat([Buffer.from(head), stream, Buffer.from(tail)])], 'owner')
process.stdout.write(JSON.stringify(read))
process.exit(0)
