import { expect, test } from 'bun:test'
import { ResponseHead, framingOf } from './response-head.ts'
import type { ResponseHeadParts } from './response-head.ts'
import { HandStream } from '../../../tests/support/network/http-server-rig.ts'

const parts = (given: Partial<ResponseHeadParts> = {}): ResponseHeadParts => ({
  status: 200,
  headers: {},
  framing: 2,
  connection: '',
  epochMs: Date.UTC(2026, 10, 21, 13, 0, 5),
  ...given,
})
const headText = (given: ResponseHeadParts): string => {
  const head = new ResponseHead(given)
  const bytes = Buffer.alloc(head.length)
  return bytes.toString('latin1', 0, head.write(bytes, 0))
}
const date = 'date: Sat, 21 Nov 2026 13:00:05 GMT\r\n'

test('a whole head, in each framing', () => {
  const headers = { 'content-type': 'text/plain', 'x-a': 'b\tc' }
  expect(headText(parts({ headers }))).toBe(
    `HTTP/1.1 200 OK\r\n${date}content-type: text/plain\r\nx-a: b\tc\r\ncontent-length: 2\r\n\r\n`,
  )
  expect(headText(parts({ status: 404, framing: 'chunked', connection: 'close' }))).toBe(
    `HTTP/1.1 404 Not Found\r\n${date}transfer-encoding: chunked\r\nconnection: close\r\n\r\n`,
  )
  for (const framing of ['none', 'until-close'] as const)
    expect(headText(parts({ status: 299, framing }))).toBe(`HTTP/1.1 299 Status\r\n${date}\r\n`)
})

test('the date changes with the second, and is there at the beginning of time', () => {
  const dateAt = (epochMs: number): string => headText(parts({ epochMs })).split('\r\n')[1]!
  expect(dateAt(0)).toBe('date: Thu, 01 Jan 1970 00:00:00 GMT')
  expect(dateAt(999)).toBe('date: Thu, 01 Jan 1970 00:00:00 GMT')
  expect(dateAt(1000)).toBe('date: Thu, 01 Jan 1970 00:00:01 GMT')
  expect(dateAt(Date.UTC(2026, 0, 1))).toBe('date: Thu, 01 Jan 2026 00:00:00 GMT')
})

test('a head never needs more room than it says', () => {
  for (const framing of [Number.MAX_SAFE_INTEGER, 'chunked'] as const) {
    const parts_ = parts({ headers: { 'x-a': '\xff'.repeat(3000) }, framing, connection: 'keep-alive', status: 431 })
    expect(headText(parts_)).toEndWith('connection: keep-alive\r\n\r\n')
    expect(headText(parts_)).toContain(`x-a: ${'\xff'.repeat(3000)}\r\n`)
  }
})

test('no value and no name can end its line or frame the body', () => {
  for (const value of ['a\r\nset-cookie: x', 'a\nb', 'a\rb', 'a\0', '\x7f', '\x1b', 'snow \u2603'])
    expect(() => headText(parts({ headers: { 'x-a': value } }))).toThrow('the header x-a cannot be sent')
  const names = [
    '',
    'x a',
    'x:',
    'x\r\ny',
    'x\u2603',
    'content-length',
    'Transfer-Encoding',
    'connection',
    'date',
    'upgrade',
  ]
  for (const name of names)
    for (let again = 0; again < 2; again++)
      expect(() => headText(parts({ headers: { [name]: '1' } }))).toThrow('cannot have a header named')
})

test('how the end of a body is marked', () => {
  const get = { method: 'GET', isHttp10: false }
  const head = { method: 'HEAD', isHttp10: false }
  const old = { method: 'GET', isHttp10: true }
  const stream = new HandStream()
  expect(framingOf('\u00e9\u2603', 200, get)).toBe(5)
  expect(framingOf(new Uint8Array(7), 200, get)).toBe(7)
  expect(framingOf('', 200, get)).toBe(0)
  expect(framingOf(null, 200, get)).toBe(0)
  expect(framingOf(stream, 200, get)).toBe('chunked')
  expect(framingOf(new ReadableStream(), 200, get)).toBe('chunked')
  expect(framingOf(stream, 200, old)).toBe('until-close')
  expect(framingOf('four', 200, head)).toBe(4)
  expect(framingOf(null, 200, head)).toBe('none')
  for (const status of [204, 304]) expect(framingOf('text', status, get)).toBe('none')
})
