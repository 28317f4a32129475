/**
 * The ledger's worker, without the thread: reads the journal and writes the database, whatever happens to it.
 */
import { appendFileSync, close, existsSync, fdatasync, fsync, open, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { LedgerQuery } from '../core/ports.ts'
import { JournalTail } from './journal-tail.ts'
import { createSegmentFile, hasReached, listSegments, segmentPath } from './journal.ts'
import type { JournalPosition } from './journal.ts'
import { openLedgerDatabase, RefusedRows } from './ledger-database.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import { ledgerStatement, readLedger } from './ledger-query.ts'
import type { LedgerPage } from './ledger-query.ts'
import { interruptedRow } from './ledger-record.ts'
import type { ColumnValue } from './ledger-record.ts'
import { ownPriority } from './thread-priority.ts'

/** What the main thread asks for. No row is ever written this way: rows come by the journal. */
export type LedgerRequest =
  | { readonly kind: 'open'; readonly settings: LedgerWriterSettings }
  | { readonly kind: 'spare'; readonly path: string; readonly bytes: number }
  | { readonly kind: 'flush'; readonly id: number; readonly position: JournalPosition }
  | { readonly kind: 'query'; readonly id: number; readonly query: LedgerQuery }
  | { readonly kind: 'close' }

/** What the worker says: answers by id, and news. */
export type LedgerReply =
  | { readonly kind: 'spare'; readonly path: string; readonly error: string | null }
  /** `committed: false` = the database is down. */
  | { readonly kind: 'flushed'; readonly id: number; readonly committed: boolean }
  /** Every row before it is in the database. Sent now and then while there is work, and when there is none left. */
  | { readonly kind: 'committed'; readonly position: JournalPosition }
  | { readonly kind: 'page'; readonly id: number; readonly page: LedgerPage | null; readonly error: string }
  | { readonly kind: 'problem'; readonly text: string }
  /** Why the database does not take rows; null = it does. Sent when it changes. */
  | { readonly kind: 'database'; readonly failure: string | null }
  | { readonly kind: 'closed' }

/** Where the journal is and where its rows go. */
export interface LedgerWriterSettings {
  readonly databaseUrl: string
  readonly directory: string
  /** Names this start of this process, see `SegmentName`. */
  readonly start: string
}

type Row = readonly ColumnValue[]

const batchRowsMax = 500
/** While the thread steps back: a transaction that waits for the processor holds up the other writers. */
const politeBatchRows = 100
/** Journal segments (2 MiB) that may wait before the thread stops being polite: half a minute of what one core can serve. */
const segmentsBehindMax = 256
/** A quiet thread gives its garbage back once. */
const quietRounds = 20
/** How often a busy thread says how far it is. */
const tellMs = 250
/** How long a record may wait for its batch, and how much of the journal power loss may take. */
const pollMs = 50
const retryMsMin = 100
const retryMsMax = 5000

const openFile = promisify(open)
const closeFile = promisify(close)
const syncData = promisify(fdatasync)
const syncFile = promisify(fsync)

/** One per process. Memory: one batch, one buffer and the open calls, however long the database is down. */
export class LedgerWriter {
  readonly #settings: LedgerWriterSettings
  readonly #send: (reply: LedgerReply) => void
  /** Traffic comes first: rows are safe in the journal and can wait. */
  readonly #stepBack = ownPriority()
  readonly #flushes = new Map<number, JournalPosition>()
  #database: Promise<LedgerDatabase> | undefined
  #down = false
  #retryMs = retryMsMin
  #closing = false
  #wake = (): void => {}
  #woken = false
  #committed: JournalPosition = { sequence: 0, offset: 0 }
  /** New data since the last sync, or so far behind that nobody knows. */
  #unsynced = true
  #syncFrom = 1
  #syncing = false

  constructor(settings: LedgerWriterSettings, send: (reply: LedgerReply) => void) {
    this.#settings = settings
    this.#send = send
  }

  /**
   * Until `close`: first what dead processes left, then this process's journal. Throws when it cannot be
   * read.
   */
  async run(): Promise<void> {
    const syncTimer = setInterval(() => void this.#sync(), pollMs)
    try {
      await this.#replayTheDead()
      await this.#followTheLiving()
      this.#send({ kind: 'closed' })
    } catch (error) {
      this.#problem(`the ledger's worker cannot read the journal: ${String(error)}`)
      throw error
    } finally {
      clearInterval(syncTimer)
      await this.#disconnect()
    }
  }

  /** Answered as soon as everything before `position` is committed, or the next attempt to do so fails. */
  flush(id: number, position: JournalPosition): void {
    this.#flushes.set(id, position)
    this.#stepBack(false)
    this.#poke()
  }

  async query(id: number, query: LedgerQuery): Promise<void> {
    const read = async () => readLedger(await this.#connect(), ledgerStatement(query))
    try {
      // Once more on a new connection: those of before a restart of the database fail one query each.
      const page = await read().catch(() => this.#disconnect().then(read))
      this.#send({ kind: 'page', id, page, error: '' })
    } catch (error) {
      this.#send({ kind: 'page', id, page: null, error: String(error) })
    }
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

  close(): void {
    this.#closing = true
    this.#poke()
  }

  async #replayTheDead(): Promise<void> {
    const { directory, start: own } = this.#settings
    const starts = new Set<string>()
    for (const file of readdirSync(directory).sort()) {
      const start = /^(\d{13,}-[\w-]+)\.(?:\d{8,}\.journal|open\.json)$/.exec(file)?.[1]
      if (start !== undefined && start !== own) starts.add(start)
      else if (file.endsWith('.tmp') && !file.startsWith(`${own}.`))
        rmSync(join(directory, file), { force: true })
    }
    for (const start of starts) {
      try {
        await this.#replay(start)
      } catch (error) {
        // One unreadable file must not keep the ledger from being written.
        this.#problem(`the journal of process ${start} cannot be replayed and is left: ${String(error)}`)
      }
    }
  }

  async #replay(start: string): Promise<void> {
    const { directory } = this.#settings
    const tail = new JournalTail({ directory, start, live: false, report: text => this.#problem(text) })
    for (let rows = tail.read(batchRowsMax); rows.length > 0; rows = tail.read(batchRowsMax))
      if (!(await this.#commit(rows))) return
    const interrupted = tail.openCalls.map(interruptedRow)
    for (let at = 0; at < interrupted.length; at += batchRowsMax)
      if (!(await this.#commit(interrupted.slice(at, at + batchRowsMax)))) return
    tail.deleteAll()
  }

  async #followTheLiving(): Promise<void> {
    const { directory, start } = this.#settings
    const tail = new JournalTail({ directory, start, live: true, report: text => this.#problem(text) })
    let idleRounds = 0
    let told = { position: tail.position, ms: 0 }
    for (;;) {
      // Asked before reading: what was appended before `close` was called is read below.
      const last = this.#closing
      const before = tail.position
      const isPolite = !last && this.#flushes.size === 0 && !this.#isFarBehind(before.sequence)
      this.#stepBack(isPolite)
      const rowsMax = isPolite ? politeBatchRows : batchRowsMax
      const rows = tail.read(rowsMax)
      if (!hasReached(before, tail.position)) this.#unsynced = true
      if (rows.length > 0 && !(await this.#commit(rows))) return
      this.#committed = tail.position
      tail.deleteFinished()
      this.#answerFlushes(true)
      const nowMs = performance.now()
      if (!hasReached(told.position, tail.position) && (rows.length < rowsMax || nowMs - told.ms > tellMs)) {
        told = { position: tail.position, ms: nowMs }
        this.#send({ kind: 'committed', position: told.position })
      }
      if (rows.length === rowsMax) continue
      if (last) return tail.closeLive()
      idleRounds = rows.length === 0 ? idleRounds + 1 : 0
      if (idleRounds === quietRounds) Bun.gc(true)
      await this.#pause(pollMs)
    }
  }

  #isFarBehind(sequence: number): boolean {
    const { directory, start } = this.#settings
    return existsSync(segmentPath(directory, { start, sequence: sequence + segmentsBehindMax }))
  }

  /**
   * Tries until the rows are in the database. false = the ledger is being closed: they stay in the journal.
   */
  async #commit(rows: readonly Row[]): Promise<boolean> {
    for (;;) {
      try {
        await this.#insert(await this.#connect(), rows)
        if (this.#down) this.#send({ kind: 'database', failure: null })
        this.#down = false
        this.#retryMs = retryMsMin
        // A turn of the event loop: SQLite never yields, and questions must be heard between two batches.
        await new Promise(resolve => setImmediate(resolve))
        return true
      } catch (error) {
        if (!this.#down) this.#send({ kind: 'database', failure: String(error) })
        this.#down = true
        this.#answerFlushes(false)
        await this.#disconnect()
        if (this.#closing) return false
        await this.#pause(this.#retryMs)
        this.#retryMs = Math.min(this.#retryMs * 2, retryMsMax)
      }
    }
  }

  /** A row that the database will never take must not hold up the others: halves, until it stands alone. */
  async #insert(database: LedgerDatabase, rows: readonly Row[]): Promise<void> {
    try {
      await database.insert(rows)
    } catch (error) {
      if (!(error instanceof RefusedRows)) throw error
      if (rows.length === 1) return this.#setAside(rows[0]!, error)
      const half = rows.length >> 1
      await this.#insert(database, rows.slice(0, half))
      await this.#insert(database, rows.slice(half))
    }
  }

  #setAside(row: Row, error: RefusedRows): void {
    const path = join(this.#settings.directory, 'refused.jsonl')
    appendFileSync(path, `${JSON.stringify({ reason: error.message, row })}\n`, { mode: 0o600, flush: true })
    this.#problem(`the database refused a row of the ledger, kept in ${path}: ${error.message}`)
  }

  #connect(): Promise<LedgerDatabase> {
    if (this.#database === undefined) {
      const database = openLedgerDatabase(this.#settings.databaseUrl)
      this.#database = database
      database.catch(() => {
        if (this.#database === database) this.#database = undefined
      })
    }
    return this.#database
  }

  /** A broken connection is not used again; whoever waits for an answer on it gets an error. */
  async #disconnect(): Promise<void> {
    const database = this.#database
    this.#database = undefined
    await database?.then(open => open.close()).catch(() => {})
  }

  #answerFlushes(committed: boolean): void {
    for (const [id, position] of this.#flushes) {
      if (committed && !hasReached(this.#committed, position)) continue
      this.#flushes.delete(id)
      this.#send({ kind: 'flushed', id, committed })
    }
  }

  #poke(): void {
    this.#woken = true
    this.#wake()
  }

  async #pause(ms: number): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ms)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#woken = false
    this.#wake = () => {}
  }

  /**
   * Against power loss: the journal's pages and the names of new segments reach the disk within two polls.
   */
  async #sync(): Promise<void> {
    if ((!this.#unsynced && !this.#down) || this.#syncing) return
    this.#syncing = true
    this.#unsynced = false
    const { directory, start } = this.#settings
    try {
      const all = listSegments(directory)
      const own = all.filter(name => name.start === start && name.sequence >= this.#syncFrom)
      for (const name of own) await syncPath(segmentPath(directory, name), syncData)
      const newest = own.at(-1)?.sequence ?? 0
      if (newest > this.#syncFrom + 1 || this.#syncFrom === 1) await syncPath(directory, syncFile)
      // The newest may be a spare, and the one before is being written.
      this.#syncFrom = Math.max(this.#syncFrom, newest - 1)
    } catch (error) {
      this.#unsynced = true
      this.#problem(`the journal cannot be synced: ${String(error)}`)
    } finally {
      this.#syncing = false
    }
  }

  #problem(text: string): void {
    this.#send({ kind: 'problem', text })
  }
}

async function syncPath(path: string, sync: (file: number) => Promise<void>): Promise<void> {
  // Deleted meanwhile: all of it is in the database.
  if (!existsSync(path)) return
  const file = await openFile(path, 'r')
  try {
    await sync(file)
  } finally {
    await closeFile(file)
  }
}
