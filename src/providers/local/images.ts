/** Simulated image generation: a mirrored pattern of coloured cells derived from the prompt, as PNG. */
import { deflateSync } from 'node:zlib'
import type { Json } from '../../lib/json/json-values.ts'
import { LocalRefusal } from './refusal.ts'

const countMax = 10
const sideMin = 16
const sideMax = 2048
const sideDefault = 256
const promptLengthMax = 32_000
const cells = 8
const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/**
 * Answers an image request of OpenAI's shape. `createdS` (epoch seconds) is a parameter so that answers are
 * deterministic. Throws LocalRefusal for unsupported sizes, formats and counts.
 */
export function answerImages(body: Json, createdS: number): object {
  const prompt = readPrompt(body.prompt)
  const count = readCount(body.n)
  const { width, height } = readSize(body.size)
  if (body.output_format !== undefined && body.output_format !== null && body.output_format !== 'png')
    throw new LocalRefusal('output_format', 'the built-in image model makes png only')
  if (body.stream === true)
    throw new LocalRefusal('stream', 'the built-in image model does not stream; leave `stream` out')
  const images = Array.from({ length: count }, (_, at) => drawPng(`${prompt}\n${at}`, width, height).toString('base64'))
  return {
    created: createdS,
    data: images.map(data => ({
      ...(body.response_format === 'url' ? { url: `data:image/png;base64,${data}` } : { b64_json: data }),
      revised_prompt: '[simulated] A pattern of coloured cells; no image model is configured.',
    })),
  }
}

function readPrompt(value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= promptLengthMax) return value
  throw new LocalRefusal('prompt', `\`prompt\` must be a text of 1 to ${promptLengthMax} characters`)
}

function readCount(value: unknown): number {
  if (value === undefined || value === null) return 1
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= countMax) return value
  throw new LocalRefusal('n', `\`n\` must be an integer from 1 to ${countMax}`)
}

function readSize(value: unknown): { width: number; height: number } {
  if (value === undefined || value === null || value === 'auto') return { width: sideDefault, height: sideDefault }
  const [, width, height] = /^(\d{1,4})x(\d{1,4})$/.exec(String(value)) ?? []
  const isRight = (side: string | undefined) => Number(side) >= sideMin && Number(side) <= sideMax
  if (isRight(width) && isRight(height)) return { width: Number(width), height: Number(height) }
  throw new LocalRefusal('size', `\`size\` must be "auto" or WIDTHxHEIGHT with sides from ${sideMin} to ${sideMax}`)
}

/** Four colours at two bits per pixel: at most 1 MiB before compression (PNG specification, section 11.2). */
function drawPng(seed: string, width: number, height: number): Buffer {
  const rowBytes = Math.ceil(width / 4)
  const pixels = Buffer.alloc((rowBytes + 1) * height)
  const row = Buffer.alloc(rowBytes + 1)
  let drawnCellY = -1
  for (let y = 0; y < height; y++) {
    const cellY = Math.floor((y * cells) / height)
    if (cellY !== drawnCellY) drawRow(row, { seed, cellY, width })
    drawnCellY = cellY
    row.copy(pixels, y * row.length)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Bit depth 2, colour type 3 (palette), default compression, filter and interlace methods.
  header.set([2, 3, 0, 0, 0], 8)
  return Buffer.concat([
    pngSignature,
    chunk('IHDR', header),
    chunk('PLTE', palette(seed)),
    chunk('IDAT', deflateSync(pixels, { level: 6 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Draws a row of pixels; its first byte, 0, is the filter type "none". */
function drawRow(row: Buffer, { seed, cellY, width }: { seed: string; cellY: number; width: number }): void {
  row.fill(0)
  for (let x = 0; x < width; x++) {
    const cellX = Math.floor((x * cells) / width)
    const mirrored = Math.min(cellX, cells - 1 - cellX)
    const colour = Number(Bun.hash(`${seed}\n${mirrored}\n${cellY}`)) & 3
    row[1 + (x >> 2)]! |= colour << (6 - 2 * (x & 3))
  }
}

function palette(seed: string): Buffer {
  const colours = Buffer.alloc(12)
  colours.writeBigUInt64LE(BigInt(Bun.hash(seed)), 0)
  colours.writeUInt32LE(Bun.hash.crc32(seed), 8)
  return colours
}

/** Length, type, data and CRC. */
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(named.length + 8)
  framed.writeUInt32BE(data.length, 0)
  named.copy(framed, 4)
  framed.writeUInt32BE(Bun.hash.crc32(named), named.length + 4)
  return framed
}
