/**
 * The writing end of the journal, on the main thread: always a segment ahead, memory only when the disk does not
 * take more.
 */
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalPosition } from './journal.ts'
import { createSegmentFile, firstRecordAt, segmentPath, SegmentWriter } from './journal.ts'

/**
 * Records that wait in memory are kept up to this many UTF-16 units; later ones are lost and counted.
 */
const waitingLengthMax = 32 * 1024 * 1024
/** So much of it is handed over at once. */
const handedRecordsMax = 500
const handedLengthMax = 1024 * 1024
/** Full segments that stay mapped until they are committed, in case their files are removed: 8 MiB. */
const endedKeptMax = 4

/** Where the journal is, and who makes its next segment. */
interface JournalWriterOptions {
  readonly directory: string
  /** Names this start of this process, see `SegmentName`. */
  readonly start: string
  readonly segmentBytes: number
  /** Makes a segment file at `path` elsewhere, then calls `spareMade` or `spareFailed`. */
  readonly askForSpare: (path: string) => void
  /** Records begin to wait in memory: they may be taken elsewhere, see `hand`. */
  readonly waitingBegins?: () => void
  readonly report: (problem: string) => void
}

/** Appends are synchronous and survive kill -9 when they return, as long as `healthy`. */
export class JournalWriter {
  readonly #options: JournalWriterOptions
  #current: SegmentWriter | undefined
  #spare: SegmentWriter | undefined
  /** Full, and not known to be committed. Oldest first. */
  #ended: SegmentWriter[] = []
  /** The highest number that a current segment had. */
  #newest = 0
  #committed: JournalPosition = { sequence: 0, offset: 0 }
  #spareAsked = false
  #sparesAsked = 0
  #failed = false
  /** false = it failed within the last second: a full disk would cost every append a millisecond. */
  #mayCreate = true
  #waiting: string[] = []
  #waitingLength = 0
  /** So many of the oldest that wait are being stored elsewhere. */
  #inHand = 0
  #lost = 0
  #lostBefore = 0

