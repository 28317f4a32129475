import { FrameTooLargeError } from './frame.ts'
import type { Frame, FrameSplitter } from './frame.ts'
import { parsedObject } from './json/json-values.ts'

const newline = 10
const carriageReturn = 13
/** What stands of a blank line before its last byte: `\r\n\r`. */
const tailLength = 3
const noBytes = Buffer.alloc(0)

/**
 * Splits bytes into server-sent events, wherever the bytes are cut (WHATWG HTML, section 9.2.6).
 * Comments and empty events are dropped; LF, CRLF and CR all end a line. An event larger than
 * `maxBytes` throws, so a stream without a line end cannot fill the memory.
 */
export class SseSplitter implements FrameSplitter {
  readonly #maxBytes: number
  #decoder = new TextDecoder('utf-8')
  /** What stands after the last complete event, as it came: joined only when an event may have ended. */
  #pieces: string[] = []
  #length = 0
  /** The last characters of it: part of a blank line, two line ends of two characters each. */
  #tail = ''

  constructor(maxBytes = 8 * 1024 * 1024) {
    this.#maxBytes = maxBytes
  }

  /** The events that `bytes` completes. */
  push(bytes: Uint8Array): Frame[] {
    const piece = this.#decoder.decode(bytes, { stream: true })
    // What is held ends no event: one can only end in this piece, or where it meets what is held.
    const seam = this.#tail + piece
    if (this.#length > 0 && !eventEnd(seam, 0, new CarriageReturns(seam))) {
      this.#hold(piece)
      return []
    }
    const text = this.#length === 0 ? piece : this.#pieces.join('') + piece
    const returns = new CarriageReturns(text)
    const frames: Frame[] = []
    let at = 0
    for (;;) {
      const end = eventEnd(text, at, returns)
      if (!end) break
      const frame = parseFrame(text.slice(at, end.from))
      if (frame) frames.push(frame)
      at = end.to
    }
    this.#pieces = []
    this.#length = 0
    this.#tail = ''
    this.#hold(at === 0 ? text : text.slice(at))
    return frames
  }

  #hold(text: string): void {
    if (text.length === 0) return
    this.#pieces.push(text)
    this.#length += text.length
    this.#tail = (this.#tail + text.slice(-tailLength)).slice(-tailLength)
    if (this.#length > this.#maxBytes)
      throw new FrameTooLargeError(`an event of the stream is larger than ${this.#maxBytes} bytes`)
  }

  /**
   * Some servers leave the last blank line out, and Google's write an error as JSON without `data:`: what is left
   * counts if it is a whole JSON object. Half an event is none.
   */
  end(): Frame[] {
    const rest = this.rest().trim()
    const frame = rest.startsWith('{') ? { data: rest } : parseFrame(rest)
    return frame && parsedObject(frame.data) ? [frame] : []
  }

  /** What stands after the last complete event: a truthful server leaves nothing. */
  rest(): string {
    return this.#pieces.join('')
  }
}

/**
 * Holds the bytes of a stream until an event of it is whole, for relays that pass bytes as they are. Lines that end
 * with CR alone end with LF then.
 */
