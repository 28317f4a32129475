/** The work of the ledger's worker thread: reads the journal and writes its rows to the database. */
import { existsSync } from 'node:fs'
import type { LedgerRetention } from '../../core/ledger/usage-report.ts'
import { BatchSize, batchRowsMax } from './batch-size.ts'
import { noBacklog } from './journal/journal-backlog.ts'
import { JournalReplay } from './journal/journal-replay.ts'
import { JournalTail } from './journal/journal-tail.ts'
import type { JournalLoss } from './journal/journal-tail.ts'
import { JournalSync } from './journal/journal-sync.ts'
import { createSegmentFile, hasReached, segmentPath } from './journal/journal.ts'
import type { JournalPosition } from './journal/journal.ts'
import { LedgerMaintenance, maintenanceIntervalMs } from './ledger-maintenance.ts'
import type { LedgerReply, LedgerWriterSettings } from './ledger-messages.ts'
import { systemClock } from '../../lib/clock.ts'
import { decodeRecord, usualColumns, interruptedValues } from './journal/ledger-record.ts'
import type { ColumnValue } from './journal/ledger-record.ts'
import { ownPriority } from '../../platform/thread-priority.ts'
import { RefusedRowFile } from './journal/refused-rows.ts'
import { ThrottledReport } from './throttled-report.ts'
import { WriterDatabase } from './writer-database.ts'

type Row = readonly ColumnValue[]

/**
 * Rows of earlier processes in a transaction: 40 ms, for which other writers wait. Between two of them the rows of new
 * calls are stored, and others get the lock.
 */
const replayRowsMax = 2000
const replayPauseMs = 3
/** Under a load that never lets this thread catch up, earlier rows are stored this often all the same. */
const replayEveryMs = 1000
/** A backlog of at most this size, a third of a second, is waited for: queries see the calls before a restart. */
const awaitedBytesMax = 8 * 1024 * 1024
/** Journal segments (2 MiB) that may wait before the thread takes its normal priority: half a minute of one core. */
const segmentsBehindMax = 256
/** Rounds without a row after which the thread goes idle. */
const idleRoundsMax = 20
/** An idle thread gives memory of the database back after this time. */
const restAfterMs = 5000
/** How often a busy thread reports its position, and deletes what is stored, for which the database is synced. */
const progressMs = 250
/** How long a record waits for its batch at most, and how much of the journal a loss of power can take. */
const pollMs = 50
const retryMsMin = 100
/** So soon a database that is back takes rows again, and readiness says so. */
const retryMsMax = 1000

const startedAt = usualColumns.findIndex(column => column.name === 'started_at_ms')
const durationAt = usualColumns.findIndex(column => column.name === 'duration_ms')

/** What one look at the journal has brought. */
interface StoredRound {
  /** undefined = the journal cannot be read at the moment. */
  readonly rows: readonly Row[] | undefined
  /** There are more rows. */
  readonly isBehind: boolean
}

/** When the record of this row was written, milliseconds since 1970. */
function settledAtMs(row: Row): number {
  return Number(row[startedAt]) + Number(row[durationAt])
}

