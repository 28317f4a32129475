/** Reads the journal of one process: its segments in order, and the calls in them that are still open. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerIntent } from '../../../core/ledger/ledger-columns.ts'
import type { JournalPosition } from './journal.ts'
import { listSegments, moveAside, recordBytesMax, segmentPath, SegmentReader } from './journal.ts'
import { markPredecessorStored } from './segment-header.ts'
import type { SegmentHeader } from './segment-header.ts'
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
  /** Called with what is gone for good, as far as the rest of the journal says. */
  readonly lost?: (loss: JournalLoss) => void
}

/** Noticed at once by what is there. */
export interface JournalLoss {
  readonly segments: number
  /** Those that are known: the number is not, where a missing segment was the last one. */
  readonly records: number
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

function segmentHeader(path: string): SegmentHeader | undefined {
  const reader = new SegmentReader(path)
  reader.close()
  return reader.header
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
  /** How many records stand before the next one, in its process; undefined = the segments so far do not say. */
  #records: number | undefined
  #endReported = false

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

  /** Records of this process before `position`; undefined = the segments do not say. */
  get records(): number | undefined {
    return this.#records
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
        const item = again ? reader.peekReloaded() : reader.peek()
        again = false
        if (typeof item === 'object') {
          reader.offset = item.next
          this.#badLooks = 0
          this.#take(item.text, rows)
        } else if (item === 'end') this.#finish({ ended: true })
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
    // What follows the last segment of a dead process says whether it is damaged.
    const before = this.#options.live || last.ended ? Infinity : last.sequence
    try {
      this.saveOpenCalls()
      this.#listedTo = last.sequence
    } catch (error) {
      this.#discardBefore(Math.min(this.#oldestNeeded(), before))
      throw error
    }
    this.#discardBefore(before)
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
    const own = listSegments(directory).filter(name => name.start === start)
    const pathOf = (sequence: number) => segmentPath(directory, { start, sequence })
    this.#removeAll(own.map(({ sequence }) => ({ sequence, path: pathOf(sequence), damaged: false })))
  }

  #take(text: string, rows: (readonly ColumnValue[])[]): void {
    const before = this.#finished.at(-1)
    if (before !== undefined && !before.ended) before.damaged = true
    if (this.#records !== undefined) this.#records++
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
      this.#lose(0, 1)
      return true
    }
    if (live) return this.#isOvertaken()
    // A crash tears one record at most. More than that is damage, and is kept for an operator.
    if (reader.bytesLeft() > recordBytesMax) this.#damaged = true
    this.#finish({ ended: false })
    return true
  }

