/** The ledger as the rest of the program sees it: appends on this thread, everything slow on its own. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { GatewayError } from '../core/errors.ts'
import type { Ledger, LedgerQuery, LedgerRow } from '../core/ports.ts'
import type { Clock } from '../lib/clock.ts'
import { JournalWriter } from './journal-writer.ts'
import { segmentBytes as usualSegmentBytes } from './journal.ts'
import type { JournalPosition } from './journal.ts'
import { ledgerStatement } from './ledger-query.ts'
import type { LedgerPage } from './ledger-query.ts'
import { encodeIntent, encodeSettlement } from './ledger-record.ts'
import type { LedgerIntent } from './ledger-record.ts'
import type { LedgerReply, LedgerRequest, LedgerWriterSettings } from './ledger-writer.ts'

export interface LedgerOptions {
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

/** The ledger, and what readiness wants to know about it. */
export interface JournalledLedger extends Ledger {
  /** Why the database does not take rows; null = it does. Calls go on meanwhile: rows wait in the journal. */
  failure(): string | null
  /** Bytes of the journal that are not in the database yet, as far as is known: the news is a quarter of a second old. */
  waitingBytes(): number
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
  #asked = 0
  #closed = false
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
    return Math.max((written.sequence - committed.sequence) * this.#segmentBytes + written.offset - committed.offset, 0)
  }

  begin(intent: LedgerIntent): void {
    if (!this.#closed) this.#journal.append(encodeIntent(intent))
  }

  settle(row: LedgerRow): void {
    if (!this.#closed) this.#journal.append(encodeSettlement(row))
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

  async close(): Promise<void> {
    if (this.#closed) return
    const committed = await this.#flushed()
    this.#closed = true
    clearInterval(this.#retryTimer)
    if (this.#journal.waiting)
      this.#report('the ledger is closed while its disk is full: some records are lost')
    else if (!committed)
      this.#report('the ledger is closed while its database is down: the journal keeps the rows')
    await this.#ask(() => ({ kind: 'close' }), flushTimeoutMs)
    this.#workerLives = false
    this.#worker.terminate()
  }

  /** false = the database is down, the disk full or the time up. */
  async #flushed(): Promise<boolean> {
    const { position, waiting } = this.#journal
    const reply = await this.#ask(id => ({ kind: 'flush', id, position }), flushTimeoutMs)
    return reply?.kind === 'flushed' && reply.committed && !waiting
  }

  /** undefined = no answer in time. The timer also keeps the process alive, which the worker does not. */
  #ask(request: (id: number) => LedgerRequest, timeoutMs: number): Promise<LedgerReply | undefined> {
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
    const worker = new Worker(new URL('./ledger-worker.ts', import.meta.url), { smol: true })
    worker.onmessage = ({ data }: MessageEvent<LedgerReply>) => this.#hear(data)
    worker.onerror = event => this.#report(`the ledger's worker failed: ${event.message}`)
    worker.addEventListener('close', () => {
      if (this.#worker === worker) this.#workerLives = false
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
      case 'page':
        return this.#answers.get(reply.id)?.(reply)
      case 'committed':
        this.#committed = reply.position
        return
      case 'database':
        this.#failure = reply.failure
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
    if (!this.#workerLives) {
      // A new worker starts with the oldest segment that is left; rows that are stored already stay as they
      // are.
      this.#workerLives = true
      this.#worker = this.#startWorker()
      this.#journal.spareFailed('the worker that makes segments ended')
    }
    if (!this.#journal.healthy) this.#journal.askForSpare()
  }

  #post(request: LedgerRequest): void {
    this.#worker.postMessage(request)
  }
}
