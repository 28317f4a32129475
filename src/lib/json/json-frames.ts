import type { Frame, FrameSplitter } from '../frame.ts'
import { FrameTooLargeError } from '../frame.ts'
import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quote } from './json-bytes.ts'

const bytesMax = 8 * 1024 * 1024
const newline = 10

/** Bytes held until a frame is complete; never decoded half, so that no character is cut. */
abstract class HoldingSplitter implements FrameSplitter {
  #held: Uint8Array[] = []
  #heldBytes = 0

  push(bytes: Uint8Array): Frame[] {
    const frames: Frame[] = []
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const step = this.see(bytes[at]!)
      if (step === 'inside') continue
      if (step === 'outside') {
        from = at + 1
        continue
      }
      const text = this.#take(bytes.subarray(from, at + 1)).trim()
      if (text !== '') frames.push({ data: text })
      from = at + 1
    }
    this.#hold(bytes.subarray(from))
    return frames
  }

  end(): Frame[] {
    return []
  }

  rest(): string {
    return Buffer.concat(this.#held).toString('utf8').trim()
  }

  /** `last` = this byte completes the frame; `outside` = it belongs to none. */
  protected abstract see(byte: number): 'inside' | 'last' | 'outside'

  #take(tail: Uint8Array): string {
    const text = Buffer.concat([...this.#held, tail]).toString('utf8')
    this.#held = []
    this.#heldBytes = 0
    return text
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    // Not `slice`: of a Buffer that is a view of memory which may be used again.
    this.#held.push(new Uint8Array(bytes))
    this.#heldBytes += bytes.length
    if (this.#heldBytes > bytesMax)
      throw new FrameTooLargeError(`an event of the stream is larger than ${bytesMax} bytes`)
  }
}

/** One JSON document a line, as Ollama writes its streams. */
export class LineSplitter extends HoldingSplitter {
  protected override see(byte: number): 'inside' | 'last' {
    return byte === newline ? 'last' : 'inside'
  }

  /** The last line may come without its end. */
  override end(): Frame[] {
    return this.push(new Uint8Array([newline]))
  }
}

/** The elements of one JSON array, as Gemini writes its streams without `alt=sse`. */
export class ElementSplitter extends HoldingSplitter {
  #depth = 0
  #inString = false
  #escaped = false

  protected override see(byte: number): 'inside' | 'last' | 'outside' {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false
      else if (byte === backslash) this.#escaped = true
      else if (byte === quote) this.#inString = false
      return 'inside'
    }
    if (byte === quote) this.#inString = true
    else if (byte === openBrace || byte === openBracket) {
      this.#depth++
      if (this.#depth === 1) return 'outside'
    } else if (byte === closeBrace || byte === closeBracket) {
      this.#depth--
      if (this.#depth === 1) return 'last'
      if (this.#depth === 0) return 'outside'
    } else if (byte === comma && this.#depth === 1) return 'outside'
    return this.#depth === 0 ? 'outside' : 'inside'
  }
}
