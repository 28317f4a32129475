import { expect, test } from 'bun:test'
import { FrameTooLargeError } from './frame.ts'
import { SseSplitter } from './sse.ts'

test('an event without end is refused at its limit, cheaply', () => {
  const splitter = new SseSplitter(1024 * 1024)
  const piece = Buffer.alloc(1024, 120)
  const from = performance.now()
  expect(() => {
    for (let at = 0; at < 2000; at++) splitter.push(piece)
  }).toThrow(FrameTooLargeError)
  expect(performance.now() - from).toBeLessThan(500)
})
