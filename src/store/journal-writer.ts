/**
 * The writing end of the journal, on the main thread: always a segment ahead, memory only when the disk is
 * full.
 */
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalPosition } from './journal.ts'
import { createSegmentFile, segmentPath, SegmentWriter } from './journal.ts'

/**
 * Records that wait for a disk with room are kept up to this many UTF-16 units; later ones are lost and
 * counted.
 */
const waitingLengthMax = 32 * 1024 * 1024

/** Where the journal is, and who makes its next segment. */
export interface JournalWriterOptions {
  readonly directory: string
  /** Names this start of this process, see `SegmentName`. */
  readonly start: string
  readonly segmentBytes: number
  /** Makes a segment file at `path` elsewhere, then calls `spareMade` or `spareFailed`. */
  readonly askForSpare: (path: string) => void
  readonly report: (problem: string) => void
}

/** Appends are synchronous and survive kill -9 when they return, as long as `healthy`. */
export class JournalWriter {
  readonly #options: JournalWriterOptions
  #current: SegmentWriter | undefined
  #spare: SegmentWriter | undefined
  #spareAsked = false
  #sparesAsked = 0
  #failed = false
  #waiting: string[] = []
  #waitingLength = 0
  #lost = 0

  /** Takes a fresh segment. A full disk does not throw: the journal starts unhealthy. */
  constructor(options: JournalWriterOptions) {
    this.#options = options
    this.#current = this.#createNow()
    this.askForSpare()
  }

  /**
   * false = the next segment could not be made: records wait in memory, or will when the current one is full.
   */
  get healthy(): boolean {
    return !this.#failed
  }

  /** Everything appended stands before this, except what waits in memory: see `waiting`. */
  get position(): JournalPosition {
    return { sequence: this.#current?.sequence ?? 0, offset: this.#current?.offset ?? 0 }
  }

  /** true = some records are in memory only. */
  get waiting(): boolean {
    return this.#waiting.length > 0
  }

  append(text: string): void {
    if (this.#waiting.length === 0 && this.#current?.append(text) === true) return
    if (this.#waiting.length === 0 && this.#roll() && this.#current?.append(text) === true) return
    this.#wait(text)
  }

  /** To be called now and then while not healthy. */
  askForSpare(): void {
    if (this.#spare !== undefined || this.#spareAsked) return
    this.#spareAsked = true
    this.#sparesAsked++
    const { directory, start, askForSpare } = this.#options
    askForSpare(join(directory, `${start}.spare${this.#sparesAsked}.tmp`))
  }

  /** The file gets its number here, so that no two makers can ever choose the same. */
  spareMade(path: string): void {
    this.#spareAsked = false
    try {
      this.#spare = this.#adopt(path)
    } catch (error) {
      rmSync(path, { force: true })
      return this.spareFailed(String(error))
    }
    while (this.#waiting.length > 0 && this.#roll()) this.#drain()
    if (this.#waiting.length > 0) return
    if (this.#failed) this.#options.report('the journal can be written again')
    this.#failed = false
  }

  spareFailed(reason: string): void {
    this.#spareAsked = false
    if (!this.#failed) this.#options.report(`the journal cannot be extended: ${reason}`)
    this.#failed = true
    // Deleted segments give their blocks back only when their mapping is collected.
    Bun.gc(false)
  }

  #adopt(path: string): SegmentWriter {
    const sequence = this.#nextSequence()
    const final = segmentPath(this.#options.directory, { start: this.#options.start, sequence })
    renameSync(path, final)
    return new SegmentWriter(final, sequence)
  }

  #roll(): boolean {
    const next = this.#spare ?? this.#createNow()
    if (next === undefined) return false
    this.#spare = undefined
    this.#current?.end()
    this.#current = next
    this.askForSpare()
    return true
  }

  /**
   * For a burst that fills a segment before its successor arrives: 1 to 3 ms once in thousands of records.
   */
  #createNow(): SegmentWriter | undefined {
    const { directory, start, segmentBytes } = this.#options
    const sequence = this.#nextSequence()
    const path = segmentPath(directory, { start, sequence })
    try {
      createSegmentFile(path, { bytes: segmentBytes, durable: false })
      return new SegmentWriter(path, sequence)
    } catch (error) {
      const asked = this.#spareAsked
      this.spareFailed(String(error))
      this.#spareAsked = asked
      return undefined
    }
  }

  #nextSequence(): number {
    return (this.#current?.sequence ?? 0) + 1
  }

  #wait(text: string): void {
    if (this.#waitingLength + text.length > waitingLengthMax) {
      this.#lost++
      // Powers of two: the first loss at once, an endless one without flooding the log.
      if ((this.#lost & (this.#lost - 1)) === 0)
        this.#options.report(`the journal's disk is full and so is its memory: ${this.#lost} records lost`)
      return
    }
    this.#waiting.push(text)
    this.#waitingLength += text.length
  }

  #drain(): void {
    let done = 0
    while (done < this.#waiting.length && this.#current?.append(this.#waiting[done]!) === true) {
      this.#waitingLength -= this.#waiting[done]!.length
      done++
    }
    this.#waiting = this.#waiting.slice(done)
  }
}
