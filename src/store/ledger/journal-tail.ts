/**
 * The reading end of the journal: the segments of one process in order, and the calls that are still open in
 * them.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerIntent } from '../../core/ledger-columns.ts'
import type { JournalPosition } from './journal.ts'
import { listSegments, moveAside, recordBytesMax, segmentPath, SegmentReader } from './journal.ts'
import { decodeRecord, encodeIntent, readIntent } from './ledger-record.ts'
import type { ColumnValue } from './ledger-record.ts'

/** Whose journal is read, and how. */
interface JournalTailOptions {
  readonly directory: string
  /** Whose segments, see `SegmentName`. */
  readonly start: string
  /**
   * true = the writer lives: the end of what is written is no end, and a bad record may become a good one.
   */
  readonly live: boolean
  readonly report: (problem: string) => void
}

interface FinishedSegment {
  readonly sequence: number
  readonly path: string
  /** It went on in a successor, as every segment but the last does. */
  readonly ended: boolean
  damaged: boolean
}

interface OpenCall {
  /** Its intent, as it stands in the journal. */
  readonly text: string
  /** The segment of its intent; 0 = none: it came from the list of open calls, or past the journal. */
  readonly sequence: number
}

/** How many looks a bad record of a living process gets before it is taken for damage: 2 s. */
const looksMax = 40

/** Calls that were open when their segment was deleted, of one process: `START.open.json`. */
export function openCallsPath(directory: string, start: string): string {
  return join(directory, `${start}.open.json`)
}

/** Memory: one buffer, and the intents of open calls. */
export class JournalTail {
  readonly #options: JournalTailOptions
  /** By request id. */
  readonly #open = new Map<string, OpenCall>()
  /** Calls whose settlement came past the journal before their intent was read in it. */
  readonly #settledBefore = new Set<string>()
  readonly #finished: FinishedSegment[] = []
  /** Open calls of segments up to this one are in the list on disk. */
  #listedTo = 0
  #reader: SegmentReader | undefined
  #sequence = 0
  #damaged = false
  #badLooks = 0

  /** Throws when the directory cannot be read. */
  constructor(options: JournalTailOptions) {
    this.#options = options
    this.#loadOpenCalls()
  }

