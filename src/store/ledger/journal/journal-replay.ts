/** Reads the journals that earlier processes left, one slice after the other, and deletes what is stored. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { backlogOf, measureJournals, noBacklog } from './journal-backlog.ts'
import type { Backlog, MeasuredJournal } from './journal-backlog.ts'
import { JournalTail } from './journal-tail.ts'
import type { JournalLoss } from './journal-tail.ts'
import { filesOf } from './journal.ts'
import { interruptedValues } from './ledger-record.ts'
import type { ColumnValue } from './ledger-record.ts'

interface JournalReplayOptions {
  readonly directory: string
  /** The journal of this process, which is not replayed. */
  readonly own: string
  readonly report: (problem: string) => void
  readonly lost: (loss: JournalLoss) => void
}

/** Finished segments are deleted at most this often: each deletion writes the list of open calls durably. */
const deletionMs = 500

/** The oldest process first. One process is in memory at a time, by one buffer and its open calls. */
export class JournalReplay {
  readonly #options: JournalReplayOptions
  readonly #starts: string[]
  /** Of those that are not stored yet. */
  #journals: MeasuredJournal[]
  #tail: JournalTail | undefined
  /** Rows of calls that the process left open, once all of its records are read; undefined = they are not. */
  #interrupted: (readonly ColumnValue[])[] | undefined
  #deletedMs = 0

  /** Removes unfinished files of earlier processes. Throws when the directory cannot be read. */
  constructor(options: JournalReplayOptions) {
    this.#options = options
    this.#starts = startsOfEarlierProcesses(options)
    this.#journals = measureJournals(options.directory, options.own)
  }

  /** true = nothing is left to be stored. */
  get isDone(): boolean {
    return this.#starts.length === 0
  }

  /** What is not known to be stored. */
  get backlog(): Backlog {
    const waiting = backlogOf(this.#journals)
    const [journal] = this.#journals
    if (waiting.bytes === 0 || this.#tail === undefined || journal?.start !== this.#starts[0]) return waiting
    const { position, records } = this.#tail
    let read = 0
    for (const { sequence, bytes } of journal!.segments)
      if (sequence < position.sequence) read += bytes
      else if (sequence === position.sequence) read += Math.min(position.offset, bytes)
    const share = read / journal!.segments.reduce((sum, segment) => sum + segment.bytes, 0)
    const readRecords =
      records === undefined ? share * (journal!.toRecord - journal!.fromRecord) : records - journal!.fromRecord
    const bytes = Math.max(waiting.bytes - read, 0)
    const left = Math.max(Math.round(waiting.records - readRecords), 0)
    // All is stored, and the journal only has to be deleted.
    if (bytes === 0 && left === 0) return noBacklog
    return { ...waiting, bytes, records: left }
  }

  /**
   * The next rows, at most `rowsMax`. None = look at `isDone`: this step ended the journal of one process. `committed`
   * must follow when they are stored, before the next call. A journal that cannot be read is left for the next start.
   */
  read(rowsMax: number): (readonly ColumnValue[])[] {
    const [start] = this.#starts
    if (start === undefined) return []
    const { directory, report, lost } = this.#options
    try {
      this.#tail ??= new JournalTail({ directory, start, live: false, report, lost })
      const rows = this.#interrupted === undefined ? this.#tail.read(rowsMax) : []
      if (rows.length > 0) return rows
      this.#interrupted ??= this.#tail.openCalls.map(interruptedValues)
      return this.#interrupted.splice(0, rowsMax)
    } catch (error) {
      this.#leave(error)
      return []
    }
  }

  /** What was read is stored. `mayDelete` = nothing of it has to stay in the journal. */
  committed(rows: number, mayDelete: boolean): void {
    const tail = this.#tail
    if (tail === undefined) return
    try {
      if (rows > 0) return this.#deleteFinished(tail, mayDelete)
      if (mayDelete) tail.deleteAll()
      this.#next()
    } catch (error) {
      this.#leave(error)
    }
  }

  /** A full disk must not stop rows from being stored: what cannot be deleted now is deleted later. */
  #deleteFinished(tail: JournalTail, mayDelete: boolean): void {
    const nowMs = performance.now()
    if (!mayDelete || nowMs - this.#deletedMs < deletionMs) return
    this.#deletedMs = nowMs
    try {
      tail.deleteFinished()
    } catch {
      // The segments stay until the list of open calls can be written, or until all of the journal is stored.
    }
  }

  #leave(error: unknown): void {
    this.#options.report(`the journal of process ${this.#starts[0]} cannot be replayed and is left: ${String(error)}`)
    this.#next()
  }

  #next(): void {
    const start = this.#starts.shift()
    this.#journals = this.#journals.filter(journal => journal.start !== start)
    this.#tail = undefined
    this.#interrupted = undefined
  }
}

/** What earlier processes left, seen without reading it whole; `noBacklog` when the directory cannot be read. */
export function earlierBacklog(directory: string, own: string): Backlog {
  try {
    return backlogOf(measureJournals(directory, own))
  } catch {
    return noBacklog
  }
}

/** Oldest first. Removes their unfinished files. */
function startsOfEarlierProcesses({ directory, own }: JournalReplayOptions): string[] {
  const starts = new Set<string>()
  for (const file of filesOf(directory).sort()) {
    const start = /^(\d{13,}-[\w-]+)\.(?:\d{8,}\.journal|open\.json)$/.exec(file)?.[1]
    if (start !== undefined && start !== own) starts.add(start)
    else if (file.endsWith('.tmp') && !file.startsWith(`${own}.`)) rmSync(join(directory, file), { force: true })
  }
  return [...starts]
}
