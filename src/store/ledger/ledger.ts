/** The ledger: appends to the journal on the main thread, and a worker thread that stores the rows. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import type { CallHistogram } from '../../core/ledger/call-histogram.ts'
import type { LedgerIntent, LedgerRow } from '../../core/ledger/ledger-columns.ts'
import type {
  HistogramQuery,
  Ledger,
  LedgerQuery,
  RecentSpend,
  RecentSpendQuery,
  SessionList,
  SessionQuery,
  ShownPage,
  ShownQuery,
} from '../../core/ledger/ledger.ts'
import type { LatencyGroup, LatencyQuery } from '../../core/ledger/latency.ts'
import type {
  TopSpenders,
  TopSpendersQuery,
  LedgerRetention,
  UsageGroup,
  UsageQuery,
} from '../../core/ledger/usage-report.ts'
import type { Clock } from '../../lib/clock.ts'
import type { OpenedFile } from '../../platform/sqlite-file-guard.ts'
import { sharedTurns, writesInBackground } from '../database/write-turns.ts'
import { workerUrl } from '../../lib/program-files.ts'
import { raised, sharedPriority } from '../../platform/thread-priority.ts'
import { noBacklog, sumOf } from './journal/journal-backlog.ts'
import type { Backlog } from './journal/journal-backlog.ts'
import { earlierBacklog } from './journal/journal-replay.ts'
import { JournalWriter } from './journal/journal-writer.ts'
import { hasReached, segmentBytes as usualSegmentBytes } from './journal/journal.ts'
import { firstRecordAt } from './journal/segment-header.ts'
import type { JournalPosition } from './journal/journal.ts'
import { ledgerStatement } from './reads/ledger-query.ts'
import type { LedgerPage } from './reads/ledger-query.ts'
import { LedgerReader } from './reads/ledger-reader.ts'
import type { ReadAnswer, ReadQuery } from './reads/ledger-reads.ts'
import { encodeIntent, encodeSettlement } from './journal/ledger-record.ts'
import type { LedgerReply, LedgerRequest, LedgerWriterSettings } from './ledger-messages.ts'

interface LedgerOptions {
  /** `sqlite:PATH` or `postgres://...`; table `ledger` is there already. */
  readonly databaseUrl: string
  /** The SQLite file that this thread has open; the worker must not take another one for it. */
  readonly openedFile?: (() => OpenedFile | undefined) | undefined
  /** Used by this process alone, see `lockDataDirectory`. Created when it is not there. */
  readonly journalDirectory: string
  readonly clock: Clock
  /** Read every second; absent = everything is kept for ever. */
  readonly retention?: (() => LedgerRetention) | undefined
  /** The database is known to answer nothing at all: what reads is refused at once. Absent = it is never. */
  readonly isSilent?: (() => boolean) | undefined
  /** For the operator's log: disk full, database down, damage found. One sentence each. */
  readonly report?: (problem: string) => void
  /** For the log: what earlier processes left, at the start and when it is stored. */
  readonly note?: (text: string, backlog: Backlog) => void
  /** Called with each row once it is in the journal. */
  readonly settled?: (row: LedgerRow) => void
  /** Of a file of the journal; absent = 2 MiB. */
  readonly segmentBytes?: number
}

/** How long `flush` waits for the database. */
const flushTimeoutMs = 5000
/** How often a full disk is tried again and a dead worker replaced. */
const retryMs = 1000
/** A little longer than the worker waits for the database. */
const storeTimeoutMs = 16_000
/** How long `close` takes at most, and how much of that is for the worker to finish the journal. */
const closeTimeoutMs = 8000
const finishTimeoutMs = 3000

/** The ledger, and its state for readiness and metrics. */
export interface JournalledLedger extends Ledger {
  /** Why the database does not take rows; null = it does. Calls go on meanwhile: rows wait in the journal. */
  failure(): string | null
  /**
   * What is in the journal of this process, in its memory, or in journals of earlier ones, and not in the database yet,
   * as the worker reported at most a quarter of a second ago.
   */
  backlog(): Backlog
  /**
   * Records (a call has two) that are in no database and never will be, since the start: nothing had room for them, or
   * the part of the journal that held them is damaged or missing. Those of a missing end are not known.
   */
  lostRecords(): number
  /** Everything that earlier processes left in the directory is in the database. */
  readonly isReplayed: boolean
  /** Segments of journals that were removed before they were stored, noticed since the start. */
  missingSegments(): number
}

/**
 * Opens the journal and stores, in the background, what earlier processes left in theirs. A database that is down does
 * not throw: rows wait in the journal. Throws when the directory cannot be created.
 */
export async function openLedger(options: LedgerOptions): Promise<JournalledLedger> {
  mkdirSync(options.journalDirectory, { recursive: true, mode: 0o700 })
  return new WorkerLedger(options)
}

