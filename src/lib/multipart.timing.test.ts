import { expect, test } from 'bun:test'
import { MultipartParser } from './multipart.ts'
import type { PartHead } from './multipart.ts'

const limits = { partsMax: 64, headBytesMax: 1024 }

type Part = PartHead & { text: string }

/** Parts with their contents as Latin-1. */
function parse(pieces: Iterable<Uint8Array>, boundary = 'B'): Part[] {
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

const whole = (text: string, boundary?: string) => parse([Buffer.from(text, 'latin1')], boundary)

const form = (...parts: string[]) => parts.map(part => `--B\r\n${part}\r\n`).join('') + '--B--\r\n'

const field = (name: string, value: string) => `content-disposition: form-data; name="${name}"\r\n\r\n${value}`

test('500,000 parts, dashes without end and 50 MB of half boundaries take little time', () => {
  const fromMs = performance.now()
  expect(() => whole(form(...Array(100_000).fill(field('a', 'b'))))).toThrow('more than 64 parts')
  const dashes = '-'.repeat(70)
  expect(parse([Buffer.alloc(8_000_000, 45)], dashes)).toEqual([])
  const halves = Buffer.from(`--${dashes}\r\n${field('a', `\r\n--${'-'.repeat(69)}`.repeat(200_000))}\r\n--${dashes}--`)
  expect(parse([halves], dashes)[0]!.text.length).toBe(73 * 200_000)
  const small = Array.from({ length: 100_000 }, () => Buffer.from('\r\n--'))
  expect(parse([Buffer.from(`--B\r\n${field('a', '')}`), ...small, Buffer.from('\r\n--B--')])[0]!.text.length).toBe(
    400_000,
  )
  expect(performance.now() - fromMs).toBeLessThan(2000)
})