/** One per process. Memory: one batch, one buffer and the open calls, however long the database is down. */
export class LedgerWriter {
  readonly #settings: LedgerWriterSettings
  readonly #send: (reply: LedgerReply) => void
  /** true = with the lowest priority: calls come first, because rows in the journal are safe and can wait. */
  readonly #setPriority: ReturnType<typeof ownPriority>
  readonly #flushes = new Map<number, { readonly position: JournalPosition; readonly withReplay: boolean }>()
  /** Records that came as messages because the journal has no room; each batch is answered. */
  readonly #unjournalled: { readonly id: number; readonly texts: readonly string[] }[] = []
  /** The journal of this process; undefined before `run`. */
  #ownTail: JournalTail | undefined
  /** What earlier processes left; undefined = it is stored. */
  #replay: JournalReplay | undefined
  /** Of the last slice, and of the last report of what is left. */
  #replaySliceMs = 0
  #replayReportMs = 0
  readonly #refused: RefusedRowFile
  readonly #readReport = this.#throttled('the journal cannot be read', 'the journal can be read again')
  readonly #deleteReport = this.#throttled(
    'what is stored cannot be deleted from the journal',
    'what is stored is deleted from the journal again',
  )
  readonly #database: WriterDatabase
  #retryMs = retryMsMin
  #closing = false
  #wake = (): void => {}
  #woken = false
  #committed: JournalPosition = { sequence: 0, offset: 0 }
  /** The last report of what is committed: the position, and when it was sent. */
  #sent: { readonly position: JournalPosition; readonly ms: number } = { position: this.#committed, ms: 0 }
  /** When stored segments were last deleted. */
  #deletedMs = 0
  readonly #batchSize = new BatchSize()
  readonly maintenance = new LedgerMaintenance({
    connect: () => this.#database.connect(),
    askForRanking: day => this.#send({ kind: 'rank', day }),
    nowMs: () => performance.now(),
    epochMs: () => systemClock.epochMs(),
    failures: this.#throttled('the upkeep of the ledger fails', 'the upkeep of the ledger works again'),
  })
  readonly #sync: JournalSync
  #syncTimer: ReturnType<typeof setInterval> | undefined

  constructor(settings: LedgerWriterSettings, send: (reply: LedgerReply) => void) {
    this.#settings = settings
    this.#send = send
    this.#setPriority = ownPriority(settings.priority)
    const { directory, start } = settings
    this.#refused = new RefusedRowFile(directory, text => this.#report(text))
    this.#database = new WriterDatabase({
      ...settings,
      refused: this.#refused,
      syncFailures: this.#deleteReport,
      foldFailures: this.#throttled('sums of calls cannot be added up', 'sums of calls are added up again'),
      reportFailure: failure => this.#send({ kind: 'database', failure }),
    })
    this.#sync = new JournalSync({
      directory,
      start,
      failures: this.#throttled('the journal cannot be synced', 'the journal is synced again'),
    })
  }

  /**
   * Resolves after `close`. Follows this process's journal, and stores what earlier processes left whenever there are
   * no new rows. A journal that cannot be read is tried again; records that come by `store` reach the database
   * meanwhile.
   */
  async run(): Promise<void> {
    this.#syncTimer = this.#startSyncing()
    try {
      const { directory, start } = this.#settings
      const report = (text: string) => this.#report(text)
      const lost = (loss: JournalLoss) => this.#send({ kind: 'lost', ...loss })
      this.#ownTail = new JournalTail({ directory, start, live: true, report, lost })
      this.#replay = this.#openReplay({ directory, own: start, report, lost })
      const complete = await this.#followOwnJournal(this.#ownTail)
      this.#refuseUnjournalled()
      this.#send({ kind: 'closed', complete })
    } catch (error) {
      this.#report(`the ledger's worker cannot go on: ${String(error)}`)
      throw error
    } finally {
      clearInterval(this.#syncTimer)
      await this.#database.close()
    }
  }

  /**
   * Answered as soon as everything before `position` is committed, and a small backlog of earlier processes, or the
   * next attempt to do so fails.
   */
  flush(id: number, position: JournalPosition): void {
    const withReplay = this.#replay !== undefined && this.#replay.backlog.bytes <= awaitedBytesMax
    this.#flushes.set(id, { position, withReplay })
    this.#setPriority('usual')
    this.wake()
  }

  /**
   * Answered as soon as the rows of the records are in the database, or an attempt to bring them there failed. Intents
   * have no rows: they wait here for their settlements.
   */
  store(id: number, texts: readonly string[]): void {
    this.#unjournalled.push({ id, texts })
    this.#setPriority('usual')
    this.wake()
  }

  /** From the next upkeep on, which is due now. */
  keep(retention: LedgerRetention): void {
    this.maintenance.keep(retention)
    this.wake()
  }

  makeSpare(path: string, bytes: number): void {
    let error: string | null = null
    try {
      createSegmentFile(path, { bytes, durable: true })
    } catch (thrown) {
      error = String(thrown)
    }
    this.#send({ kind: 'spare', path, error })
  }

  /** There is something to do, as where the journal has grown since this thread reported that it is idle. */
  wake(): void {
    this.#woken = true
    this.#wake()
  }

  close(): void {
    this.#closing = true
    this.wake()
  }

  #openReplay(options: ConstructorParameters<typeof JournalReplay>[0]): JournalReplay | undefined {
    try {
      const replay = new JournalReplay(options)
      if (!replay.isDone) return replay
    } catch (error) {
      this.#report(`journals of earlier processes cannot be read and are left for the next start: ${String(error)}`)
    }
    this.#send({ kind: 'earlier', backlog: noBacklog })
    return undefined
  }

  /** One slice of what earlier processes left. */
  async #replaySlice(replay: JournalReplay): Promise<void> {
    const rows = replay.read(replayRowsMax)
    const database = rows.length > 0 ? await this.#database.connect().catch(() => undefined) : undefined
    database?.setBulk(true)
    if (rows.length > 0 && !(await this.#commit(rows))) return
    replay.committed(rows.length, this.#refused.write() && (await this.#database.isOnDisk()))
    const nowMs = performance.now()
    if (replay.isDone) {
      this.#replay = undefined
      await this.#database.connect().then(
        open => open.setBulk(false),
        () => {},
      )
    } else await this.#pause(replayPauseMs)
    if (!replay.isDone && nowMs - this.#replayReportMs < progressMs) return
    this.#replayReportMs = nowMs
    this.#send({ kind: 'earlier', backlog: replay.backlog })
  }

  /** Until `close`. true = nothing is left in the journal for the next start to store. */
  async #followOwnJournal(tail: JournalTail): Promise<boolean> {
    let idleRounds = 0
    this.#sent = { position: tail.position, ms: 0 }
    for (;;) {
      // Read first: what was appended before `close` is then read below.
      const isLast = this.#closing
      const round = await this.#storeRound(tail, isLast)
      if (round === undefined) return false
      const { rows, isBehind } = round
      await this.#deleteStored(tail, isLast)
      const replay = isLast ? undefined : this.#replay
      if (replay !== undefined && (!isBehind || performance.now() - this.#replaySliceMs > replayEveryMs)) {
        this.#replaySliceMs = performance.now()
        await this.#replaySlice(replay)
        continue
      }
      if (isBehind) continue
      if (isLast) return rows !== undefined && (await this.#leave(tail)) && this.#replay === undefined
      if (rows === undefined) this.#answerFlushes({ committed: false })
      // Also between the rows of calls that never stop, then at their pace.
      const dueInMs = rows !== undefined && this.#database.failure === null ? await this.maintenance.step() : undefined
      if (dueInMs !== undefined) {
        // New rows are looked for meanwhile.
        await this.#pause(rows!.length > 0 ? pollMs : Math.min(pollMs, Math.max(replayPauseMs, dueInMs)))
        idleRounds = 0
        continue
      }
      idleRounds = rows?.length === 0 ? idleRounds + 1 : 0
      if (idleRounds < idleRoundsMax || !this.#mayIdle(tail)) await this.#pause(pollMs)
      else {
        await this.#idle(tail.position)
        idleRounds = 0
      }
    }
  }

  /** Stores one batch of the journal. undefined = the ledger is being closed, and the database takes nothing. */
  async #storeRound(tail: JournalTail, isLast: boolean): Promise<StoredRound | undefined> {
    const before = tail.position
    const isBackground = !isLast && this.#isUnhurried(before.sequence)
    this.#setPriority(isBackground ? 'lowest' : 'usual')
    await this.#storeUnjournalled()
    const rowsMax = this.#batchSize.rowsMax(isBackground)
    const readAtMs = systemClock.epochMs()
    const rows = this.#readJournal(tail, rowsMax)
    if (!hasReached(before, tail.position)) this.#sync.changed()
    const isBehind = rows?.length === rowsMax
    if (rows !== undefined && rows.length > 0) {
      const store = () => this.#commit(rows)
      if (!(await this.#batchSize.timed(rows.length, { isBehind }, store))) return undefined
    }
    await this.#database.foldSums({ atOnce: isLast || this.#flushes.size > 0 })
    this.#committed = tail.position
    this.#answerFlushes({ committed: true })
    this.#sendProgress(tail, { isBehind, sinceMs: isBehind ? settledAtMs(rows.at(-1)!) : readAtMs })
    return { rows, isBehind }
  }

  /** Nothing waits for the rows: no flush, no record without a journal, no backlog. */
  #isUnhurried(sequence: number): boolean {
    return (
      this.#flushes.size === 0 &&
      this.#unjournalled.length === 0 &&
      this.#replay === undefined &&
      !this.#isFarBehind(sequence)
    )
  }

  /** Reports how far the rows are stored; while there are more of them only every `progressMs`. */
  #sendProgress(tail: JournalTail, { isBehind, sinceMs }: { readonly isBehind: boolean; readonly sinceMs: number }) {
    const nowMs = performance.now()
    const { position } = tail
    if (hasReached(this.#sent.position, position) || (isBehind && nowMs - this.#sent.ms <= progressMs)) return
    this.#sent = { position, ms: nowMs }
    this.#send({ kind: 'committed', position, records: tail.records ?? 0, sinceMs })
  }

  /** Deletes the segments whose rows are stored, every `progressMs` at most but at the end. */
  async #deleteStored(tail: JournalTail, isLast: boolean): Promise<void> {
    const nowMs = performance.now()
    if (!this.#refused.write() || !tail.hasFinished || !(isLast || nowMs - this.#deletedMs > progressMs)) return
    this.#deletedMs = nowMs
    await this.#deleteFinished(tail)
  }

  /** Nothing is left that has to be tried again. */
  #mayIdle(tail: JournalTail): boolean {
    return (
      this.#database.failure === null &&
      this.#refused.waitingCount === 0 &&
      !this.#database.hasPendingSums &&
      this.#sync.isDone &&
      !tail.isHeldUp &&
      !tail.hasFinished
    )
  }

  /**
   * Waits until the main thread wakes it, or for the next upkeep: an idle process uses no processor and can be paged
   * out.
   */
  async #idle(position: JournalPosition): Promise<void> {
    clearInterval(this.#syncTimer)
    this.#send({ kind: 'idle', position })
    if (!(await this.#pause(restAfterMs))) {
      await this.#database.rest()
      await this.#pause(maintenanceIntervalMs - restAfterMs)
    }
    this.#syncTimer = this.#startSyncing()
  }

  /** undefined = the journal cannot be read at the moment. */
  #readJournal(tail: JournalTail, rowsMax: number): Row[] | undefined {
    try {
      const rows = tail.read(rowsMax)
      this.#readReport.succeeded()
      return rows
    } catch (error) {
      this.#readReport.failed(error)
      return undefined
    }
  }

  /** A disk that is full must not stop rows from being stored: deletion is tried again with the next batch. */
  async #deleteFinished(tail: JournalTail): Promise<void> {
    if (!(await this.#database.isOnDisk())) return
    try {
      tail.deleteFinished()
      this.#deleteReport.succeeded()
    } catch (error) {
      this.#deleteReport.failed(error)
    }
  }

  /** At the end, when every row is committed. Calls that are still open are left to the next start. */
  async #leave(tail: JournalTail): Promise<boolean> {
    const count = this.#refused.waitingCount
    if (count > 0) {
      this.#report(`${count} rows that the database refused could not be kept; those in the journal stay there`)
      return false
    }
    // Behind a damaged record there may be whole ones: the next start does not wait for it to be completed.
    if (tail.isHeldUp) return false
    try {
      tail.saveOpenCalls()
    } catch {
      // Their list cannot be written. They end with this process, so they are stored as interrupted now.
      const rows = tail.openCalls.map(interruptedValues)
      for (let at = 0; at < rows.length; at += batchRowsMax)
        if (!(await this.#attempt(rows.slice(at, at + batchRowsMax)))) return false
    }
    if (!(await this.#database.isOnDisk())) return false
    try {
      tail.deleteLiving()
    } catch (error) {
      // They are read again at the next start, and the database has their rows already.
      this.#deleteReport.failed(error)
    }
    return true
  }

  #isFarBehind(sequence: number): boolean {
    const { directory, start } = this.#settings
    return existsSync(segmentPath(directory, { start, sequence: sequence + segmentsBehindMax }))
  }

  /**
   * Tries until the rows are in the database. false = the ledger is being closed: they stay in the journal.
   */
  async #commit(rows: readonly Row[]): Promise<boolean> {
    while (!(await this.#attempt(rows))) {
      if (this.#closing) return false
      await this.#pause(this.#retryMs)
      this.#retryMs = Math.min(this.#retryMs * 2, retryMsMax)
    }
    // They are in memory only, so they do not wait for the end of a long backlog.
    await this.#storeUnjournalled()
    return true
  }

  /** false = the database is down; flushes and records that waited for it have been answered so. */
  async #attempt(rows: readonly Row[]): Promise<boolean> {
    if (!(await this.#database.insert(rows))) {
      this.#answerFlushes({ committed: false })
      this.#refuseUnjournalled()
      await this.#database.close()
      return false
    }
    this.#retryMs = retryMsMin
    // A turn of the event loop: SQLite is synchronous, and messages must be received between two batches.
    await new Promise(resolve => setImmediate(resolve))
    return true
  }

  async #storeUnjournalled(): Promise<void> {
    for (let batch = this.#unjournalled.shift(); batch !== undefined; batch = this.#unjournalled.shift()) {
      const { id, texts } = batch
      const rows: Row[] = []
      for (const text of texts) {
        const record = decodeRecord(text)
        if (record?.kind === 'settlement') rows.push(record.values)
      }
      const stored = rows.length === 0 || ((await this.#attempt(rows)) && (await this.#database.isOnDisk()))
      if (stored) this.#ownTail?.takeStored(texts)
      this.#send({ kind: 'stored', id, stored })
    }
  }

  #refuseUnjournalled(): void {
    for (const { id } of this.#unjournalled.splice(0)) this.#send({ kind: 'stored', id, stored: false })
  }

  #answerFlushes({ committed }: { readonly committed: boolean }): void {
    for (const [id, { position, withReplay }] of this.#flushes) {
      if (committed && (!hasReached(this.#committed, position) || (withReplay && this.#replay !== undefined))) continue
      this.#flushes.delete(id)
      this.#send({ kind: 'flushed', id, committed })
    }
  }

  /** For so long, or until it is woken; returns which: true = woken. */
  async #pause(ms: number): Promise<boolean> {
    let isWoken = this.#woken
    if (!isWoken) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ms)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      isWoken = this.#woken
    }
    this.#woken = false
    this.#wake = () => {}
    return isWoken
  }

  #startSyncing(): ReturnType<typeof setInterval> {
    return setInterval(() => {
      // The reader is behind the writer, so that it does not know whether there is anything new.
      if (this.#database.failure !== null) this.#sync.changed()
      void this.#sync.run()
    }, pollMs)
  }

  #throttled(failing: string, recovered: string): ThrottledReport {
    const report = (text: string) => this.#report(text)
    return new ThrottledReport({ failing, recovered, report, nowMs: () => performance.now() })
  }

  #report(text: string): void {
    this.#send({ kind: 'problem', text })
  }
}
