import { describe, expect, test } from 'bun:test'
import { boundaryOf, fieldName, multipartEnd, multipartHead, MultipartError } from './multipart.ts'
import type { PartHead } from './multipart.ts'
import { parse, whole, form, field } from './multipart-fixture.ts'

/** All that makes cutting hard: empty parts, line ends, half boundaries, bytes of every value. */
const hard = form(
  field('model', 'whisper-1'),
  field('empty', ''),
  field('lines', '\r\n\r\n'),
  field('almost', '\r\n--\r\n--A\r\n-\r\r\n--'),
  `Content-Disposition: form-data; name="file"; filename="a \\"b\\".wav"\r\nContent-Type: audio/wav\r\n\r\n${String.fromCharCode(...Array(256).keys())}`,
)
const hardParts = [
  { name: 'model', filename: undefined, contentType: undefined, text: 'whisper-1' },
  { name: 'empty', filename: undefined, contentType: undefined, text: '' },
  { name: 'lines', filename: undefined, contentType: undefined, text: '\r\n\r\n' },
  { name: 'almost', filename: undefined, contentType: undefined, text: '\r\n--\r\n--A\r\n-\r\r\n--' },
  { name: 'file', filename: 'a "b".wav', contentType: 'audio/wav', text: String.fromCharCode(...Array(256).keys()) },
]

describe('reading a form', () => {
  test('whole, at every cut in two, and byte by byte, in memory that is used again', () => {
    const bytes = Buffer.from(hard, 'latin1')
    expect(parse([bytes])).toEqual(hardParts)
    for (let at = 0; at <= bytes.length; at++)
      expect(parse([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(hardParts)
    const shared = Buffer.alloc(1)
    function* single() {
      for (const byte of bytes) {
        shared[0] = byte
        yield shared
      }
    }
    expect(parse(single())).toEqual(hardParts)
  })

  test('what a browser writes is read', async () => {
    const sent = new FormData()
    sent.append('model', 'm')
    sent.append('timestamp_granularities[]', 'word')
    sent.append('file', new File(['abc'], 'naïve "name".wav', { type: 'audio/wav' }))
    const written = new Response(sent)
    const boundary = boundaryOf(written.headers.get('content-type')!)
    const parts = parse([await written.bytes()], boundary)
    expect(parts.map(one => [one.name, one.filename, one.text])).toEqual([
      ['model', undefined, 'm'],
      ['timestamp_granularities[]', undefined, 'word'],
      ['file', 'naïve "name".wav', 'abc'],
    ])
    expect(parts.map(one => fieldName(one.name))).toEqual(['model', 'timestamp_granularities', 'file'])
  })

  test('a preamble, blanks after a boundary, an epilogue, other headers and filename*', () => {
    const [part] = whole(
      `before\r\n--B \t\r\nX-Other: 1\r\ncontent-disposition: form-data; filename=plain.wav; name=file; filename*=UTF-8''na%C3%AFve.wav\r\n\r\nx\r\n--B--\r\nafter --B`,
    )
    expect(part).toEqual({ name: 'file', filename: 'naïve.wav', contentType: undefined, text: 'x' })
  })

  const refused: [string, string, string][] = [
    ['nothing', '', 'does not begin'],
    ['JSON', '{"model":"m"}', 'does not begin'],
    ['another boundary', form(field('a', 'b')).replaceAll('--B', '--C'), 'does not begin'],
    ['an endless preamble', 'x'.repeat(5000), 'does not begin'],
    ['no end', form(field('a', 'b')).slice(0, -6), 'closing boundary'],
    ['half a head', '--B\r\ncontent-disp', 'closing boundary'],
    ['text after a boundary', '--Bx\r\n', 'followed by other text'],
    ['a head without an end', `--B\r\n${'a: b\r\n'.repeat(1000)}`, '1024 bytes of headers'],
    ['one endless header', `--B\r\na: ${'x'.repeat(5000)}`, '1024 bytes of headers'],
    ['no disposition', form('content-type: text/plain\r\n\r\nx'), 'content-disposition'],
    ['no head', form('\r\nx'), 'content-disposition'],
    ['no name', form('content-disposition: form-data\r\n\r\nx'), 'with a name'],
    ['an attachment', form('content-disposition: attachment; name="a"\r\n\r\nx'), 'with a name'],
    [
      'two dispositions',
      form(`content-disposition: form-data; name="a"\r\n${field('b', 'c')}`),
      'two content-disposition',
    ],
    ['no colon', form(`nonsense\r\n${field('a', 'b')}`), 'name: value'],
    ['a folded header', form(`content-disposition: form-data;\r\n name="a"\r\n\r\nx`), 'name: value'],
    ['base64', form(`content-transfer-encoding: base64\r\n${field('a', 'b')}`), "encoded as 'base64'"],
    ['65 parts', form(...Array(65).fill(field('a', 'b'))), 'more than 64 parts'],
    [
      'a bad filename*',
      form(`content-disposition: form-data; name="a"; filename*=UTF-8''%E0%A4%A\r\n\r\nx`),
      'filename*',
    ],
  ]
  for (const [what, text, reason] of refused)
    test(`refuses ${what}, wherever it is cut`, () => {
      expect(() => whole(text)).toThrow(reason)
      const bytes = Buffer.from(text, 'latin1').subarray(0, 3000)
      if (bytes.length === text.length) expect(() => parse([...bytes].map(byte => Uint8Array.of(byte)))).toThrow(reason)
    })
})

test('boundaries of content types', () => {
  expect(boundaryOf('multipart/form-data; boundary=abc')).toBe('abc')
  expect(boundaryOf('Multipart/Form-Data; charset=utf-8; BOUNDARY="a b:c"')).toBe('a b:c')
  for (const wrong of [
    '',
    'application/json',
    'multipart/mixed; boundary=a',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary="a "',
    `multipart/form-data; boundary=${'a'.repeat(71)}`,
    'multipart/form-data; boundary="a\\"b"',
    'multipart/form-data; boundary=ä',
  ])
    expect(() => boundaryOf(wrong)).toThrow(MultipartError)
})

test('what is written is read again, and nothing in a name can end its line', () => {
  const heads: PartHead[] = [
    { name: 'a', filename: undefined, contentType: undefined },
    { name: 'x"; filename="y', filename: 'a\r\nb"c\\d.wav', contentType: 'audio/wav\r\nx-evil: 1' },
  ]
  const text = heads.map(head => `${multipartHead('B', head)}body\r\n`).join('') + multipartEnd('B')
  expect(text).not.toContain('\r\nx-evil')
  expect(whole(Buffer.from(text, 'utf8').toString('latin1'))).toEqual([
    { ...heads[0]!, text: 'body' },
    { name: 'x"; filename="y', filename: 'a%0D%0Ab"c\\d.wav', contentType: 'audio/wav  x-evil: 1', text: 'body' },
  ])
})