  /** The writer is two segments further (the next may be a spare): the end mark of this one was destroyed. */
  #isOvertaken(): boolean {
    const { directory, start } = this.#options
    if (!existsSync(segmentPath(directory, { start, sequence: this.#sequence + 2 }))) return false
    // The end mark may have been written since it was read.
    if (this.#reader!.peekReloaded() !== 'empty') return true
    this.#damaged = true
    this.#finish({ ended: false })
    return true
  }

  #finish({ ended }: Pick<FinishedSegment, 'ended'>): void {
    const { directory, start } = this.#options
    this.#reader?.close()
    this.#reader = undefined
    const path = segmentPath(directory, { start, sequence: this.#sequence })
    this.#finished.push({ sequence: this.#sequence, path, ended, damaged: this.#damaged })
    this.#damaged = false
  }

  #openNext(): boolean {
    const { directory, start } = this.#options
    const left = listSegments(directory).filter(name => name.start === start && name.sequence > this.#sequence)
    const next = left[0]
    if (next === undefined) {
      this.#noticeMissingEnd()
      return false
    }
    this.#reader = new SegmentReader(segmentPath(directory, next))
    this.#noticeMissingBefore(next.sequence, left.at(-1)!.sequence)
    this.#sequence = next.sequence
    this.#damaged = !this.#reader.isSegment()
    return true
  }

  /** `next` = the segment that is now open, `newest` = the last one of the process. */
  #noticeMissingBefore(next: number, newest: number): void {
    const { header } = this.#reader!
    const isFirst = this.#sequence === 0
    const { predecessorStored, beginning } = header ?? {}
    const isJump = next > this.#sequence + 1
    const isGap = isJump && predecessorStored !== true && (!isFirst || predecessorStored === false)
    const from = isGap && isFirst ? this.#storedTo(newest) : this.#sequence + 1
    // How many records the segments had that were stored and deleted is not known.
    const before = isJump && !isGap ? undefined : this.#records
    const known = isGap && isFirst && from === 1 ? 0 : before
    const records = beginning === undefined || known === undefined ? undefined : beginning.recordsBefore - known
    if (isGap && from < next) this.#reportGap(from, next - 1, records)
    else if (records !== undefined && records > 0) this.#lose(0, records)
    if (isGap || beginning !== undefined) this.#records = beginning?.recordsBefore
  }

  /** The first segment of this process that was not stored when its newest one was begun. */
  #storedTo(newest: number): number {
    const { directory, start } = this.#options
    for (let sequence = newest; sequence >= newest - 1; sequence--) {
      const path = segmentPath(directory, { start, sequence })
      const beginning = existsSync(path) ? segmentHeader(path)?.beginning : undefined
      if (beginning !== undefined) return beginning.storedTo
    }
    return 1
  }

  #reportGap(from: number, to: number, records: number | undefined): void {
    const count = records === undefined ? 'an unknown number of' : String(Math.max(records, 0))
    this.#options.report(
      `segments ${from} to ${to} of the journal are missing, and with them ${count} records: ` +
        'they were removed before they were stored',
    )
    this.#lose(to - from + 1, Math.max(records ?? 0, 0))
  }

  /** The last segment of a dead process has no end mark: the next one is there before it is written. */
  #noticeMissingEnd(): void {
    if (this.#options.live || this.#endReported || this.#finished.at(-1)?.ended !== true) return
    this.#endReported = true
    this.#reportGap(this.#sequence + 1, this.#sequence + 1, undefined)
  }

  /** Records that are lost were counted by their process: those behind them have the numbers after them. */
  #lose(segments: number, records: number): void {
    if (segments === 0 && this.#records !== undefined) this.#records += records
    this.#options.lost?.({ segments, records })
  }

  /** The oldest segment with an intent that is not listed elsewhere. Later ones stay too, so that there is no gap. */
  #oldestNeeded(): number {
    let oldest = Infinity
    for (const { sequence } of this.#open.values())
      if (sequence > this.#listedTo && sequence < oldest) oldest = sequence
    return oldest
  }

  #discardBefore(sequence: number): void {
    const gone = this.#finished.filter(one => one.sequence < sequence)
    if (gone.length === 0) return
    this.#removeAll(gone)
    this.#finished.splice(0, gone.length)
  }

  /**
   * Deletes segments, given oldest first, so that after a crash in between none looks missing: the one that follows
   * them is marked, and they are deleted from the newest to the oldest. Where none follows, the newest is marked and
   * goes last.
   */
  #removeAll(segments: readonly Pick<FinishedSegment, 'sequence' | 'path' | 'damaged'>[]): void {
    const last = segments.at(-1)
    if (last === undefined) return
    const { directory, start } = this.#options
    const next = segmentPath(directory, { start, sequence: last.sequence + 1 })
    const survivor = existsSync(next) ? next : last.path
    const isAlone = segments.length === 1 && survivor === last.path
    if (!isAlone && existsSync(survivor)) markPredecessorStored(survivor)
    for (const segment of segments.toReversed()) if (segment.path !== survivor) this.#remove(segment)
    if (survivor === last.path) this.#remove(last)
  }

  #remove({ path, damaged }: Pick<FinishedSegment, 'path' | 'damaged'>): void {
    if (!damaged || !existsSync(path)) return rmSync(path, { force: true })
    const what = `a damaged segment of the journal was moved to ${moveAside(path)}`
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
