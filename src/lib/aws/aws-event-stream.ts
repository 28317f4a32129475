/**
 * The binary framing of AWS's event streams (docs.aws.amazon.com, "Event stream encoding"):
 *
 *   total length u32 | length of the headers u32 | CRC of these two u32 | headers | payload | CRC of all before u32
 *
 * Numbers are big-endian, CRCs are CRC-32 as in zip files.
 */
import { crc32 } from 'node:zlib'
import { FrameTooLargeError } from '../frame.ts'
import type { Frame, FrameSplitter } from '../frame.ts'

const bytesMaxDefault = 8 * 1024 * 1024
const preludeBytes = 12
const crcBytes = 4
/** Prelude and the CRC at the end: a message of nothing else. */
const messageBytesMin = preludeBytes + crcBytes

const textHeader = 7
/** Bytes of a header's value by its type; 'counted' = a u16 before it says how many. */
const valueBytes: readonly (number | 'counted')[] = [0, 0, 1, 2, 4, 8, 'counted', 'counted', 8, 16]

/**
 * The bytes are no event stream, or were damaged on their way: a wrong checksum, length or header. Nothing may be
 * pushed after it.
 */
export class EventStreamError extends Error {
  override readonly name = 'EventStreamError'
}

/**
 * Messages as frames. An event's name is its `:event-type`, an exception's its `:exception-type`; an error without
 * a model of its own is named `error`, with `{code, message}` as its data. A wrong CRC or length throws, once the
 * messages before it are returned: at the next push or the end, where they came with the same bytes.
 */
export class EventStreamSplitter implements FrameSplitter {
  readonly #bytesMax: number
  #held: Uint8Array[] = []
  #heldBytes = 0
  /** Bytes that must be there before anything can be read: a prelude, then the message it announces. */
  #neededBytes = preludeBytes
  #damage: unknown

  constructor(bytesMax = bytesMaxDefault) {
    this.#bytesMax = bytesMax
  }

  push(bytes: Uint8Array): Frame[] {
    if (this.#damage) throw this.#damage
    if (bytes.length > 0) {
      // A copy, because the transport may use its buffer again; `slice` of a Buffer would be none.
      this.#held.push(Buffer.from(bytes))
      this.#heldBytes += bytes.length
    }
    if (this.#heldBytes < this.#neededBytes) return []
    const frames: Frame[] = []
    try {
      this.#read(frames)
    } catch (error) {
      if (frames.length === 0) throw error
      this.#damage = error
    }
    return frames
  }

  #read(frames: Frame[]): void {
    const all = Buffer.concat(this.#held)
    let at = 0
    this.#neededBytes = preludeBytes
    while (all.length - at >= preludeBytes) {
      const total = totalLength(all.subarray(at, at + preludeBytes), this.#bytesMax)
      if (all.length - at < total) {
        this.#neededBytes = total
        break
      }
      frames.push(readMessage(all.subarray(at, at + total)))
      at += total
    }
    this.#held = at === all.length ? [] : [all.subarray(at)]
    this.#heldBytes = all.length - at
  }

  /** A message without its end is none. */
  end(): Frame[] {
    if (this.#damage) throw this.#damage
    return []
  }

  rest(): string {
    return Buffer.concat(this.#held).toString('latin1')
  }
}

/** The length that a prelude announces, once its CRC has shown that it can be believed. */
function totalLength(prelude: Buffer, bytesMax: number): number {
  if (crc32(prelude.subarray(0, 8)) !== prelude.readUInt32BE(8))
    throw new EventStreamError('the checksum of a prelude is wrong')
  const total = prelude.readUInt32BE(0)
  if (total > bytesMax) throw new FrameTooLargeError(`an event of the stream is larger than ${bytesMax} bytes`)
  if (total < messageBytesMin + prelude.readUInt32BE(4))
    throw new EventStreamError('a message is shorter than its headers')
  return total
}

function readMessage(message: Buffer): Frame {
  const end = message.length - crcBytes
  if (crc32(message.subarray(0, end)) !== message.readUInt32BE(end))
    throw new EventStreamError('the checksum of a message is wrong')
  const payloadFrom = preludeBytes + message.readUInt32BE(4)
  const headers = readHeaders(message.subarray(preludeBytes, payloadFrom))
  const data = message.toString('utf8', payloadFrom, end)
  switch (headers.get(':message-type')) {
    case 'exception':
      return { event: headers.get(':exception-type') ?? 'exception', data }
    case 'error': {
      const said = { code: headers.get(':error-code') ?? '', message: headers.get(':error-message') ?? '' }
      return { event: 'error', data: JSON.stringify(said) }
    }
    default: {
      const event = headers.get(':event-type')
      return event === undefined ? { data } : { event, data }
    }
  }
}

/** Text headers by name; those of other types are only passed over. */
function readHeaders(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>()
  let at = 0
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) throw new EventStreamError('a header is longer than the headers')
    at += count
    return bytes.subarray(at - count, at)
  }
  while (at < bytes.length) {
    const name = take(take(1)[0]!).toString('utf8')
    const type = take(1)[0]!
    const size = valueBytes[type]
    if (size === undefined) throw new EventStreamError(`a header has the unknown type ${type}`)
    const value = take(size === 'counted' ? take(2).readUInt16BE(0) : size)
    if (type === textHeader) headers.set(name, value.toString('utf8'))
  }
  return headers
}
