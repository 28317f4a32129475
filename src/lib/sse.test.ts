import { expect, test } from 'bun:test'
import { SseSplitter } from './sse.ts'

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
