import { expect, test } from 'bun:test'
import { parse, whole, form, field } from './multipart-fixture.ts'

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
