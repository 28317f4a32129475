/**
 * Writes the journal, on the main thread. The next segment is made ahead; records wait in memory only while the disk
 * takes no more.
 */
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalPosition } from './journal.ts'
import { createSegmentFile, segmentPath, SegmentWriter } from './journal.ts'
import { firstRecordAt } from './segment-header.ts'

/**
 * UTF-16 units of records that may wait in memory; records beyond that are lost, and counted.
 */
const waitingLengthMax = 32 * 1024 * 1024
/** Records that one message takes to the worker. */
const waitingBatchRecordsMax = 500
const waitingBatchLengthMax = 1024 * 1024
/** Full segments that stay mapped until they are committed, in case their files are removed: 8 MiB. */
const endedKeptMax = 4

/** Where the journal is, and how its next segment is made. */
interface JournalWriterOptions {
  readonly directory: string
  /** Names this start of this process, see `SegmentName`. */
  readonly start: string
  readonly segmentBytes: number
  /** Makes a segment file at `path` on another thread; `spareMade` or `spareFailed` must follow. */
  readonly askForSpare: (path: string) => void
  /** Called when records begin to wait in memory: `nextWaiting` gives them to be stored without the journal. */
  readonly waitingBegins?: () => void
  readonly report: (problem: string) => void
  /** Milliseconds since 1970. */
  readonly epochMs: () => number
}

/** Appends are synchronous and survive kill -9 when they return, as long as `healthy`. */
export class JournalWriter {
  readonly #options: JournalWriterOptions
  #current: SegmentWriter | undefined
  #spare: SegmentWriter | undefined
  /** Full, and not known to be committed. Oldest first. */
  #ended: SegmentWriter[] = []
  /** The highest sequence number of a segment so far. */
  #newest = 0
  #committed: JournalPosition = { sequence: 0, offset: 0 }
  /** Records in segments before the current one, without those that were taken back. */
  #recordsBefore = 0
  #spareRequested = false
  #spareRequestCount = 0
  #failed = false
  /** false = creating a segment failed within the last second: trying costs each append a millisecond. */
  #mayCreate = true
  #waiting: string[] = []
  #waitingLength = 0
  /** How many of the oldest waiting records are being stored in the database. */
  #beingStored = 0
  #lost = 0
  #lostBefore = 0

  /** Creates the first segment. A full disk does not throw: the journal is unhealthy then. */
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

