import { write } from 'node:fs'
import { errorCode } from '../lib/error-code.ts'

const bufferBytes = 256 * 1024
const flushMs = 20

/**
 * Writes lines to a file descriptor without blocking: lines are encoded at once into one of two preallocated buffers,
 * which are written in turn. When the reader is slower than the gateway, lines are dropped and counted, because a
 * blocked log pipe must not stop traffic.
 */
export class ByteWriter {
  readonly #descriptor: number
  #active = Buffer.allocUnsafeSlow(bufferBytes)
  #spare = Buffer.allocUnsafeSlow(bufferBytes)
  #used = 0
  #writing = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #dropped = 0
  #idle: (() => void)[] = []

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  /** Lines lost since the start: the reader was too slow, or the write failed (a closed pipe, a full disk). */
  get dropped(): number {
    return this.#dropped
  }

  /** Appends `line` (without a line end) to the buffer; drops it when both buffers are in use. */
  line(line: string): void {
    // UTF-8 needs at most three bytes for a UTF-16 unit.
    if (this.#used + line.length * 3 + 1 > bufferBytes && !this.#swap()) {
      this.#dropped++
      return
    }
    this.#used += this.#active.write(line, this.#used, 'utf8')
    this.#active[this.#used++] = 10
    this.#timer ??= setTimeout(() => this.#flush(), flushMs)
  }

  /** Resolves when all accepted lines are written, or after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void> {
    this.#flush()
    if (!this.#writing) return Promise.resolve()
    return new Promise(resolve => {
      this.#idle.push(resolve)
      setTimeout(resolve, timeoutMs)
    })
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#used > 0) this.#swap()
  }

  /** Starts writing the active buffer; false = the other one is still being written. */
  #swap(): boolean {
    if (this.#writing) return false
    const out = this.#active
    const length = this.#used
    this.#active = this.#spare
    this.#spare = out
    this.#used = 0
    this.#writing = true
    this.#write(out, 0, length)
    return true
  }

  #write(buffer: Buffer, from: number, to: number): void {
    write(this.#descriptor, buffer, from, to - from, null, (error, written) => {
      if (!error && from + written < to) return this.#write(buffer, from + written, to)
      if (errorCode(error) === 'EAGAIN') {
        setTimeout(() => this.#write(buffer, from, to), flushMs)
        return
      }
      if (error) this.#dropped += linesIn(buffer, from, to)
      this.#writing = false
      if (this.#used > 0) this.#flush()
      else for (const resolve of this.#idle.splice(0)) resolve()
    })
  }
}

/** Line ends in `[from, to)`. A line of which only the beginning was written counts as lost. */
function linesIn(buffer: Buffer, from: number, to: number): number {
  let lines = 0
  for (let at = buffer.indexOf(10, from); at >= 0 && at < to; at = buffer.indexOf(10, at + 1)) lines++
  return lines
}
