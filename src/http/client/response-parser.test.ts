import { expect, test } from 'bun:test'
import { headBytesMax } from '../header-fields.ts'
import { MalformedResponseError } from './response-head.ts'
import type { ResponseHead } from './response-head.ts'
import { ResponseParser } from './response-parser.ts'

interface Outcome {
  head: ResponseHead | undefined
  body: string
  ended: boolean
  leftover: number
  problem: string
}

/** Feeds `pieces`, then FIN. */
function read(pieces: readonly Buffer[]): Outcome {
  const parser = new ResponseParser()
  const body: Uint8Array[] = []
  let ended = false
  let problem = ''
  try {
    for (const piece of pieces) {
      parser.feed(piece)
      for (let event = parser.next(); event !== 'more'; event = parser.next()) {
        if (event === 'body') body.push(parser.piece)
        if (event === 'end') {
          ended = true
          break
        }
      }
      if (ended) break
    }
    if (!ended && parser.head) ended = parser.finish()
  } catch (thrown) {
    if (!(thrown instanceof MalformedResponseError)) throw thrown
    problem = thrown.message
  }
  const { head, leftover } = parser
  return { head, body: Buffer.concat(body).toString('latin1'), ended, leftover, problem }
}

function whole(text: string): Outcome {
  return read([Buffer.from(text, 'latin1')])
}

