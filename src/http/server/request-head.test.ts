import { expect, test } from 'bun:test'
import { headBytesMax } from '../header-fields.ts'
import { RefusedRequest, checkPartialHead, RequestHead } from './request-head.ts'

const read = (text: string): RequestHead => {
  const bytes = Buffer.from(text, 'latin1')
  return new RequestHead(bytes, 0, bytes.length)
}

/** The lines of a head with a Host. */
const head = (first: string, ...lines: string[]): string => [first, 'Host: gate:4000', ...lines, '', ''].join('\r\n')
const post = (...lines: string[]): string => head('POST /v1/x HTTP/1.1', ...lines)

function refusal(text: string): { status: number; message: string } {
  try {
    read(text)
  } catch (thrown) {
    if (!(thrown instanceof RefusedRequest)) throw thrown
    return { status: thrown.status, message: thrown.message }
  }
  throw new Error(`not refused: ${JSON.stringify(text.slice(0, 200))}`)
}

test('reads what the head says', () => {
  const found = read(post('Content-Length: 12', 'X-One:\t a  b \t', 'x-two: 1', 'X-TWO:2', 'x-empty:'))
  expect(found.method).toBe('POST')
  expect(found.target).toBe('/v1/x')
  expect(found.isHttp10).toBe(false)
  expect(found.contentLength).toBe(12)
  expect(found.chunked).toBe(false)
  expect(found.keepAlive).toBe(true)
  expect(found.expectsContinue).toBe(false)
  expect(found.get('x-one')).toBe('a  b')
  expect(found.get('x-two')).toBe('1, 2')
  expect(found.get('x-empty')).toBe('')
  expect(found.get('x-tw')).toBeNull()
  expect(found.has('x-two')).toBe(true)
  expect(found.has('x-three')).toBe(false)
})

test('a value is Latin-1, and only blanks around it are cut', () => {
  expect(read(post('x-name: \xa0caf\xe9\xa0 ')).get('x-name')).toBe('\xa0caf\xe9\xa0')
})

test('a name is compared whole and by letters only', () => {
  // '^' and '~' differ by 32, as 'A' and 'a' do.
  const found = read(post('x^y: 1', 'X-LONG-NAME: 2'))
  expect(found.get('x^y')).toBe('1')
  expect(found.get('x~y')).toBeNull()
  expect(found.get('x-long-nam')).toBeNull()
  expect(found.get('x-long-name')).toBe('2')
})

test('a head in the middle of other bytes is read from its place', () => {
  const text = post('x-a: 1')
  const bytes = Buffer.from(`\r\n${text}GET /smuggled HTTP/1.1\r\nHost: b\r\n\r\n`)
  const found = new RequestHead(bytes, 2, 2 + text.length)
  expect(found.target).toBe('/v1/x')
  expect(found.get('host')).toBe('gate:4000')
})

test('targets: origin form as sent, absolute form without its origin, asterisk for OPTIONS', () => {
  const target = (sent: string, method = 'GET'): string => read(head(`${method} ${sent} HTTP/1.1`)).target
  expect(target('/a?b=%00&c=/../')).toBe('/a?b=%00&c=/../')
  expect(target('//double')).toBe('//double')
  expect(target('/a#fragment')).toBe('/a')
  expect(target('http://gate:4000/v1/models?x=1')).toBe('/v1/models?x=1')
  expect(target('HTTPS://gate')).toBe('/')
  expect(target('http://gate?x=1')).toBe('/?x=1')
  expect(target('*', 'OPTIONS')).toBe('/')
})

test('targets that are none of these are refused', () => {
  for (const sent of ['*', 'v1/models', 'gate:4000', 'ftp://gate/x', 'http:///x', 'http://', '?x', '\\v1'])
    expect(refusal(head(`GET ${sent} HTTP/1.1`)).status).toBe(400)
  for (const sent of ['/caf\xe9', '/a\x00b', '/a\x7f', '/a\tb'])
    expect(refusal(head(`GET ${sent} HTTP/1.1`)).message).toContain('percent-encoded')
})

test('request lines that two readers could read in two ways are refused', () => {
  for (const first of [
    'GET  /a HTTP/1.1',
    ' GET /a HTTP/1.1',
    'GET\t/a HTTP/1.1',
    'GET /a  HTTP/1.1',
    'GET /a HTTP/1.1 ',
    'GET /a b HTTP/1.1',
    'GET /a',
    'GET  HTTP/1.1',
    'GET /a http/1.1',
    'GET /a HTTP/1.10',
    'GET /a HTTP/01.1',
    'GET /a HTTP/2.0',
    'GET /a HTTP/1.2',
    'GET /a HTTP/0.9',
    'G(T /a HTTP/1.1',
    'G\x00T /a HTTP/1.1',
    '/a HTTP/1.1',
    '\rGET /a HTTP/1.1',
    'GET /a HTTP/1.1\r',
    'GET /a\rHTTP/1.1',
  ])
    expect(`${refusal(head(first)).status} ${first}`).toMatch(/^(400|505) /)
  expect(refusal('PRI * HTTP/2.0\r\n\r\n').status).toBe(505)
})

test('the length of a body is digits, once', () => {
  expect(read(post('content-length: 007')).contentLength).toBe(7)
  expect(read(post('content-length: 999999999999999')).contentLength).toBe(999_999_999_999_999)
  const wrong = ['+5', '-5', '5,5', '5, 5', '0x5', '5 5', '5.0', '', '1e3', '5;a', '\xb2', '1'.repeat(16), 'NaN']
  for (const value of wrong) expect([value, refusal(post(`content-length: ${value}`)).status]).toEqual([value, 400])
  expect(refusal(post('content-length: 5', 'Content-Length: 5')).message).toContain('twice')
  expect(refusal(post('content-length: 5', 'content-length: 6')).message).toContain('twice')
})