  /** Behind every record that was appended, except those that wait in memory: see `waiting`. */
  get position(): JournalPosition {
    return { sequence: this.#current?.sequence ?? 0, offset: this.#current?.offset ?? 0 }
  }

  /** Records that were appended, those in memory not counted. */
  get records(): number {
    return this.#recordsBefore + (this.#current?.count ?? 0)
  }

  /** Records that are in memory only. */
  get waitingRecords(): number {
    return this.#waiting.length
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
   * One record. Never throws: what the disk does not take waits in memory, and what has no room there is lost and
   * counted.
   */
  append(text: string): void {
    if (this.#waiting.length === 0 && this.#current?.append(text) === true) return
    this.#appendElsewhere(text)
  }

  /**
   * To be called once a second. Notices files that were removed while they are written, which the next process would
   * not find, and tries again what failed.
   */
  check(): void {
    this.#dropLostSpare()
    if (this.#current?.isInPlace() === false) this.#returnToMemory()
    this.#mayCreate = true
    if (this.#failed) this.#makeDirectory()
    if (this.#waiting.length > 0 && this.#drain()) this.#recovered()
    this.#askForSpare()
  }

  /** Everything before `position` is in the database. */
  committed(position: JournalPosition): void {
    this.#committed = position
    while (this.#ended.length > 0 && this.#ended[0]!.sequence < position.sequence) this.#ended.shift()!.close()
  }

  /** The oldest records that wait in memory, for the database. `acknowledgeWaiting` must come before the next call. */
  nextWaiting(): string[] {
    let length = 0
    let count = 0
    while (count < this.#waiting.length && count < waitingBatchRecordsMax && length < waitingBatchLengthMax)
      length += this.#waiting[count++]!.length
    this.#beingStored = count
    return this.#waiting.slice(0, count)
  }

  /** What `nextWaiting` gave is stored, or waits on. */
  acknowledgeWaiting(stored: boolean): void {
    if (stored) this.#forget(this.#beingStored)
    this.#beingStored = 0
  }

  /** At the end: how many records are lost because they still wait in memory. */
  abandonWaiting(): number {
    const count = this.#waiting.length
    this.#forget(count)
    this.#lost += count
    return count
  }

  /** The file gets its sequence number here, on one thread, so that no number is used twice. */
  spareMade(path: string): void {
    this.#spareRequested = false
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
    this.#spareRequested = false
    this.#fail(reason)
  }

  /** In the next segment, or in memory. */
  #appendElsewhere(text: string): void {
    const rolled = this.#waiting.length === 0 && this.#roll()
    if (rolled && this.#waiting.length === 0 && this.#current?.append(text) === true) return
    this.#wait(text)
    // Records that were returned to memory come first.
    if (rolled) this.#drain()
  }

  #askForSpare(): void {
    if (this.#spare !== undefined || this.#spareRequested) return
    this.#spareRequested = true
    this.#spareRequestCount++
    const { directory, start, askForSpare } = this.#options
    askForSpare(join(directory, `${start}.spare${this.#spareRequestCount}.tmp`))
  }

  #fail(reason: string): void {
    if (!this.#failed) {
      this.#options.report(`the journal cannot be extended: ${reason}`)
      this.#lostBefore = this.#lost
    }
    this.#failed = true
  }

  #recovered(): void {
    if (!this.#failed) return
    this.#failed = false
    const lost = this.#lost - this.#lostBefore
    this.#options.report(`the journal can be written again${lost > 0 ? `; ${lost} records were lost meanwhile` : ''}`)
  }

  /** Gives up a spare whose file was removed: records in it would be lost, since a restart reads files only. */
  #dropLostSpare(): void {
    if (this.#spare === undefined || this.#spare.isInPlace()) return
    this.#spare.close()
    this.#spare = undefined
  }

  #adopt(path: string): SegmentWriter {
    const sequence = this.#newest + 1
    const final = segmentPath(this.#options.directory, { start: this.#options.start, sequence })
    renameSync(path, final)
    return new SegmentWriter(final, sequence)
  }

  /** Continues in the next segment. false = there is none. Records may wait afterwards, see `#returnToMemory`. */
  #roll(): boolean {
    this.#dropLostSpare()
    if (this.#current?.isInPlace() === false) this.#returnToMemory()
    const next = this.#spare ?? this.#createNow()
    if (next === undefined) return false
    this.#spare = undefined
    const recordsBefore = this.records
    // Before the end mark, which leads a reader to it.
    next.begin({
      sequence: next.sequence,
      recordsBefore,
      begunAtMs: this.#options.epochMs(),
      storedTo: Math.max(this.#committed.sequence, 1),
    })
    if (this.#current !== undefined) {
      this.#current.end()
      this.#ended.push(this.#current)
      if (this.#ended.length > endedKeptMax) this.#ended.shift()!.close()
    }
    this.#recordsBefore = recordsBefore
    this.#current = next
    this.#newest = next.sequence
    this.#askForSpare()
    return true
  }

  /**
   * The file of the current segment was removed. Its records, and those of earlier segments that are still mapped, may
   * not be in the database yet: they are put before those that wait in memory. A row that is stored twice stays one.
   */
  #returnToMemory(): void {
    const current = this.#current!
    const { sequence, offset } = this.#committed
    const mapped = [...this.#ended, current]
    const texts: string[] = []
    for (const segment of mapped)
      if (segment.sequence >= sequence)
        texts.push(...segment.textsFrom(segment.sequence === sequence ? offset : firstRecordAt))
    // A reader that has the file open continues in the next segment.
    current.end()
    for (const segment of mapped) segment.close()
    this.#recordsBefore = Math.max(this.records - texts.length, 0)
    this.#current = undefined
    this.#ended = []
    this.#beingStored = 0
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
   * For a burst that fills a segment before the next one is made: 1 to 3 ms once in thousands of records.
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
      // Reported at powers of two: the first loss at once, later ones without flooding the log.
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

  /** Appends what waits in memory, in as many segments as needed. true = nothing waits any more. */
  #drain(): boolean {
    for (let isFresh = false; ; isFresh = true) {
      let done = 0
      while (done < this.#waiting.length && this.#current?.append(this.#waiting[done]!) === true) done++
      if (done > 0) this.#forget(done)
      if (this.#waiting.length === 0) return true
      // A record that does not fit into an empty segment must not create segments for ever.
      if ((isFresh && done === 0) || !this.#roll()) return false
    }
  }

  /** Removes the oldest waiting records. */
  #forget(count: number): void {
    for (let at = 0; at < count; at++) this.#waitingLength -= this.#waiting[at]!.length
    this.#waiting = this.#waiting.slice(count)
    this.#beingStored = Math.max(this.#beingStored - count, 0)
  }
}