function byteByByte(text: string): Outcome {
  const bytes = Buffer.from(text, 'latin1')
  return read(Array.from({ length: bytes.length }, (_, i) => bytes.subarray(i, i + 1)))
}

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`

const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'

const letters = '0123456789abcdefghij'

const complete: [name: string, text: string, body: string][] = [
  ['content-length', `${ok}Content-Length: 5\r\n\r\nhello`, 'hello'],
  ['an empty body', `${ok}content-length: 0\r\n\r\n`, ''],
  ['a duplicate equal content-length', `${ok}content-length: 2\r\ncontent-length: 2\r\n\r\nhi`, 'hi'],
  ['a status line without a reason', 'HTTP/1.1 200\r\ncontent-length: 1\r\n\r\nx', 'x'],
  ['a body that ends with the connection', `${ok}\r\nall of it`, 'all of it'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nold', 'old'],
  ['chunks', `${chunked}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`, 'hello world'],
  ['chunk sizes of both cases', `${chunked}a\r\n0123456789\r\nA\r\nabcdefghij\r\n0\r\n\r\n`, letters],
  ['padded chunk sizes', `${chunked}00000003\r\nabc\r\n000\r\n\r\n`, 'abc'],
  ['chunk extensions', `${chunked}3;name="value;x"\r\nabc\r\n0;last\r\n\r\n`, 'abc'],
  ['trailers', `${chunked}3\r\nabc\r\n0\r\nx-sum: 1\r\ny: 2\r\n\r\n`, 'abc'],
  ['chunked in capitals', `${ok}Transfer-Encoding: Chunked\r\n\r\n1\r\nz\r\n0\r\n\r\n`, 'z'],
  ['interim responses', `${interim}${ok}content-length: 1\r\n\r\ny`, 'y'],
  ['204 in spite of its content-length', 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n', ''],
  ['304', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n', ''],
  ['line ends inside of a body', `${ok}content-length: 8\r\n\r\n\n\r\n\r\n\n\na`, '\n\r\n\r\n\n\na'],
]

for (const [name, text, body] of complete) {
  test(`${name}: read the same in one piece and byte by byte`, () => {
    for (const outcome of [whole(text), byteByByte(text)]) {
      expect(outcome.problem).toBe('')
      expect(outcome.body).toBe(body)
      expect(outcome.ended).toBe(true)
      expect(outcome.leftover).toBe(0)
    }
  })
}

const refused: [name: string, text: string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ['bytes of TLS', '\x15\x03\x01\x00\x02\x02\x46\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n'],
  ['HTTP/1.2', 'HTTP/1.2 200 OK\r\n\r\n'],
  ['lower-case http', 'http/1.1 200 OK\r\n\r\n'],
  ['status 999', 'HTTP/1.1 999 Odd\r\n\r\n'],
  ['status 600', 'HTTP/1.1 600 Odd\r\n\r\n'],
  ['status 099', 'HTTP/1.1 099 Odd\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['two spaces before the status', 'HTTP/1.1  200 OK\r\n\r\n'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a control character in the reason', 'HTTP/1.1 200 O\x01K\r\n\r\n'],
  ['line feeds alone', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n'],
  ['a line feed alone among others', `${ok}a: b\nc: d\r\n\r\n`],
  ['a carriage return alone', `${ok}a: b\rc: d\r\n\r\n`],
  ['NUL in a value', `${ok}a: b\0c\r\n\r\n`],
  ['NUL in a name', `${ok}a\0: b\r\n\r\n`],
  ['DEL in a value', `${ok}a: b\x7f\r\n\r\n`],
  ['a folded line', `${ok}a: b\r\n c\r\n\r\n`],
  ['a folded line with a tab', `${ok}a: b\r\n\tc\r\n\r\n`],
  ['a space before the colon', `${ok}content-length : 3\r\n\r\nabc`],
  ['a line without a colon', `${ok}nonsense\r\n\r\n`],
  ['an empty name', `${ok}: b\r\n\r\n`],
  ['a name with a space', `${ok}a b: c\r\n\r\n`],
  ['a name beyond ASCII', `${ok}\xe4: c\r\n\r\n`],
  ['unequal content-lengths', `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\nabc`],
  ['a list of content-lengths', `${ok}content-length: 3, 3\r\n\r\nabc`],
  ['a signed content-length', `${ok}content-length: +3\r\n\r\nabc`],
  ['a negative content-length', `${ok}content-length: -3\r\n\r\nabc`],
  ['a hexadecimal content-length', `${ok}content-length: 0x3\r\n\r\nabc`],
  ['an empty content-length', `${ok}content-length:\r\n\r\n`],
  ['a content-length beyond reason', `${ok}content-length: 9999999999999999\r\n\r\n`],
  ['a content-length with a no-break space', `${ok}content-length: \xa03\r\n\r\nabc`],
  ['content-length beside chunked', `${ok}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['chunked beside content-length', `${ok}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n`],
  ['gzip, chunked', `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunked twice', `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['chunked, chunked', `${ok}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
  ['identity as transfer-encoding', `${ok}transfer-encoding: identity\r\n\r\nabc`],
  ['xchunked', `${ok}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ['an empty transfer-encoding', `${ok}transfer-encoding:\r\n\r\nabc`],
  ['chunked in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['an empty chunk size', `${chunked}\r\nabc\r\n0\r\n\r\n`],
  ['a chunk size that is no number', `${chunked}xyz\r\nabc\r\n0\r\n\r\n`],
  ['a chunk size with 0x', `${chunked}0x3\r\nabc\r\n0\r\n\r\n`],
  ['a negative chunk size', `${chunked}-3\r\nabc\r\n0\r\n\r\n`],
  ['a chunk size that overflows 32 bits', `${chunked}ffffffff00000003\r\nabc\r\n0\r\n\r\n`],
  ['a chunk size of endless zeros', `${chunked}${'0'.repeat(20)}3\r\nabc\r\n0\r\n\r\n`],
  ['a chunk size line that ends in a line feed', `${chunked}3\nabc\r\n0\r\n\r\n`],
  ['a chunk longer than its size', `${chunked}3\r\nabcd\r\n0\r\n\r\n`],
  ['a chunk followed by a line feed only', `${chunked}3\r\nabc\n0\r\n\r\n`],
  ['a line feed in a chunk extension', `${chunked}3;a\nb\r\nabc\r\n0\r\n\r\n`],
  ['an endless chunk extension', `${chunked}3;${'a'.repeat(2000)}\r\nabc\r\n0\r\n\r\n`],
  ['a trailer that ends in a line feed', `${chunked}0\r\na: b\n\r\n`],
  ['a folded trailer', `${chunked}0\r\n a: b\r\n\r\n`],
  ['endless trailers', `${chunked}0\r\n${'a: b\r\n'.repeat(4000)}\r\n`],
  ['201 header lines', `${ok}${'a: b\r\n'.repeat(201)}\r\n`],
  ['headers beyond 64 KiB', `${ok}a: ${'b'.repeat(headBytesMax)}\r\n\r\n`],
  ['endless interim responses', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20)],
]

for (const [name, text] of refused) {
  test(`${name}: refused in one piece and byte by byte`, () => {
    expect(whole(text).problem).not.toBe('')
    expect(byteByByte(text).problem).not.toBe('')
  })
}

test('200 header lines and just under 64 KiB of headers are read', () => {
  expect(whole(`${ok}${'a: b\r\n'.repeat(199)}content-length: 0\r\n\r\n`).ended).toBe(true)
  const large = `${ok}a: ${'b'.repeat(headBytesMax - 100)}\r\ncontent-length: 0\r\n\r\n`
  expect(whole(large).ended).toBe(true)
  const bytes = Buffer.from(large)
  expect(read([bytes.subarray(0, 100), bytes.subarray(100, 40_000), bytes.subarray(40_000)]).ended).toBe(true)
})

test('a cut answer is not complete', () => {
  for (const text of [
    '',
    'HTTP/1.1 200 OK\r\n',
    `${ok}content-length: 5\r\n\r\nhell`,
    `${chunked}5\r\nhello\r\n`,
    `${chunked}5\r\nhello\r\n0\r\n`,
    `${chunked}5\r\nhello\r\n0\r\n\r`,
  ]) {
    expect(whole(text).ended).toBe(false)
    expect(whole(text).problem).toBe('')
  }
})

test('bytes after the answer are counted, whether or not the head came in parts', () => {
  const text = `${ok}content-length: 2\r\n\r\nhiPOISON`
  expect(whole(text).leftover).toBe(6)
  const bytes = Buffer.from(text)
  const inParts = read([bytes.subarray(0, 30), bytes.subarray(30)])
  expect(inParts).toMatchObject({ body: 'hi', leftover: 6, ended: true })
  expect(whole(`${chunked}0\r\n\r\nHTTP/1.1 200 OK\r\n`).leftover).toBe(17)
  expect(whole('HTTP/1.1 204 x\r\n\r\nabc').leftover).toBe(3)
})

test('the body of a head that came in parts may hold bare line feeds', () => {
  const bytes = Buffer.from(`${ok}content-length: 6\r\n\r\na\nb\n\nc`)
  for (let cut = 1; cut < bytes.length; cut++) {
    const inParts = read([bytes.subarray(0, cut), bytes.subarray(cut)])
    expect(inParts).toMatchObject({ body: 'a\nb\n\nc', problem: '' })
  }
})

test('garbage is refused at its first bytes, without waiting for a line end', () => {
  const parser = new ResponseParser()
  parser.feed(Buffer.from('SS'))
  expect(() => parser.next()).toThrow('not HTTP/1.1')
})

test('whether a connection is kept follows version, connection and keep-alive headers', () => {
  const cases: [string, boolean, number][] = [
    [`${ok}content-length: 0\r\n\r\n`, true, Infinity],
    [`${ok}connection: close\r\ncontent-length: 0\r\n\r\n`, false, Infinity],
    [`${ok}Connection: Close\r\ncontent-length: 0\r\n\r\n`, false, Infinity],
    [`${ok}connection: keep-alive, close\r\ncontent-length: 0\r\n\r\n`, false, Infinity],
    [`${ok}connection: x-close\r\ncontent-length: 0\r\n\r\n`, true, Infinity],
    [`${ok}connection: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, false, Infinity],
    [`${ok}keep-alive: timeout=5, max=100\r\ncontent-length: 0\r\n\r\n`, true, 5000],
    [`${ok}keep-alive: timeout=soon\r\ncontent-length: 0\r\n\r\n`, true, Infinity],
    ['HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', false, Infinity],
    ['HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n', true, Infinity],
  ]
  for (const [text, keepAlive, keepAliveMs] of cases) expect(whole(text).head).toMatchObject({ keepAlive, keepAliveMs })
})

test('a header is found by its lower-case name, first value, without spaces around it', () => {
  const lines = 'X-Thing:  one \r\nx-thing: two\r\nEmpty:\r\nthing: three\r\ncontent-length: 0\r\n'
  const { head } = whole(`${ok}${lines}\r\n`)
  expect(head!.first('x-thing')).toBe('one')
  expect(head!.first('thing')).toBe('three')
  expect(head!.first('empty')).toBe('')
  expect(head!.first('x-thin')).toBeNull()
  expect(head!.first('content-length')).toBe('0')
})

test('one parser reads one answer after another', () => {
  const parser = new ResponseParser()
  const inChunks = `${chunked}1\r\na\r\n0\r\n\r\n`
  for (const text of [inChunks, `${ok}content-length: 1\r\n\r\na`, inChunks]) {
    parser.reset()
    let body = ''
    for (const byte of Buffer.from(text)) {
      parser.feed(Buffer.of(byte))
      while (parser.next() === 'body') body += Buffer.from(parser.piece).toString()
    }
    expect(body).toBe('a')
    expect(parser.next()).toBe('end')
  }
})
