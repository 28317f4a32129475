import { write } from 'node:fs'
import { errorCode } from '../lib/error-code.ts'

const bufferBytes = 256 * 1024
const flushMs = 20
/** What a pipe takes in one piece when several processes write to it (PIPE_BUF of pipe(7)). */
const wholeBytesMax = 4096

/**
 * Writes lines to a file descriptor without blocking: lines are encoded at once into one of two preallocated buffers,
 * which are written in turn. When the reader is slower than the gateway, lines are dropped and counted, because a
 * blocked log pipe must not stop traffic.
 */
export class ByteWriter {
  readonly #descriptor: number
  readonly #isShared: boolean
  #active = Buffer.allocUnsafeSlow(bufferBytes)
  #spare = Buffer.allocUnsafeSlow(bufferBytes)
  #used = 0
  #writing = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #dropped = 0
  #idle: (() => void)[] = []

  /** `isShared` = other processes write to it too: then only whole lines are written at once. */
  constructor(descriptor: number, { isShared = false } = {}) {
    this.#descriptor = descriptor
    this.#isShared = isShared
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
    const end = this.#isShared ? endOfLines(buffer, from, to) : to
    write(this.#descriptor, buffer, from, end - from, null, (error, written) => {
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

/** The end of the whole lines that fit into one piece; of a longer line its own end. */
function endOfLines(buffer: Buffer, from: number, to: number): number {
  if (to - from <= wholeBytesMax) return to
  const last = buffer.lastIndexOf(10, from + wholeBytesMax - 1)
  return (last >= from ? last : buffer.indexOf(10, from)) + 1
}

/** Line ends in `[from, to)`. A line of which only the beginning was written counts as lost. */
function linesIn(buffer: Buffer, from: number, to: number): number {
  let lines = 0
  for (let at = buffer.indexOf(10, from); at >= 0 && at < to; at = buffer.indexOf(10, at + 1)) lines++
  return lines
}
