import { expect, test } from 'bun:test'
import { mediaTypeOf } from './media-type.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')

test('the beginning of a file wins over its name', () => {
  expect(mediaTypeOf(latin1('%PDF-1.7\n'), 'a.txt')).toBe('application/pdf')
  expect(mediaTypeOf(latin1('\x89PNG\r\n\x1a\n....'), 'noname')).toBe('image/png')
  expect(mediaTypeOf(latin1('\xff\xd8\xff\xe0'), 'a.png')).toBe('image/jpeg')
  expect(mediaTypeOf(latin1('GIF89a'), '')).toBe('image/gif')
  expect(mediaTypeOf(latin1('RIFF\x01\x00\x00\x00WEBPVP8 '), 'a')).toBe('image/webp')
  expect(mediaTypeOf(latin1('RIFF\x01\x00\x00\x00WAVEfmt '), 'a.wav')).toBe('audio/wav')
  expect(mediaTypeOf(latin1('ID3\x04'), 'a')).toBe('audio/mpeg')
  expect(mediaTypeOf(latin1('\xff\xfb\x90'), 'a')).toBe('audio/mpeg')
})

test('text is text, by its own name or as plain text; what is none is never called so', () => {
  expect(mediaTypeOf(Buffer.from('a,b\n'), 'a.CSV')).toBe('text/csv')
  expect(mediaTypeOf(Buffer.from('# é'), 'read.me.md')).toBe('text/markdown')
  for (const name of ['a.json', 'a.py', 'a.jsonl', 'Makefile', '', 'a.b/../c', '.pdf'])
    expect(mediaTypeOf(Buffer.from('{"a":1}'), name)).toBe('text/plain')
  expect(mediaTypeOf(latin1('caf\xe9'), 'a.txt')).toBe('application/octet-stream')
  expect(mediaTypeOf(Buffer.from('a\0b'), 'a')).toBe('application/octet-stream')
  expect(mediaTypeOf(latin1('PK\x03\x04\xff'), 'a.docx')).toBe(
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  )
})
