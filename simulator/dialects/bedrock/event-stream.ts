/** Encoder of AWS's binary event stream (docs.aws.amazon.com, "Event stream encoding"). */
import { crc32 } from 'node:zlib'
import type { StreamEvent } from '../response.ts'

const textType = 7

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(Buffer.byteLength(value))
  return Buffer.concat([
    Buffer.of(Buffer.byteLength(name)),
    Buffer.from(name),
    Buffer.of(textType),
    length,
    Buffer.from(value),
  ])
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** One message: prelude, headers, payload and both checksums. Events whose name ends in "exception" are exceptions. */
export function encodeMessage(payload: Uint8Array, { name = '' }: StreamEvent): Buffer {
  const kind = /exception$/i.test(name) ? 'exception' : 'event'
  const headers = Buffer.concat([
    header(`:${kind}-type`, name),
    header(':content-type', 'application/json'),
    header(':message-type', kind),
  ])
  const lengths = Buffer.concat([word(12 + headers.length + payload.length + 4), word(headers.length)])
  const all = Buffer.concat([lengths, word(crc32(lengths)), headers, payload])
  return Buffer.concat([all, word(crc32(all))])
}
