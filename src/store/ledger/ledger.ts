/** The ledger as the rest of the program sees it: appends on this thread, everything slow on its own. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { GatewayError } from '../../core/errors.ts'
import type { Ledger, LedgerQuery, LedgerRow } from '../../core/ports.ts'
import type { Clock } from '../../lib/clock.ts'
import { siblingModule } from '../../lib/sibling-module.ts'
import { JournalWriter } from './journal-writer.ts'
import { hasReached, segmentBytes as usualSegmentBytes } from './journal.ts'
import type { JournalPosition } from './journal.ts'
import { ledgerStatement } from './ledger-query.ts'
import type { LedgerPage } from './ledger-query.ts'
import { encodeIntent, encodeSettlement } from './ledger-record.ts'
import type { LedgerIntent } from './ledger-record.ts'
import type { LedgerReply, LedgerRequest, LedgerWriterSettings } from './ledger-writer.ts'

interface LedgerOptions {
  /** `sqlite:PATH` or `postgres://...`; table `ledger` is there already. */
  readonly databaseUrl: string
  /** For this process alone, see `lockDataDirectory`. Made when it is not there. */
  readonly journalDirectory: string
  readonly clock: Clock
  /** What an operator should know: disk full, database down, damage found. One sentence each. */
  readonly report?: (problem: string) => void
  /** 2 MiB unless a test wants to see many segments. */
  readonly segmentBytes?: number
}

/** How long `flush` waits for the database, and `query` for its page. */
const flushTimeoutMs = 5000
const queryTimeoutMs = 15_000
/** How often a full disk or a lost worker is tried again. */
const retryMs = 1000
/** A little longer than the database has for one batch. */
const storeTimeoutMs = 16_000
/** How long `close` takes at most, and how much of it is for the worker to finish the journal. */
const closeTimeoutMs = 8000
const finishTimeoutMs = 3000

/** The ledger, and what readiness wants to know about it. */
export interface JournalledLedger extends Ledger {
  /** Why the database does not take rows; null = it does. Calls go on meanwhile: rows wait in the journal. */
  failure(): string | null
  /**
   * Bytes of journal and memory that are not in the database yet, as far as is known: the news is a quarter of a
   * second old.
   */
  waitingBytes(): number
  /** Records (a call has two) that neither journal nor database nor memory could take, since the start. */
  lostRecords(): number
}

/**
 * Opens the journal and replays, in the background, what earlier processes left. A database that is down does
 * not throw: rows wait in the journal. Throws when the directory cannot be made.
 */
export async function openLedger(options: LedgerOptions): Promise<JournalledLedger> {
  mkdirSync(options.journalDirectory, { recursive: true, mode: 0o700 })
  return new WorkerLedger(options)
}

class WorkerLedger implements JournalledLedger {
  readonly #settings: LedgerWriterSettings
  readonly #segmentBytes: number
  readonly #report: (problem: string) => void
  readonly #journal: JournalWriter
  readonly #retryTimer: ReturnType<typeof setInterval>
  readonly #answers = new Map<number, (reply: LedgerReply | undefined) => void>()
  #worker: Worker
  #workerLives = true
  /** Where the worker stopped looking at the journal until it is woken. */
  #restsAt: JournalPosition | undefined
  #asked = 0
  #closed = false
  #closing: Promise<void> | undefined
  #handing: Promise<void> | undefined
  #failure: string | null = null
  #committed: JournalPosition | undefined

