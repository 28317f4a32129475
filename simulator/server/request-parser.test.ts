import { describe, expect, test } from 'bun:test'
import { RequestError, RequestParser } from './request-parser.ts'
import type { HttpRequest } from './request-parser.ts'

const plain = 'POST /a?b=1 HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nx-two: 2\r\nContent-Length: 8\r\n\r\n{"ä":1}'
const chunked =
  'POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: ' +
  'chunked\r\n\r\n4;name=x\r\n{"a"\r\nA\r\n:"bcdefg"}\r\n0\r\nx-t: 1\r\n\r\n'
const bare = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

const seen = (request: HttpRequest) => [
  request.method,
  request.target,
  request.body.toString(),
  request.headers.get('x-two'),
  request.keepAlive,
]
const all = Buffer.from(plain + chunked + bare)
const expected = [
  ['POST', '/a?b=1', '{"ä":1}', '1, 2', true],
  ['POST', '/c', '{"a":"bcdefg"}', undefined, true],
  ['GET', '/', '', undefined, false],
]

describe('the request parser', () => {
  test('reads pipelined requests', () => {
    expect(new RequestParser().push(all).map(seen)).toEqual(expected)
  })

  test('reads the same for every split of the bytes', () => {
    for (let cut = 0; cut <= all.length; cut++) {
      const parser = new RequestParser()
      const requests = [...parser.push(all.subarray(0, cut)), ...parser.push(all.subarray(cut))]
      expect(requests.map(seen)).toEqual(expected)
    }
  })

  test('reads the same byte by byte, from a reused buffer', () => {
    const parser = new RequestParser()
    const requests: HttpRequest[] = []
    const byte = new Uint8Array(1)
    for (const one of all) {
      byte[0] = one
      requests.push(...parser.push(byte))
    }
    expect(requests.map(seen)).toEqual(expected)
    expect(parser.isInside).toBe(false)
  })

  test('reports once that a client waits for 100 Continue', () => {
    let reported = 0
    const parser = new RequestParser(() => reported++)
    parser.push(Buffer.from('POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n'))
    expect(parser.push(Buffer.from('{}')).length).toBe(1)
    expect(reported).toBe(1)
  })

  const bad: [string, string, number][] = [
    ['a line that is no request', 'hello\r\n\r\n', 400],
    ['HTTP/2 in text', 'GET / HTTP/2\r\nhost: x\r\n\r\n', 400],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two hosts', 'GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n', 400],
    ['a space before the colon', 'GET / HTTP/1.1\r\nhost : a\r\n\r\n', 400],
    ['a folded header', 'GET / HTTP/1.1\r\nhost: a\r\n b: c\r\n\r\n', 400],
    ['a bare line feed in a header', 'GET / HTTP/1.1\r\nhost: a\nx: y\r\n\r\n', 400],
    [
      'length beside chunks',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
    ],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n', 400],
    ['a negative length', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n', 400],
    ['a length of a terabyte', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000000\r\n\r\n', 413],
    ['another transfer encoding', 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n', 501],
    ['a chunk size that is none', 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n', 400],
    [
      'a chunk longer than its size',
      'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n',
      400,
    ],
    ['a head without end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(140_000)}`, 431],
  ]
  for (const [what, text, status] of bad)
    test(`refuses ${what}`, () => {
      let error: unknown
      try {
        new RequestParser().push(Buffer.from(text))
      } catch (thrown) {
        error = thrown
      }
      expect(error).toBeInstanceOf(RequestError)
      expect((error as RequestError).status).toBe(status)
    })
})