class WorkerLedger implements JournalledLedger {
  readonly #settings: LedgerWriterSettings
  readonly #leaveTurns: () => void
  readonly #openedFile: NonNullable<LedgerOptions['openedFile']>
  readonly #segmentBytes: number
  readonly #report: (problem: string) => void
  readonly #journal: JournalWriter
  readonly #reader: LedgerReader
  readonly #retryTimer: ReturnType<typeof setInterval>
  readonly #answers = new Map<number, (reply: LedgerReply | undefined) => void>()
  #worker: Worker
  #workerLives = true
  /** How far the worker has read while it is idle; undefined = it is not idle. */
  #idleAt: JournalPosition | undefined
  #lastRequestId = 0
  #closed = false
  #closing: Promise<void> | undefined
  #storing: Promise<void> | undefined
  #failure: string | null = null
  #committed: JournalPosition = { sequence: 1, offset: firstRecordAt }
  #committedRecords = 0
  /** No record that waits is older, milliseconds since 1970. */
  #waitingSinceMs: number
  #earlier: Backlog
  readonly #epochMs: () => number
  readonly #retention: LedgerOptions['retention']
  #sentRetention: LedgerRetention | undefined
  readonly #note: NonNullable<LedgerOptions['note']>
  readonly #settled: NonNullable<LedgerOptions['settled']>
  #missingSegments = 0
  /** In the journals, see `lostRecords`. */
  #lostInJournals = 0

