import { expect, test } from 'bun:test'
import { RequestParser } from './request-parser.ts'
import type { HttpRequest } from './request-parser.ts'

test('takes a body of megabytes in small pieces in linear time', () => {
  const parser = new RequestParser()
  const piece = Buffer.alloc(1000, 97)
  parser.push(Buffer.from(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${piece.length * 8000}\r\n\r\n`))
  const startMs = performance.now()
  let requests: HttpRequest[] = []
  for (let at = 0; at < 8000; at++) requests = parser.push(piece)
  expect(requests[0]?.body.length).toBe(8_000_000)
  expect(performance.now() - startMs).toBeLessThan(1000)
})