  /** Takes a fresh segment. A full disk does not throw: the journal starts unhealthy. */
  constructor(options: JournalWriterOptions) {
    this.#options = options
    this.#roll()
    this.#askForSpare()
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

  /** UTF-16 units that are in memory only; nearly all records are ASCII. */
  get waitingLength(): number {
    return this.#waitingLength
  }

  /** Records that neither journal nor memory could take, since the start. */
  get lostRecords(): number {
    return this.#lost
  }

  /**
   * One record. Never throws: what the disk does not take waits in memory, and what has no room there is lost, and
   * counted.
   */
  append(text: string): void {
    if (this.#waiting.length === 0 && this.#current?.append(text) === true) return
    this.#appendElsewhere(text)
  }

  /**
   * To be called once a second. Finds out that files were removed under the writer, whose stores then reach no
   * successor, and tries to mend whatever keeps the journal from being written.
   */
  check(): void {
    if (this.#spare?.isInPlace() === false) this.#spare = undefined
    if (this.#current?.isInPlace() === false) this.#takeBack()
    this.#mayCreate = true
    if (this.#failed) this.#makeDirectory()
    if (this.#waiting.length > 0 && this.#drain()) this.#recovered()
    this.#askForSpare()
  }

  /** Everything before `position` is in the database. */
  committed(position: JournalPosition): void {
    this.#committed = position
    while (this.#ended.length > 0 && this.#ended[0]!.sequence < position.sequence) this.#ended.shift()
  }

  /** The oldest records that wait in memory, for the database. `handed` must follow before the next are asked for. */
  hand(): string[] {
    let length = 0
    let count = 0
    while (count < this.#waiting.length && count < handedRecordsMax && length < handedLengthMax)
      length += this.#waiting[count++]!.length
    this.#inHand = count
    return this.#waiting.slice(0, count)
  }

  /** What `hand` gave is stored, or has to go on waiting. */
  handed(stored: boolean): void {
    if (stored) this.#forget(this.#inHand)
    this.#inHand = 0
  }

  /** At the end: how many records are lost because they still wait in memory. */
  giveUp(): number {
    const count = this.#waiting.length
    this.#forget(count)
    this.#lost += count
    return count
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
    this.#mayCreate = true
    if (this.#drain()) this.#recovered()
  }

  spareFailed(reason: string): void {
    this.#spareAsked = false
    this.#fail(reason)
  }

  /** In the next segment, or in memory. */
  #appendElsewhere(text: string): void {
    const rolled = this.#waiting.length === 0 && this.#roll()
    if (rolled && this.#waiting.length === 0 && this.#current?.append(text) === true) return
    this.#wait(text)
    // Records that were taken back come first.
    if (rolled) this.#drain()
  }

  #askForSpare(): void {
    if (this.#spare !== undefined || this.#spareAsked) return
    this.#spareAsked = true
    this.#sparesAsked++
    const { directory, start, askForSpare } = this.#options
    askForSpare(join(directory, `${start}.spare${this.#sparesAsked}.tmp`))
  }

  #fail(reason: string): void {
    if (!this.#failed) {
      this.#options.report(`the journal cannot be extended: ${reason}`)
      this.#lostBefore = this.#lost
    }
    this.#failed = true
    // Deleted segments give their blocks back only when their mapping is collected.
    Bun.gc(false)
  }

  #recovered(): void {
    if (!this.#failed) return
    this.#failed = false
    const lost = this.#lost - this.#lostBefore
    this.#options.report(`the journal can be written again${lost > 0 ? `; ${lost} records were lost meanwhile` : ''}`)
  }

  #adopt(path: string): SegmentWriter {
    const sequence = this.#newest + 1
    const final = segmentPath(this.#options.directory, { start: this.#options.start, sequence })
    renameSync(path, final)
    return new SegmentWriter(final, sequence)
  }

  /** Goes on in a fresh segment. false = there is none. Records may wait afterwards, see `#takeBack`. */
  #roll(): boolean {
    if (this.#spare?.isInPlace() === false) this.#spare = undefined
    if (this.#current?.isInPlace() === false) this.#takeBack()
    const next = this.#spare ?? this.#createNow()
    if (next === undefined) return false
    this.#spare = undefined
    if (this.#current !== undefined) {
      this.#current.end()
      this.#ended.push(this.#current)
      if (this.#ended.length > endedKeptMax) this.#ended.shift()
    }
    this.#current = next
    this.#newest = next.sequence
    this.#askForSpare()
    return true
  }

  /**
   * The current segment lost its name. What stands in it, and in those before it that are still mapped, may not be
   * in the database yet: it is taken back into memory, before what waits there. Rows that are stored twice stay one.
   */
  #takeBack(): void {
    const current = this.#current!
    const { sequence, offset } = this.#committed
    const texts: string[] = []
    for (const segment of [...this.#ended, current])
      if (segment.sequence >= sequence)
        texts.push(...segment.textsFrom(segment.sequence === sequence ? offset : firstRecordAt))
    // A reader that has the file open goes on behind it.
    current.end()
    this.#current = undefined
    this.#ended = []
    this.#inHand = 0
    this.#waiting = [...texts, ...this.#waiting]
    for (const text of texts) this.#waitingLength += text.length
    this.#options.report(
      'files of the journal were removed while they were written: ' +
        `${texts.length} records that may not be in the database yet are written again`,
    )
    this.#makeDirectory()
  }

  #makeDirectory(): void {
    try {
      mkdirSync(this.#options.directory, { recursive: true, mode: 0o700 })
    } catch (error) {
      this.#fail(String(error))
    }
  }

  /**
   * For a burst that fills a segment before its successor arrives: 1 to 3 ms once in thousands of records.
   */
  #createNow(): SegmentWriter | undefined {
    if (!this.#mayCreate) return undefined
    const { directory, start, segmentBytes } = this.#options
    const sequence = this.#newest + 1
    const path = segmentPath(directory, { start, sequence })
    try {
      createSegmentFile(path, { bytes: segmentBytes, durable: false })
      return new SegmentWriter(path, sequence)
    } catch (error) {
      this.#mayCreate = false
      this.#fail(String(error))
      return undefined
    }
  }

  #wait(text: string): void {
    if (this.#waitingLength + text.length > waitingLengthMax) {
      this.#lost++
      // Powers of two: the first loss at once, an endless one without flooding the log.
      if ((this.#lost & (this.#lost - 1)) === 0)
        this.#options.report(
          `neither journal nor database takes records, and memory is full: ${this.#lost} records lost`,
        )
      return
    }
    this.#waiting.push(text)
    this.#waitingLength += text.length
    if (this.#waiting.length === 1) this.#options.waitingBegins?.()
  }

  /** Appends what waits in memory, in as many segments as it takes. true = nothing waits any more. */
  #drain(): boolean {
    for (let isFresh = false; ; isFresh = true) {
      let done = 0
      while (done < this.#waiting.length && this.#current?.append(this.#waiting[done]!) === true) done++
      if (done > 0) this.#forget(done)
      if (this.#waiting.length === 0) return true
      // The second: a record that no empty segment takes must not make segments for ever.
      if ((isFresh && done === 0) || !this.#roll()) return false
    }
  }

  /** The oldest records that wait do so no longer. */
  #forget(count: number): void {
    for (let at = 0; at < count; at++) this.#waitingLength -= this.#waiting[at]!.length
    this.#waiting = this.#waiting.slice(count)
    this.#inHand = Math.max(this.#inHand - count, 0)
  }
}