  constructor(options: LedgerOptions) {
    const moment = String(Math.trunc(options.clock.epochMs())).padStart(13, '0')
    const start = `${moment}-${process.pid}-${randomBytes(4).toString('hex')}`
    this.#settings = { databaseUrl: options.databaseUrl, directory: options.journalDirectory, start }
    this.#segmentBytes = options.segmentBytes ?? usualSegmentBytes
    this.#report = options.report ?? (() => {})
    this.#worker = this.#startWorker()
    this.#journal = new JournalWriter({
      directory: options.journalDirectory,
      start,
      segmentBytes: this.#segmentBytes,
      askForSpare: path => this.#post({ kind: 'spare', path, bytes: this.#segmentBytes }),
      waitingBegins: () => void this.#handOver(),
      report: this.#report,
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

  waitingBytes(): number {
    const written = this.#journal.position
    const committed = this.#committed ?? { sequence: written.sequence, offset: 0 }
    const segments = (written.sequence - committed.sequence) * this.#segmentBytes
    return Math.max(segments + written.offset - committed.offset, 0) + this.#journal.waitingLength
  }

  lostRecords(): number {
    return this.#journal.lostRecords
  }

  begin(intent: LedgerIntent): void {
    this.#append(encodeIntent(intent))
  }

  settle(row: LedgerRow): void {
    this.#append(encodeSettlement(row))
  }

  #append(text: string): void {
    if (this.#closed) return
    this.#journal.append(text)
    if (this.#restsAt !== undefined) this.#wakeWorker()
  }

  #wakeWorker(): void {
    this.#restsAt = undefined
    this.#post({ kind: 'wake' })
  }

  /** What it has not seen: appended while it said so, or brought to the journal later by `check`. */
  #wakeIfBehind(): void {
    if (this.#restsAt !== undefined && !hasReached(this.#restsAt, this.#journal.position)) this.#wakeWorker()
  }

  /** Resolves, after 5 s at the latest, also when the database is down. */
  async flush(): Promise<void> {
    await this.#flushed()
  }

  /** Throws `invalid-request` on a foreign cursor, `overloaded` while the database is down. */
  async query(query: LedgerQuery): Promise<LedgerPage> {
    // Here for its error: a foreign cursor is the client's fault, whatever the database does.
    ledgerStatement(query)
    await this.#flushed()
    const reply = await this.#ask(id => ({ kind: 'query', id, query }), queryTimeoutMs)
    if (reply?.kind === 'page' && reply.page !== null) return reply.page
    throw new GatewayError('overloaded', 'the ledger cannot be read at the moment', {
      cause: reply?.kind === 'page' ? reply.error : 'no answer from its worker',
    })
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /** What waits in memory comes first: nothing else holds it. The next start reads what is left in the journal. */
  async #close(): Promise<void> {
    clearInterval(this.#retryTimer)
    this.#reviveWorker()
    this.#journal.check()
    const startMs = performance.now()
    const leftMs = () => closeTimeoutMs - (performance.now() - startMs)
    await this.#handedOver(leftMs() - finishTimeoutMs)
    // Once more: an attempt that was under way may just have failed.
    this.#reviveWorker()
    if (this.#journal.waiting) await this.#handedOver(leftMs() - finishTimeoutMs)
    this.#closed = true
    const reply = await this.#ask(() => ({ kind: 'close' }), leftMs())
    this.#workerLives = false
    this.#worker.terminate()
    for (const answer of [...this.#answers.values()]) answer(undefined)
    this.#reportEnd(reply?.kind === 'closed' && reply.complete)
  }

  #reportEnd(complete: boolean): void {
    const lost = this.#journal.giveUp()
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
    if (this.#journal.waiting) await this.#handedOver(flushTimeoutMs)
    const { position, waiting } = this.#journal
    const leftMs = flushTimeoutMs - (performance.now() - startMs)
    const reply = await this.#ask(id => ({ kind: 'flush', id, position }), leftMs)
    return reply?.kind === 'flushed' && reply.committed && !waiting
  }

  /** Brings what waits in memory to the database, until nothing waits or the database takes no more. */
  #handOver(): Promise<void> {
    return (this.#handing ??= this.#handAll().finally(() => (this.#handing = undefined)))
  }

  async #handAll(): Promise<void> {
    for (let stored = true; stored && this.#journal.waiting; ) {
      const texts = this.#journal.hand()
      const reply = await this.#ask(id => ({ kind: 'rows', id, texts }), storeTimeoutMs)
      stored = reply?.kind === 'stored' && reply.stored
      this.#journal.handed(stored)
    }
  }

  async #handedOver(timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, timeoutMs)
    await Promise.race([this.#handOver(), late.promise])
    clearTimeout(timer)
  }

  /** undefined = no answer in time, or no worker to give one. The timer also keeps the process alive, which the worker does not. */
  #ask(request: (id: number) => LedgerRequest, timeoutMs: number): Promise<LedgerReply | undefined> {
    if (!this.#workerLives) return Promise.resolve(undefined)
    const id = ++this.#asked
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
    const worker = new Worker(siblingModule('ledger-worker', import.meta.url), { smol: true })
    worker.onmessage = ({ data }: MessageEvent<LedgerReply>) => this.#hear(data)
    worker.onerror = event => this.#report(`the ledger's worker failed: ${event.message}`)
    worker.addEventListener('close', () => {
      if (this.#worker !== worker) return
      this.#workerLives = false
      for (const answer of [...this.#answers.values()]) answer(undefined)
    })
    // The DOM's type of Worker, which the checker takes, does not know Bun's `unref`.
    ;(worker as Worker & { unref(): void }).unref()
    worker.postMessage({ kind: 'open', settings: this.#settings } satisfies LedgerRequest)
    return worker
  }

  #hear(reply: LedgerReply): void {
    switch (reply.kind) {
      case 'spare':
        if (this.#closed) return
        if (reply.error === null) this.#journal.spareMade(reply.path)
        else this.#journal.spareFailed(reply.error)
        return
      case 'flushed':
      case 'stored':
      case 'page':
        return this.#answers.get(reply.id)?.(reply)
      case 'committed':
        this.#committed = reply.position
        return this.#journal.committed(reply.position)
      case 'resting':
        this.#restsAt = reply.position
        return this.#wakeIfBehind()
      case 'database':
        this.#failure = reply.failure
        if (reply.failure === null && this.#journal.waiting) void this.#handOver()
        return this.#report(
          reply.failure === null
            ? "the ledger's database takes rows again"
            : `the ledger's database does not take rows, they wait in the journal: ${reply.failure}`,
        )
      case 'problem':
        return this.#report(reply.text)
      case 'closed':
        for (const answer of [...this.#answers.values()]) answer(reply)
    }
  }

  #retry(): void {
    this.#reviveWorker()
    this.#journal.check()
    if (this.#journal.waiting) void this.#handOver()
    this.#wakeIfBehind()
  }

  /** A new worker starts with the oldest segment that is left; rows that are stored already stay as they are. */
  #reviveWorker(): void {
    if (this.#workerLives) return
    this.#workerLives = true
    this.#restsAt = undefined
    this.#worker = this.#startWorker()
    this.#journal.spareFailed('the worker that makes segments ended')
  }

  #post(request: LedgerRequest): void {
    this.#worker.postMessage(request)
  }
}
