/**
 * The reading end of the journal: the segments of one process in order, and the calls that are still open in
 * them.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalPosition } from './journal.ts'
import {
  firstRecordAt, listSegments, moveAside, recordBytesMax, segmentPath, SegmentReader,
} from './journal.ts'
import { decodeRecord, encodeIntent, readIntent } from './ledger-record.ts'
import type { ColumnValue, LedgerIntent } from './ledger-record.ts'

/** Whose journal is read, and how. */
export interface JournalTailOptions {
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
  readonly path: string
  /** It went on in a successor, as every segment but the last does. */
  readonly ended: boolean
  damaged: boolean
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
  /** Records of intents by request id, as they stand in the journal. */
  readonly #open = new Map<string, string>()
  readonly #finished: FinishedSegment[] = []
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
    return { sequence: this.#sequence, offset: this.#reader?.offset ?? firstRecordAt }
  }

  /** Intents without a settlement in what was read. */
  get openCalls(): LedgerIntent[] {
    return [...this.#open.values()].map(readIntent).filter(intent => intent !== undefined)
  }

  /** The next settlements, at most `rowsMax`; fewer = that is all there is at the moment. */
  read(rowsMax: number): (readonly ColumnValue[])[] {
    const rows: (readonly ColumnValue[])[] = []
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
    return rows
  }

  /** To be called when everything read is committed: deletes the segments that were read to their end. */
  deleteFinished(): void {
    if (this.#finished.length === 0) return
    this.#saveOpenCalls()
    for (const segment of this.#finished.splice(0)) this.#discard(segment)
  }

  /**
   * Of a dead process, when everything including its interrupted calls is committed. The list of open calls
   * goes first: what is left after a crash in between is read again, and every row of it is there already.
   */
  deleteAll(): void {
    rmSync(openCallsPath(this.#options.directory, this.#options.start), { force: true })
    for (const segment of this.#finished.splice(0)) this.#discard(segment)
  }

  /** Of this process at its end, when everything is committed: calls still open are left to the successor. */
  closeLive(): void {
    this.#saveOpenCalls()
    this.#reader?.close()
    const { directory, start } = this.#options
    for (const name of listSegments(directory)) if (name.start === start) rmSync(segmentPath(directory, name))
  }

  #take(text: string, rows: (readonly ColumnValue[])[]): void {
    const before = this.#finished.at(-1)
    if (before !== undefined && !before.ended) before.damaged = true
    const record = decodeRecord(text)
    if (record === undefined) this.#damaged = true
    else if (record.kind === 'intent') this.#open.set(record.id, text)
    else {
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
    this.#finished.push({ path, ended, damaged: this.#damaged })
    this.#damaged = false
  }

  #openNext(): boolean {
    const { directory, start } = this.#options
    const next = listSegments(directory).find(name => name.start === start && name.sequence > this.#sequence)
    if (next === undefined) return false
    this.#reader = new SegmentReader(segmentPath(directory, next))
    this.#sequence = next.sequence
    this.#damaged = !this.#reader.isSegment()
    return true
  }

  #discard({ path, damaged }: FinishedSegment): void {
    if (!damaged) return rmSync(path, { force: true })
    const aside = moveAside(path)
    const what = `a damaged segment of the journal was moved to ${aside}`
    this.#options.report(`${what}; what could be read is stored`)
  }

  #loadOpenCalls(): void {
    const path = openCallsPath(this.#options.directory, this.#options.start)
    if (!existsSync(path)) return
    try {
      const intents = JSON.parse(readFileSync(path, 'utf8')) as LedgerIntent[]
      for (const intent of intents) this.#open.set(intent.request_id, encodeIntent(intent))
    } catch {
      this.#options.report(`a damaged list of open calls was moved to ${moveAside(path)}`)
    }
  }

  /** Before a segment goes, the intents that only it held are kept elsewhere. */
  #saveOpenCalls(): void {
    const path = openCallsPath(this.#options.directory, this.#options.start)
    if (this.#open.size === 0) return rmSync(path, { force: true })
    writeFileSync(`${path}.tmp`, JSON.stringify(this.openCalls), { mode: 0o600, flush: true })
    renameSync(`${path}.tmp`, path)
  }
}