  /** Everything before this has been read. */
  get position(): JournalPosition {
    if (this.#reader === undefined) return { sequence: this.#sequence + 1, offset: 0 }
    return { sequence: this.#sequence, offset: this.#reader.offset }
  }

  /** Intents without a settlement in what was read. */
  get openCalls(): LedgerIntent[] {
    return [...this.#open.values()].map(call => readIntent(call.text)).filter(intent => intent !== undefined)
  }

  /** true = segments that were read to their end are still there. */
  get hasFinished(): boolean {
    return this.#finished.length > 0
  }

  /** true = it waits at a record that is bad so far: what stands behind it has not been read. */
  get isHeldUp(): boolean {
    return this.#badLooks > 0
  }

  /**
   * The next settlements, at most `rowsMax`; fewer = that is all there is at the moment. Throws when the journal
   * cannot be read, with nothing skipped.
   */
  read(rowsMax: number): (readonly ColumnValue[])[] {
    const rows: (readonly ColumnValue[])[] = []
    try {
      let again = true
      while (rows.length < rowsMax) {
        if (this.#reader === undefined && !this.#openNext()) break
        const reader = this.#reader!
        const item = reader.peek(again)
        again = false
        if (typeof item === 'object') {
          reader.offset = item.next
          this.#badLooks = 0
          this.#take(item.text, rows)
        } else if (item === 'end') this.#finish(true)
        else if (!this.#isDamage(reader, item)) break
      }
    } catch (error) {
      // What was read counts as read: it must reach the caller. The next call meets the error again.
      if (rows.length === 0) throw error
    }
    // All there is has been read, and with it every intent that could still have been on its way.
    if (rows.length < rowsMax) this.#settledBefore.clear()
    return rows
  }

  /** Records that reached the database past the journal, which had no room for them. */
  takeStored(texts: readonly string[]): void {
    for (const text of texts) {
      const record = decodeRecord(text)
      if (record?.kind === 'intent') this.#open.set(record.id, { text, sequence: 0 })
      else if (record !== undefined && !this.#open.delete(record.id)) this.#settledBefore.add(record.id)
    }
  }

  /**
   * To be called when everything read is committed: deletes the segments that were read to their end. Throws when
   * the list of open calls cannot be written, as on a full disk: then segments with open calls stay.
   */
  deleteFinished(): void {
    const last = this.#finished.at(-1)
    if (last === undefined) return
    try {
      this.saveOpenCalls()
      this.#listedTo = last.sequence
    } catch (error) {
      this.#discardBefore(this.#oldestNeeded())
      throw error
    }
    this.#discardBefore(Infinity)
  }

  /**
   * Of a dead process, when everything including its interrupted calls is committed. The list of open calls
   * goes first: what is left after a crash in between is read again, and every row of it is there already.
   */
  deleteAll(): void {
    rmSync(openCallsPath(this.#options.directory, this.#options.start), { force: true })
    this.#discardBefore(Infinity)
  }

  /**
   * Of this process at its end, when everything is committed and its open calls are kept, by `saveOpenCalls` or as
   * rows.
   */
  deleteLiving(): void {
    this.#reader?.close()
    this.#reader = undefined
    const { directory, start } = this.#options
    for (const name of listSegments(directory))
      if (name.start === start) rmSync(segmentPath(directory, name), { force: true })
  }

  #take(text: string, rows: (readonly ColumnValue[])[]): void {
    const before = this.#finished.at(-1)
    if (before !== undefined && !before.ended) before.damaged = true
    const record = decodeRecord(text)
    if (record === undefined) this.#damaged = true
    else if (record.kind === 'intent') {
      if (!this.#settledBefore.delete(record.id)) this.#open.set(record.id, { text, sequence: this.#sequence })
    } else {
      rows.push(record.values)
      this.#open.delete(record.id)
    }
  }

  /** Nothing readable here. true = moved on, read further; false = this is the end for now. */
  #isDamage(reader: SegmentReader, item: 'empty' | 'bad'): boolean {
    const { live } = this.#options
    if (live && item === 'empty') return this.#isOvertaken()
    if (live && ++this.#badLooks < looksMax) return false
    this.#badLooks = 0
    if (reader.skipToRecord()) {
      this.#damaged = true
      return true
    }
    if (live) return this.#isOvertaken()
    // A crash tears one record at most. More than that is damage, which somebody should see.
    if (reader.bytesLeft() > recordBytesMax) this.#damaged = true
    this.#finish(false)
    return true
  }

  /** A living writer is two segments further (the next may be a spare): this one's end was destroyed. */
  #isOvertaken(): boolean {
    const { directory, start } = this.#options
    if (!existsSync(segmentPath(directory, { start, sequence: this.#sequence + 2 }))) return false
    // Its end may have been written between the two looks.
    if (this.#reader!.peek(true) !== 'empty') return true
    this.#damaged = true
    this.#finish(false)
    return true
  }

  #finish(ended: boolean): void {
    const { directory, start } = this.#options
    this.#reader?.close()
    this.#reader = undefined
    const path = segmentPath(directory, { start, sequence: this.#sequence })
    this.#finished.push({ sequence: this.#sequence, path, ended, damaged: this.#damaged })
    this.#damaged = false
  }

  #openNext(): boolean {
    const { directory, start } = this.#options
    const next = listSegments(directory).find(name => name.start === start && name.sequence > this.#sequence)
    if (next === undefined) return false
    this.#reader = new SegmentReader(segmentPath(directory, next))
    // The first may have any number: those before it are stored and deleted.
    if (this.#sequence > 0 && next.sequence > this.#sequence + 1) this.#reportGap(next.sequence)
    this.#sequence = next.sequence
    this.#damaged = !this.#reader.isSegment()
    return true
  }

  #reportGap(next: number): void {
    const missing = `segments ${this.#sequence + 1} to ${next - 1} of the journal are missing`
    this.#options.report(
      `${missing}: they were removed before they were read, and only what the process still held was written again`,
    )
  }

  /** The oldest segment with an intent that is nowhere else. Those behind it stay too, so that there is no gap. */
  #oldestNeeded(): number {
    let oldest = Infinity
    for (const { sequence } of this.#open.values())
      if (sequence > this.#listedTo && sequence < oldest) oldest = sequence
    return oldest
  }

  #discardBefore(sequence: number): void {
    for (let at = this.#finished[0]; at !== undefined && at.sequence < sequence; at = this.#finished[0]) {
      this.#discard(at)
      this.#finished.shift()
    }
  }

  #discard({ path, damaged }: FinishedSegment): void {
    if (!damaged || !existsSync(path)) return rmSync(path, { force: true })
    const aside = moveAside(path)
    const what = `a damaged segment of the journal was moved to ${aside}`
    this.#options.report(`${what}; what could be read is stored`)
  }

  #loadOpenCalls(): void {
    const path = openCallsPath(this.#options.directory, this.#options.start)
    if (!existsSync(path)) return
    try {
      const intents = JSON.parse(readFileSync(path, 'utf8')) as LedgerIntent[]
      for (const intent of intents) this.#open.set(intent.request_id, { text: encodeIntent(intent), sequence: 0 })
    } catch {
      this.#options.report(`a damaged list of open calls was moved to ${moveAside(path)}`)
    }
  }

  /** Before a segment goes, the intents that only it held are kept elsewhere. Throws as on a full disk. */
  saveOpenCalls(): void {
    const path = openCallsPath(this.#options.directory, this.#options.start)
    if (this.#open.size === 0) return rmSync(path, { force: true })
    try {
      writeFileSync(`${path}.tmp`, JSON.stringify(this.openCalls), { mode: 0o600, flush: true })
      renameSync(`${path}.tmp`, path)
    } catch (error) {
      rmSync(`${path}.tmp`, { force: true })
      throw error
    }
  }
}