export class WholeEvents {
  readonly #bytesMax: number
  readonly #lineEnds = new LineEnds()
  /** Pieces of an event that is not whole yet. */
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  /** The last bytes of them: a blank line may begin here. */
  #tail: Uint8Array = noBytes

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The events that `received` completes, as bytes; empty = none. Throws where one is larger than the limit. */
  push(received: Uint8Array): Buffer {
    const bytes = this.#lineEnds.push(received)
    let buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (this.#pending.length > 0) {
      // Joined only when an event has ended, so that a giant event is not copied once for each piece.
      if (buffer.indexOf(newline) < 0 || lastEventEnd(Buffer.concat([this.#tail, buffer])) === 0)
        return this.#hold(buffer)
      buffer = Buffer.concat([...this.#pending, buffer])
      this.#pending = []
      this.#pendingBytes = 0
      this.#tail = noBytes
    }
    const end = lastEventEnd(buffer)
    if (end < buffer.length) this.#hold(buffer.subarray(end))
    return end === buffer.length ? buffer : buffer.subarray(0, end)
  }

  /** What stands behind the last whole event; empty = nothing does. */
  rest(): Buffer {
    return Buffer.concat(this.#pending)
  }

  #hold(piece: Uint8Array): Buffer {
    this.#pending.push(piece)
    this.#pendingBytes += piece.length
    this.#tail = Buffer.concat([this.#tail, piece.subarray(-tailLength)]).subarray(-tailLength)
    if (this.#pendingBytes > this.#bytesMax)
      throw new FrameTooLargeError(`an event of the upstream's stream is larger than ${this.#bytesMax} bytes`)
    return noBytes
  }
}

/**
 * Makes the lines of a stream that ends them with CR alone end with LF. The
 * first line end of a stream tells which it writes; nothing is looked at after that, unless it is CR.
 */
class LineEnds {
  #endsWith: 'unknown' | 'line feed' | 'carriage return' = 'unknown'
  /** The last byte of the piece before was a CR, which the next byte may make a CRLF: it is kept back until then. */
  #holdsCarriageReturn = false

  /** The piece with lines that end with LF or CRLF. */
  push(bytes: Uint8Array): Uint8Array {
    if (this.#endsWith === 'line feed') return bytes
    if (this.#endsWith === 'carriage return') return withLineFeeds(bytes)
    const piece = this.#holdsCarriageReturn ? Buffer.concat([Buffer.of(carriageReturn), bytes]) : bytes
    this.#holdsCarriageReturn = false
    const cr = piece.indexOf(carriageReturn)
    const lf = piece.indexOf(newline)
    if (cr < 0 && lf < 0) return piece
    const isLineFeed = cr < 0 || (lf >= 0 && lf <= cr + 1)
    if (!isLineFeed && cr === piece.length - 1) {
      this.#holdsCarriageReturn = true
      return piece.subarray(0, cr)
    }
    this.#endsWith = isLineFeed ? 'line feed' : 'carriage return'
    return isLineFeed ? piece : withLineFeeds(piece)
  }
}

const withLineFeeds = (bytes: Uint8Array): Uint8Array => bytes.map(byte => (byte === carriageReturn ? newline : byte))

/** Offset behind the last blank line of bytes whose lines end with LF or CRLF; 0 = no event is complete. */
function lastEventEnd(buffer: Buffer): number {
  const { length } = buffer
  if (length >= 2 && buffer[length - 1] === newline) {
    const before = buffer[length - 2]
    if (before === newline || (before === carriageReturn && buffer[length - 3] === newline)) return length
  }
  const lf = buffer.lastIndexOf('\n\n')
  const crlf = buffer.lastIndexOf('\n\r\n')
  return Math.max(lf < 0 ? 0 : lf + 2, crlf < 0 ? 0 : crlf + 3)
}

/** The next CR at or after a place: a text has many line ends and mostly no CR, which is then looked for once. */
class CarriageReturns {
  readonly #text: string
  #next: number

  constructor(text: string) {
    this.#text = text
    this.#next = text.indexOf('\r')
  }

  /** `from` never goes back; -1 = there is none. */
  at(from: number): number {
    if (this.#next >= 0 && this.#next < from) this.#next = this.#text.indexOf('\r', from)
    return this.#next
  }
}

/** The next blank line at or after `at`: where the event ends and where the next one starts. */
function eventEnd(text: string, at: number, returns: CarriageReturns): { from: number; to: number } | undefined {
  for (let i = at; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code !== newline && code !== carriageReturn) {
      // Jump to the next line end; lines are long, line ends are few.
      const lf = text.indexOf('\n', i)
      const cr = lf < 0 || lf > i ? returns.at(i) : -1
      const next = lf < 0 ? cr : cr < 0 ? lf : Math.min(lf, cr)
      if (next < 0) return undefined
      i = next
    }
    const first = lineEndLength(text, i)
    if (first === 0) return undefined
    const second = lineEndLength(text, i + first)
    if (second > 0) return { from: i, to: i + first + second }
    if (i + first >= text.length) return undefined
    i += first - 1
  }
  return undefined
}

/** Length of the line end at `at`; 0 when there is none, or when it may still grow into a CRLF. */
function lineEndLength(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code === newline) return 1
  if (code !== carriageReturn) return 0
  if (at + 1 >= text.length) return 0
  return text.charCodeAt(at + 1) === newline ? 2 : 1
}

function parseFrame(block: string): Frame | undefined {
  return usualFrame(block) ?? parseLines(block)
}

/** The two forms of nearly every event, read without a list of its lines; undefined = it has another form. */
function usualFrame(block: string): Frame | undefined {
  if (block.includes('\r')) return undefined
  const lineEnd = block.indexOf('\n')
  if (lineEnd < 0) return block.length > 6 && block.startsWith('data: ') ? { data: block.slice(6) } : undefined
  const dataStart = lineEnd + 7
  const isNamed = block.startsWith('event: ') && block.startsWith('data: ', lineEnd + 1)
  if (!isNamed || block.length <= dataStart || block.includes('\n', dataStart)) return undefined
  return { event: block.slice(7, lineEnd), data: block.slice(dataStart) }
}

function parseLines(block: string): Frame | undefined {
  const data: string[] = []
  let event: string | undefined
  for (const line of block.split(/\r\n|\n|\r/)) {
    if (line === 'data') data.push('')
    else if (line.startsWith('data:')) data.push(line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5))
    else if (line.startsWith('event:')) event = line.charCodeAt(6) === 32 ? line.slice(7) : line.slice(6)
  }
  const text = data.join('\n')
  // Where there is no data, nothing has happened: some servers keep connections alive so.
  if (text === '') return undefined
  return event === undefined ? { data: text } : { event, data: text }
}
