import { expect, test } from 'bun:test'
import { LineEnds, SseSplitter } from './sse.ts'

const text =
  ': comment\n\ndata: one ✓\n\nevent: named\r\ndata: a\r\ndata: b\r\n\r\ndata:no space\r\rid: 1\n\ndata: {"x":"😀"}\n\n'
const expected = [{ data: 'one ✓' }, { event: 'named', data: 'a\nb' }, { data: 'no space' }, { data: '{"x":"😀"}' }]

test('events are the same wherever the bytes are cut', () => {
  const bytes = Buffer.from(text)
  for (let size = 1; size <= bytes.length; size++) {
    const splitter = new SseSplitter()
    const frames = []
    for (let at = 0; at < bytes.length; at += size) frames.push(...splitter.push(bytes.subarray(at, at + size)))
    expect(frames).toEqual(expected)
    expect(splitter.rest()).toBe('')
  }
})

test('events without data are none, named or not', () => {
  const splitter = new SseSplitter()
  expect(splitter.push(Buffer.from('data:\n\ndata: \n\nevent: ping\ndata:\n\ndata: x\n\n'))).toEqual([{ data: 'x' }])
})

test('lines that end with CR alone end with LF, wherever the bytes are cut; others stay as they are', () => {
  const lines = 'data: {"a":"é"}\n\n: x\n\ndata: b\n\n'
  for (const [end, shown] of [
    ['\r', '\n'],
    ['\n', '\n'],
    ['\r\n', '\r\n'],
  ] as const) {
    const bytes = Buffer.from(lines.replaceAll('\n', end))
    for (let size = 1; size <= bytes.length; size++) {
      const lineEnds = new LineEnds()
      const out: Uint8Array[] = []
      for (let at = 0; at < bytes.length; at += size) out.push(lineEnds.push(bytes.subarray(at, at + size)))
      expect(Buffer.concat(out).toString()).toBe(lines.replaceAll('\n', shown))
    }
  }
})
