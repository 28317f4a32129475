/** Forms and their parts, for the tests of the parser. */
import { expect } from 'bun:test'
import { MultipartParser } from './multipart.ts'
import type { PartHead } from './multipart.ts'

const limits = { partsMax: 64, headBytesMax: 1024 }

/** Its contents as Latin-1. */
export type Part = PartHead & { text: string }

/** Parts with their contents as Latin-1. */
export function parse(pieces: Iterable<Uint8Array>, boundary = 'B'): Part[] {
  const parser = new MultipartParser(boundary, limits)
  const parts: Part[] = []
  let open = false
  for (const piece of pieces)
    for (const event of parser.push(piece)) {
      if (event.type === 'part') {
        expect(open).toBe(false)
        open = true
        parts.push({ ...event.head, text: '' })
      } else if (event.type === 'data') parts.at(-1)!.text += Buffer.from(event.bytes).toString('latin1')
      else open = false
    }
  parser.end()
  expect(open).toBe(false)
  return parts
}

/** The parts of a form that comes in one piece. */
export const whole = (text: string, boundary?: string) => parse([Buffer.from(text, 'latin1')], boundary)

/** A whole form. */
export const form = (...parts: string[]) => parts.map(part => `--B\r\n${part}\r\n`).join('') + '--B--\r\n'

/** A part with a text. */
export const field = (name: string, value: string) => `content-disposition: form-data; name="${name}"\r\n\r\n${value}`
