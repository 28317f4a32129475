import { expect, test } from 'bun:test'
import { SseSplitter, WholeEvents } from './sse.ts'

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
      const events = new WholeEvents(1000)
      const out: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) out.push(events.push(bytes.subarray(at, at + size)))
      // Only whole events come out; the rest is held.
      expect(out.every(piece => piece.length === 0 || /\n\r?\n$/.test(piece.toString()))).toBe(true)
      expect(Buffer.concat([...out, events.rest()]).toString()).toBe(lines.replaceAll('\n', shown))
    }
  }
})

test('an event that is larger than the limit is refused, however it comes', () => {
  for (const size of [1, 7, 200]) {
    const events = new WholeEvents(100)
    const bytes = Buffer.from(`data: ${'x'.repeat(120)}`)
    const push = () => {
      for (let at = 0; at < bytes.length; at += size) events.push(bytes.subarray(at, at + size))
    }
    expect(push).toThrow('larger than 100 bytes')
  }
})
