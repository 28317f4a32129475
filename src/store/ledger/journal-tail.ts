/** Reads the journal of one process: its segments in order, and the calls in them that are still open. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerIntent } from '../../core/ledger-columns.ts'
import type { JournalPosition } from './journal.ts'
import { listSegments, moveAside, recordBytesMax, segmentPath, SegmentReader } from './journal.ts'
import { decodeRecord, encodeIntent, readIntent } from './ledger-record.ts'
import type { ColumnValue } from './ledger-record.ts'

/** Which journal is read, and how. */
interface JournalTailOptions {
  readonly directory: string
  /** Names the process, see `SegmentName`. */
  readonly start: string
  /**
   * true = the writer lives: more may be written behind the last record, and a bad record may still be completed.
   */
  readonly live: boolean
  readonly report: (problem: string) => void
}

interface FinishedSegment {
  readonly sequence: number
  readonly path: string
  /** It has an end mark, as every segment but the last. */
  readonly ended: boolean
  damaged: boolean
}

interface OpenCall {
  /** Its intent, as in the journal. */
  readonly text: string
  /** The segment of its intent; 0 = none: it is from the list of open calls, or was stored without the journal. */
  readonly sequence: number
}

/** How often a bad record of a living process is read before it is taken for damage: 40 times in 2 s. */
const looksMax = 40

/** The list of calls that were open when their segment was deleted, of one process: `START.open.json`. */
export function openCallsPath(directory: string, start: string): string {
  return join(directory, `${start}.open.json`)
}

/** Memory: one buffer, and the intents of open calls. */
export class JournalTail {
  readonly #options: JournalTailOptions
  /** By request id. */
  readonly #open = new Map<string, OpenCall>()
  /** Calls whose settlement was stored without the journal before their intent was read in it. */
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

  /** true = it waits at a record that is bad so far: records behind it have not been read. */
  get isHeldUp(): boolean {
    return this.#badLooks > 0
  }

  /**
   * The next settlements, at most `rowsMax`; fewer = there are no more at the moment. Throws when the journal cannot be
   * read; nothing is skipped then.
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
      // Rows that were read must reach the caller. The next call fails again.
      if (rows.length === 0) throw error
    }
    // Everything has been read, and with it every intent that these settlements could have.
    if (rows.length < rowsMax) this.#settledBefore.clear()
    return rows
  }

  /** Records that were stored without the journal, because it had no room for them. */
  takeStored(texts: readonly string[]): void {
    for (const text of texts) {
      const record = decodeRecord(text)
      if (record?.kind === 'intent') this.#open.set(record.id, { text, sequence: 0 })
      else if (record !== undefined && !this.#open.delete(record.id)) this.#settledBefore.add(record.id)
    }
  }

  /**
   * To be called when everything that was read is committed: deletes the segments that were read to their end. Throws
   * when the list of open calls cannot be written, as on a full disk: then segments with open calls stay.
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
   * For the journal of an earlier process, when everything including its interrupted calls is committed. The list of
   * open calls is deleted first: segments that are left by a crash are read again, and their rows are in the database.
   */
  deleteAll(): void {
    rmSync(openCallsPath(this.#options.directory, this.#options.start), { force: true })
    this.#discardBefore(Infinity)
  }

  /**
   * For the journal of this process at its end, when everything is committed and open calls are kept, by
   * `saveOpenCalls` or as rows.
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

  /** No readable record here. true = read on at the new place; false = this is the end for now. */
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
    // A crash tears one record at most. More than that is damage, and is kept for an operator.
    if (reader.bytesLeft() > recordBytesMax) this.#damaged = true
    this.#finish(false)
    return true
  }

  /** The writer is two segments further (the next may be a spare): the end mark of this one was destroyed. */
  #isOvertaken(): boolean {
    const { directory, start } = this.#options
    if (!existsSync(segmentPath(directory, { start, sequence: this.#sequence + 2 }))) return false
    // The end mark may have been written since it was read.
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
    // The first one found may have any number: those before it are stored and deleted.
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

  /** The oldest segment with an intent that is not listed elsewhere. Later ones stay too, so that there is no gap. */
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

  /** Writes the list of open calls, before their segments are deleted. Throws when it cannot, as on a full disk. */
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