  constructor(options: LedgerOptions) {
    const moment = String(Math.trunc(options.clock.epochMs())).padStart(13, '0')
    const start = `${moment}-${process.pid}-${randomBytes(4).toString('hex')}`
    this.#settings = {
      databaseUrl: options.databaseUrl,
      directory: options.journalDirectory,
      start,
      priority: sharedPriority(),
      turns: sharedTurns(),
    }
    this.#leaveTurns = writesInBackground(this.#settings.priority)
    this.#openedFile = options.openedFile ?? (() => undefined)
    this.#segmentBytes = options.segmentBytes ?? usualSegmentBytes
    this.#retention = options.retention
    this.#report = options.report ?? (() => {})
    this.#note = options.note ?? (() => {})
    this.#settled = options.settled ?? (() => {})
    this.#epochMs = () => options.clock.epochMs()
    this.#waitingSinceMs = this.#epochMs()
    this.#earlier = earlierBacklog(options.journalDirectory, start)
    if (this.#earlier.bytes > 0)
      this.#note('rows that earlier processes left in the journal are being stored', this.#earlier)
    this.#reader = new LedgerReader({
      settings: () => ({ databaseUrl: options.databaseUrl, openedFile: this.#openedFile() }),
      report: this.#report,
      isSilent: options.isSilent ?? (() => false),
    })
    this.#worker = this.#startWorker()
    this.#journal = new JournalWriter({
      directory: options.journalDirectory,
      start,
      segmentBytes: this.#segmentBytes,
      askForSpare: path => this.#post({ kind: 'spare', path, bytes: this.#segmentBytes }),
      waitingBegins: () => void this.#storeWaiting(),
      report: this.#report,
      epochMs: this.#epochMs,
    })
    this.#retryTimer = setInterval(() => this.#retry(), retryMs)
    this.#retryTimer.unref()
  }

  get healthy(): boolean {
    return this.#journal.healthy
  }

  failure(): string | null {
    return this.#failure
  }

  backlog(): Backlog {
    const written = this.#journal.position
    const committed = this.#committed
    const segments = (written.sequence - committed.sequence) * this.#segmentBytes
    const bytes = Math.max(segments + written.offset - committed.offset, 0) + this.#journal.waitingLength
    const inJournal = bytes > 0 ? Math.max(this.#journal.records - this.#committedRecords, 0) : 0
    const records = inJournal + this.#journal.waitingRecords
    const isEmpty = hasReached(committed, written) && records === 0
    return sumOf(isEmpty ? noBacklog : { bytes, records, sinceMs: this.#waitingSinceMs }, this.#earlier)
  }

  lostRecords(): number {
    return this.#journal.lostRecords + this.#lostInJournals
  }

  missingSegments(): number {
    return this.#missingSegments
  }

  begin(intent: LedgerIntent): void {
    this.#append(encodeIntent(intent))
  }

  settle(row: LedgerRow): void {
    this.#append(encodeSettlement(row))
    this.#settled(row)
  }

  #append(text: string): void {
    if (this.#closed) return
    this.#journal.append(text)
    if (this.#idleAt !== undefined) this.#wakeWorker()
  }

  #wakeWorker(): void {
    this.#idleAt = undefined
    this.#waitingSinceMs = this.#epochMs()
    this.#post({ kind: 'wake' })
  }

  /** For records that were appended while its message was on the way, or later by `check`. */
  #wakeIfBehind(): void {
    if (this.#idleAt !== undefined && !hasReached(this.#idleAt, this.#journal.position)) this.#wakeWorker()
  }

  /** Resolves, after 5 s at the latest, also when the database is down. */
  flush(): Promise<boolean> {
    return this.#flushed()
  }

  get isReplayed(): boolean {
    return this.#earlier.bytes === 0
  }

  /** Throws `invalid-request` on a foreign cursor, `overloaded` while the database is down. */
  query(query: LedgerQuery): Promise<LedgerPage> {
    return this.#page('page', query)
  }

  shown(query: ShownQuery): Promise<ShownPage> {
    return this.#page('shown', query)
  }

  async #page<Kind extends 'page' | 'shown'>(kind: Kind, query: ShownQuery): Promise<ReadAnswer<Kind>> {
    // Here for its error: a foreign cursor is the client's error also while the database is down.
    ledgerStatement(query)
    await this.#flushedToRead()
    return this.#reader.ask(kind, query as ReadQuery<Kind>)
  }

  /** Throws `overloaded` while the database is down. */
  async histogram(query: HistogramQuery): Promise<CallHistogram> {
    await this.#flushedToRead()
    return this.#reader.ask('histogram', query)
  }

  /** Throws `overloaded` while the database is down. */
  async recentSpend(query: RecentSpendQuery): Promise<RecentSpend> {
    return this.#reader.ask('recentSpend', query)
  }

  /** Throws `overloaded` while the database is down. */
  async sessions(query: SessionQuery): Promise<SessionList> {
    await this.#flushedToRead()
    return this.#reader.ask('sessions', query)
  }

  /** Throws `overloaded` while the database is down. */
  async usage(query: UsageQuery): Promise<UsageGroup[]> {
    await this.#flushedToRead()
    return this.#reader.ask('usage', query)
  }

  async topSpenders(query: TopSpendersQuery): Promise<TopSpenders | null> {
    return this.#reader.ask('topSpenders', query)
  }

  /** Throws `overloaded` while the database is down. */
  async latency(query: LatencyQuery): Promise<LatencyGroup[]> {
    return this.#reader.ask('latency', query)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /** Stores what waits in memory first, because it is nowhere else. The next start stores the rest of the journal. */
  async #close(): Promise<void> {
    clearInterval(this.#retryTimer)
    this.#reviveWorker()
    this.#journal.check()
    const startMs = performance.now()
    const leftMs = () => closeTimeoutMs - (performance.now() - startMs)
    await this.#storeWaitingWithin(leftMs() - finishTimeoutMs)
    // Once more: an attempt that was running may have failed.
    this.#reviveWorker()
    if (this.#journal.waiting) await this.#storeWaitingWithin(leftMs() - finishTimeoutMs)
    this.#closed = true
    await this.#reader.close()
    const reply = await this.#ask(() => ({ kind: 'close' }), leftMs())
    this.#workerLives = false
    this.#worker.terminate()
    this.#leaveTurns()
    for (const answer of [...this.#answers.values()]) answer(undefined)
    this.#reportEnd(reply?.kind === 'closed' && reply.complete)
  }

  #reportEnd(complete: boolean): void {
    const lost = this.#journal.abandonWaiting()
    const inTotal = this.#journal.lostRecords
    if (lost > 0)
      this.#report(
        `the ledger is closed with ${lost} records in memory that neither journal nor database took: they are lost` +
          (inTotal > lost ? `, ${inTotal} since the start` : ''),
      )
    if (complete) return
    const when = this.#failure === null ? 'before all rows were in its database' : 'while its database is down'
    this.#report(`the ledger is closed ${when}: the journal keeps the rows for the next start`)
  }

  /** false = the database is down, the disk full or the time up. */
  async #flushed(): Promise<boolean> {
    const startMs = performance.now()
    if (this.#journal.waiting) await this.#storeWaitingWithin(flushTimeoutMs)
    const { position, waiting } = this.#journal
    const leftMs = flushTimeoutMs - (performance.now() - startMs)
    const lower = raised(this.#settings.priority)
    const reply = await this.#ask(id => ({ kind: 'flush', id, position }), leftMs).finally(lower)
    return reply?.kind === 'flushed' && reply.committed && !waiting
  }

  /** Rows of calls that have ended are among the answers then, where the database takes them. Throws `overloaded`. */
  async #flushedToRead(): Promise<void> {
    this.#reader.refuseSilent()
    await this.#flushed()
  }

  /** Stores what waits in memory in the database, until nothing waits or the database refuses. */
  #storeWaiting(): Promise<void> {
    return (this.#storing ??= this.#storeAllWaiting().finally(() => (this.#storing = undefined)))
  }

  async #storeAllWaiting(): Promise<void> {
    for (let stored = true; stored && this.#journal.waiting; ) {
      const texts = this.#journal.nextWaiting()
      const reply = await this.#ask(id => ({ kind: 'rows', id, texts }), storeTimeoutMs)
      stored = reply?.kind === 'stored' && reply.stored
      this.#journal.acknowledgeWaiting(stored)
    }
  }

  async #storeWaitingWithin(timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, timeoutMs)
    await Promise.race([this.#storeWaiting(), late.promise])
    clearTimeout(timer)
  }

  /** undefined = no answer in time, or no worker. The timer keeps the process alive, which the worker does not. */
  #ask(request: (id: number) => LedgerRequest, timeoutMs: number): Promise<LedgerReply | undefined> {
    if (!this.#workerLives) return Promise.resolve(undefined)
    const id = ++this.#lastRequestId
    return new Promise(resolve => {
      const answer = (reply: LedgerReply | undefined) => {
        clearTimeout(timer)
        this.#answers.delete(id)
        resolve(reply)
      }
      const timer = setTimeout(() => answer(undefined), timeoutMs)
      this.#answers.set(id, answer)
      this.#post(request(id))
    })
  }

  #startWorker(): Worker {
    // `smol`: 7 MiB of memory instead of 11.
    const worker = new Worker(workerUrl('ledger-worker', import.meta.url), { smol: true })
    worker.onmessage = ({ data }: MessageEvent<LedgerReply>) => this.#receive(data)
    worker.onerror = event => this.#report(`the ledger's worker failed: ${event.message}`)
    worker.addEventListener('close', () => {
      if (this.#worker !== worker) return
      this.#workerLives = false
      for (const answer of [...this.#answers.values()]) answer(undefined)
    })
    // The DOM's type of Worker does not have Bun's `unref`.
    ;(worker as Worker & { unref(): void }).unref()
    const settings = { ...this.#settings, openedFile: this.#openedFile() }
    worker.postMessage({ kind: 'open', settings } satisfies LedgerRequest)
    return worker
  }

  #receive(reply: LedgerReply): void {
    switch (reply.kind) {
      case 'spare':
        if (this.#closed) return
        if (reply.error === null) this.#journal.spareMade(reply.path)
        else this.#journal.spareFailed(reply.error)
        return
      case 'flushed':
      case 'stored':
        return this.#answers.get(reply.id)?.(reply)
      case 'committed':
        this.#committed = reply.position
        this.#committedRecords = reply.records
        this.#waitingSinceMs = hasReached(reply.position, this.#journal.position) ? this.#epochMs() : reply.sinceMs
        return this.#journal.committed(reply.position)
      case 'earlier':
        return this.#setEarlier(reply.backlog)
      case 'lost':
        this.#missingSegments += reply.segments
        this.#lostInJournals += reply.records
        return
      case 'idle':
        this.#idleAt = reply.position
        return this.#wakeIfBehind()
      case 'database':
        this.#failure = reply.failure
        if (reply.failure === null && this.#journal.waiting) void this.#storeWaiting()
        return this.#report(
          reply.failure === null
            ? "the ledger's database takes rows again"
            : `the ledger's database does not take rows, they wait in the journal: ${reply.failure}`,
        )
      case 'rank':
        return void this.#rank(reply.day)
      case 'problem':
        return this.#report(reply.text)
      case 'closed':
        for (const answer of [...this.#answers.values()]) answer(reply)
    }
  }

  async #rank(day: number): Promise<void> {
    const ranking = await this.#reader.ranking(day)
    if (this.#workerLives) this.#post({ kind: 'ranked', day, ranking })
  }

  #setEarlier(backlog: Backlog): void {
    if (this.#earlier.bytes > 0 && backlog.bytes === 0) this.#note('all rows of earlier processes are stored', backlog)
    this.#earlier = backlog
  }

  #retry(): void {
    this.#sendRetention()
    this.#reviveWorker()
    this.#journal.check()
    if (this.#journal.waiting) void this.#storeWaiting()
    this.#wakeIfBehind()
  }

  #sendRetention(): void {
    const retention = this.#retention?.()
    if (retention === undefined || Bun.deepEquals(retention, this.#sentRetention) || !this.#workerLives) return
    this.#sentRetention = retention
    this.#post({ kind: 'retention', retention })
  }

  /** A new worker starts with the oldest segment that is left; rows that are stored already stay unchanged. */
  #reviveWorker(): void {
    if (this.#workerLives) return
    this.#workerLives = true
    this.#idleAt = undefined
    this.#sentRetention = undefined
    this.#worker = this.#startWorker()
    this.#journal.spareFailed('the worker that makes segments ended')
  }

  #post(request: LedgerRequest): void {
    this.#worker.postMessage(request)
  }
}