test('a transfer coding is chunked and nothing else, and never beside a length or in HTTP/1.0', () => {
  expect(read(post('Transfer-Encoding: Chunked')).chunked).toBe(true)
  const wrong = [
    '',
    'identity',
    'gzip, chunked',
    'chunked, chunked',
    'chunked,',
    ',chunked',
    'xchunked',
    'chunked;q=1',
    '"chunked"',
    'chunk',
    'chunked\xa0',
    'chunked chunked',
  ]
  for (const value of wrong) expect([value, refusal(post(`transfer-encoding: ${value}`)).status]).toEqual([value, 501])
  expect(refusal(post('transfer-encoding: chunked', 'transfer-encoding: chunked')).status).toBe(400)
  expect(refusal(post('transfer-encoding: chunked', 'transfer-encoding: identity')).status).toBe(400)
  expect(refusal(post('transfer-encoding: chunked', 'content-length: 5')).message).toContain('two ways')
  expect(refusal(post('content-length: 5', 'transfer-encoding: chunked')).message).toContain('two ways')
  expect(refusal('POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n').status).toBe(400)
})

test('header lines that two readers could read in two ways are refused', () => {
  for (const line of [
    'x-a : 1',
    ': 1',
    'x-a',
    'x a: 1',
    ' x-a: 1',
    '\tfolded',
    'x-a: 1\r\n folded',
    'x-a: 1\r\n\tfolded',
    'x\xe9: 1',
    'x-a: b\x00c',
    'x-a: b\rc',
    'x-a: b\nx-b: c',
    'x-a: b\n\r\nx',
    'x-a: \x7f',
    'x-a: \x1b[0m',
    'x-a: 1\n',
    '\nx-a: 1',
    'content-length\x0b: 5',
    'transfer-encoding\x00: chunked',
    '(x): 1',
    'x-a:1\r\r\n x',
  ])
    expect([line, refusal(post(line)).status]).toEqual([line, 400])
})

test('one Host, well-formed; only HTTP/1.0 may do without', () => {
  expect(refusal('GET / HTTP/1.1\r\n\r\n').message).toContain('Host header is missing')
  expect(refusal('GET / HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n').message).toContain('twice')
  expect(read('GET / HTTP/1.0\r\n\r\n').isHttp10).toBe(true)
  for (const host of ['', 'gate', 'gate:4000', '[::1]:80', '10.0.0.1', 'a_b.c'])
    expect(read(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`).get('host')).toBe(host)
  for (const host of ['a b', 'a/b', 'a@b', 'a,b', 'a?b', 'a#b', 'caf\xe9', 'a\\b', '<a>'])
    expect([host, refusal(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`).status]).toEqual([host, 400])
})

test('who keeps the connection', () => {
  const keeps = (version: string, ...lines: string[]): boolean =>
    read(head(`GET / HTTP/${version}`, ...lines)).keepAlive
  expect(keeps('1.1')).toBe(true)
  expect(keeps('1.1', 'connection: keep-alive')).toBe(true)
  expect(keeps('1.1', 'connection: Close')).toBe(false)
  expect(keeps('1.1', 'connection: foo, CLOSE ,bar')).toBe(false)
  expect(keeps('1.1', 'connection: foo', 'connection: close')).toBe(false)
  expect(keeps('1.1', 'connection: closed, x-close')).toBe(true)
  expect(keeps('1.0')).toBe(false)
  expect(keeps('1.0', 'connection: Keep-Alive')).toBe(true)
  expect(keeps('1.0', 'connection: keep-alive, close')).toBe(false)
})

test('expectations: one is known, HTTP/1.0 has none', () => {
  expect(read(post('expect: 100-Continue', 'content-length: 1')).expectsContinue).toBe(true)
  expect(refusal(post('expect: 200-ok')).status).toBe(417)
  expect(read('POST / HTTP/1.0\r\nexpect: 100-continue\r\n\r\n').expectsContinue).toBe(false)
})

test('at most 200 header lines', () => {
  const lines = Array.from({ length: 199 }, (_, i) => `x-${i}: ${i}`)
  expect(read(post(...lines)).get('x-198')).toBe('198')
  expect(refusal(post(...lines, 'x-199: 1')).status).toBe(431)
  expect(headBytesMax).toBe(65_536)
})

test('a beginning that can never become a head is refused at once; any beginning of a good one is not', () => {
  const hopeless = (text: string): boolean => {
    try {
      checkPartialHead(Buffer.from(text, 'latin1'), 0)
      return false
    } catch (thrown) {
      return thrown instanceof RefusedRequest && thrown.status === 400
    }
  }
  const tlsHello = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'
  for (const text of [
    tlsHello,
    '\x00',
    ' GET',
    '\n',
    '\rG',
    '{"a":1}',
    'GET / HTTP/1.1\n',
    'GET / HTTP/1.1\r\nhost: a\nb: c',
  ])
    expect([text, hopeless(text)]).toEqual([text, true])
  const good = post('x-a: 1')
  for (let length = 1; length < good.length; length++) expect(hopeless(good.slice(0, length))).toBe(false)
  expect(hopeless('\r')).toBe(false)
})
