/** AWS's event stream framing: published messages, every cut, and bytes that lie. */
import { describe, expect, test } from 'bun:test'
import { crc32 } from 'node:zlib'
import { EventStreamError, EventStreamSplitter } from './aws-event-stream.ts'
import { frameSplitter } from '../frame-splitter.ts'
import type { Frame } from '../frame.ts'
import { FrameTooLargeError } from '../frame.ts'

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const header = (name: string, type: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([type]), value])
const text = (name: string, value: string): Buffer => {
  const bytes = Buffer.from(value)
  return header(name, 7, Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]))
}
function message(headers: Buffer, payload: string): Buffer {
  const lengths = Buffer.concat([u32(16 + headers.length + Buffer.byteLength(payload)), u32(headers.length)])
  const all = Buffer.concat([lengths, u32(crc32(lengths)), headers, Buffer.from(payload)])
  return Buffer.concat([all, u32(crc32(all))])
}
const named = (type: string, name: string, payload: string): Buffer =>
  message(Buffer.concat([text(':message-type', type), text(`:${type}-type`, name)]), payload)
const split = (bytes: Uint8Array, size = bytes.length): Frame[] => {
  const splitter = frameSplitter('aws-event-stream')
  const frames: Frame[] = []
  for (let at = 0; at < bytes.length; at += size) frames.push(...splitter.push(bytes.subarray(at, at + size)))
  return [...frames, ...splitter.end()]
}

// The test messages of AWS's own SDKs (awslabs/aws-c-event-stream, smithy "eventstream-codec").
test.each([
  ['nothing', '000000100000000005c248eb7d98c8ff', ''],
  ['a payload', '0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936', "{'foo':'bar'}"],
  [
    'a header and a payload',
    '0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
    "{'foo':'bar'}",
  ],
])('a published message: %s', (_, hex, data) => {
  expect(split(Buffer.from(hex, 'hex'))).toEqual([{ data }])
})

const stream = Buffer.concat([
  named('event', 'messageStart', '{"role":"assistant"}'),
  named('event', 'contentBlockDelta', '{"delta":{"text":"Grüße 🌍"}}'),
  named('event', 'ping', ''),
  named('exception', 'throttlingException', '{"message":"slow down"}'),
])
const frames: Frame[] = [
  { event: 'messageStart', data: '{"role":"assistant"}' },
  { event: 'contentBlockDelta', data: '{"delta":{"text":"Grüße 🌍"}}' },
  { event: 'ping', data: '' },
  { event: 'throttlingException', data: '{"message":"slow down"}' },
]

test('wherever the bytes are cut, the frames are the same', () => {
  for (let size = 1; size <= stream.length; size++) expect(split(stream, size)).toEqual(frames)
})

test('a buffer that is used again does not change what is held', () => {
  const splitter = new EventStreamSplitter()
  const buffer = Buffer.alloc(7)
  const read: Frame[] = []
  for (let at = 0; at < stream.length; at += 7) {
    const length = stream.copy(buffer, 0, at, at + 7)
    read.push(...splitter.push(buffer.subarray(0, length)))
  }
  expect(read).toEqual(frames)
})

test('headers of every type are passed over; the names are found among them', () => {
  const others = [0, 1].map(type => header('flag', type, Buffer.alloc(0)))
  const sized = [
    [2, 1],
    [3, 2],
    [4, 4],
    [5, 8],
    [8, 8],
    [9, 16],
  ].map(([type, size]) => header('n', type!, Buffer.alloc(size!, 7)))
  const bytes = header('b', 6, Buffer.from([0, 3, 1, 2, 3]))
  const all = Buffer.concat([...others, text(':message-type', 'event'), ...sized, bytes, text(':event-type', 'late')])
  expect(split(message(all, '{}'))).toEqual([{ event: 'late', data: '{}' }])
})

test('an error without a model of its own keeps its words', () => {
  const headers = [
    text(':message-type', 'error'),
    text(':error-code', 'InternalError'),
    text(':error-message', 'it "broke"'),
  ]
  expect(split(message(Buffer.concat(headers), ''))).toEqual([
    { event: 'error', data: '{"code":"InternalError","message":"it \\"broke\\""}' },
  ])
})

describe('bytes that lie', () => {
  test('every flipped bit of a message is noticed', () => {
    const good = named('event', 'messageStop', '{"stopReason":"end_turn"}')
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bad = Buffer.from(good)
      bad[bit >> 3]! ^= 1 << (bit & 7)
      expect(() => split(bad)).toThrow(EventStreamError)
    }
  })

  const withPrelude = (total: number, headers: number): Buffer => {
    const lengths = Buffer.concat([u32(total), u32(headers)])
    return Buffer.concat([lengths, u32(crc32(lengths))])
  }
  test('a length that cannot be is refused before anything is held for it', () => {
    expect(() => split(withPrelude(0xffffffff, 0))).toThrow(FrameTooLargeError)
    expect(() => split(withPrelude(8, 0))).toThrow('shorter than its headers')
    expect(() => split(withPrelude(40, 30))).toThrow('shorter than its headers')
  })

  test.each([
    ['a name that goes on after the headers', Buffer.from([9, 65]), 'longer than the headers'],
    ['a value that does', Buffer.from([1, 65, 7, 1, 0, 65]), 'longer than the headers'],
    ['no length', Buffer.from([1, 65, 7]), 'longer than the headers'],
    ['an unknown type', Buffer.from([1, 65, 10]), 'unknown type 10'],
  ])('a header with %s', (_, headers, words) => {
    expect(() => split(message(headers, '{}'))).toThrow(words)
  })

  test('text instead of messages', () => {
    expect(() => split(Buffer.from('{"message":"not a stream"}'))).toThrow(EventStreamError)
  })

  test('what came before damage is returned, wherever the bytes are cut', () => {
    const damaged = named('event', 'messageStop', '{}').fill(1, 30)
    const bytes = Buffer.concat([stream, damaged, stream])
    for (const size of [1, 7, stream.length, stream.length + 5, bytes.length]) {
      const splitter = new EventStreamSplitter()
      const read: Frame[] = []
      const readAll = () => {
        for (let at = 0; at < bytes.length; at += size) read.push(...splitter.push(bytes.subarray(at, at + size)))
        splitter.end()
      }
      expect(readAll).toThrow(EventStreamError)
      expect(read).toEqual(frames)
    }
  })

  test('half a message stays behind', () => {
    const splitter = new EventStreamSplitter()
    expect(splitter.push(stream.subarray(0, stream.length - 1))).toEqual(frames.slice(0, 3))
    expect([splitter.end(), splitter.rest().length > 0]).toEqual([[], true])
    splitter.push(stream.subarray(stream.length - 1))
    expect(splitter.rest()).toBe('')
  })
})
