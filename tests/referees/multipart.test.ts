/** @fastify/busboy as a referee of multipart forms. */
import { Busboy } from '@fastify/busboy'
import { expect, test } from 'bun:test'
import { MultipartParser, multipartEnd, multipartHead } from '../../src/lib/multipart.ts'
import { cut, randomOf } from './random.ts'
import type { Random } from './random.ts'

interface Part {
  name: string
  filename: string | undefined
  contentType: string | undefined
  content: string
}

function form(random: Random): { boundary: string; parts: Part[]; bytes: Buffer } {
  const boundary = `b${random.text("abcXYZ019-'()+_,.:=?", 40)}z`
  const parts = Array.from({ length: 1 + random.below(5) }, (): Part => {
    const isFile = random.below(2) === 0
    const content = random.bytes(120)
    return {
      name: `f${random.text('abc[]._- ', 8)}`,
      filename: isFile ? `n${random.text('abc._- äß東', 8)}.bin` : undefined,
      contentType: isFile ? random.of(['application/octet-stream', 'image/png', 'audio/wav']) : undefined,
      // Line ends and dashes, where a boundary might begin.
      content: Buffer.concat([content, Buffer.from(random.text('\r\n-b', 12))]).toString('latin1'),
    }
  })
  const bytes = Buffer.concat([
    ...parts.flatMap(part => [
      Buffer.from(multipartHead(boundary, part), 'utf8'),
      Buffer.from(part.content, 'latin1'),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(multipartEnd(boundary)),
  ])
  return { boundary, parts, bytes }
}

function ours(boundary: string, pieces: readonly Buffer[]): Part[] {
  const parser = new MultipartParser(boundary, { partsMax: 100, headBytesMax: 16_384 })
  const parts: Part[] = []
  for (const event of pieces.flatMap(piece => parser.push(piece))) {
    if (event.type === 'part') parts.push({ ...event.head, content: '' })
    else if (event.type === 'data') parts.at(-1)!.content += Buffer.from(event.bytes).toString('latin1')
  }
  return parts
}

function theirs(boundary: string, pieces: readonly Buffer[]): Promise<Part[]> {
  const parts: Part[] = []
  const { promise, resolve, reject } = Promise.withResolvers<Part[]>()
  const busboy = new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    isPartAFile: (_field, _type, filename) => filename !== undefined,
    preservePath: true,
  })
  busboy.on('file', (name, stream, filename, _encoding, contentType) => {
    const part: Part = { name, filename, contentType, content: '' }
    parts.push(part)
    stream.on('data', (chunk: Buffer) => (part.content += chunk.toString('latin1')))
  })
  busboy.on('field', (name, value) =>
    // To the referee a field is a text in UTF-8.
    parts.push({ name, filename: undefined, contentType: undefined, content: value }),
  )
  busboy.on('finish', () => resolve(parts))
  busboy.on('error', reject)
  for (const piece of pieces) busboy.write(piece)
  busboy.end()
  return promise
}

const byName = (parts: readonly Part[]) => [...parts].map(part => JSON.stringify(part)).toSorted()

test('500 forms have the same parts, wherever they are cut', async () => {
  const random = randomOf(31)
  for (let round = 0; round < 500; round++) {
    const { boundary, parts, bytes } = form(random)
    const pieces = cut(bytes, random)
    expect(ours(boundary, pieces)).toEqual(parts)
    const read = await theirs(boundary, pieces)
    const asText = parts.map(part =>
      part.filename === undefined ? { ...part, content: Buffer.from(part.content, 'latin1').toString('utf8') } : part,
    )
    expect([round, byName(read)]).toEqual([round, byName(asText)])
  }
})
