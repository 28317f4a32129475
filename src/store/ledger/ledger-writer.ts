/**
 * The ledger's worker, without the thread: reads the journal and writes the database, whatever happens to it.
 */
import { appendFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerQuery } from '../../core/ports.ts'
import { JournalTail } from './journal-tail.ts'
import { JournalSync } from './journal-sync.ts'
import { createSegmentFile, filesOf, hasReached, segmentPath } from './journal.ts'
import type { JournalPosition } from './journal.ts'
import { openLedgerDatabase, RefusedRows } from './ledger-database.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import { ledgerStatement, readLedger } from './ledger-query.ts'
import type { LedgerPage } from './ledger-query.ts'
import { decodeRecord, interruptedRow } from './ledger-record.ts'
import type { ColumnValue } from './ledger-record.ts'
import { isOfStatement } from '../database/open.ts'
import { ownPriority } from '../../platform/thread-priority.ts'
import { Trouble } from './throttled-report.ts'

/** What the main thread asks for. Rows come by the journal, and by `rows` only while it has no room for them. */
export type LedgerRequest =
  | { readonly kind: 'open'; readonly settings: LedgerWriterSettings }
  | { readonly kind: 'spare'; readonly path: string; readonly bytes: number }
  | { readonly kind: 'flush'; readonly id: number; readonly position: JournalPosition }
  | { readonly kind: 'query'; readonly id: number; readonly query: LedgerQuery }
  /** Records as they would stand in the journal. */
  | { readonly kind: 'rows'; readonly id: number; readonly texts: readonly string[] }
  /** There is more in the journal than the worker saw when it went to rest. */
  | { readonly kind: 'wake' }
  | { readonly kind: 'close' }

/** What the worker says: answers by id, and news. */
export type LedgerReply =
  | { readonly kind: 'spare'; readonly path: string; readonly error: string | null }
  /** `committed: false` = the database is down. */
  | { readonly kind: 'flushed'; readonly id: number; readonly committed: boolean }
  /** `stored: false` = the database is down: the records are the sender's as before. */
  | { readonly kind: 'stored'; readonly id: number; readonly stored: boolean }
  /** Every row before it is in the database. Sent now and then while there is work, and when there is none left. */
  | { readonly kind: 'committed'; readonly position: JournalPosition }
  /** Everything before it is in the database, and it will not look again before it is woken. */
  | { readonly kind: 'resting'; readonly position: JournalPosition }
  | { readonly kind: 'page'; readonly id: number; readonly page: LedgerPage | null; readonly error: string }
  | { readonly kind: 'problem'; readonly text: string }
  /** Why the database does not take rows; null = it does. Sent when it changes. */
  | { readonly kind: 'database'; readonly failure: string | null }
  /** `complete: false` = files of the journal are left for the next start. */
  | { readonly kind: 'closed'; readonly complete: boolean }

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
/** Refused rows that wait in memory for a disk with room, while the journal keeps them too. */
const refusedRowsMax = 10_000

/** One per process. Memory: one batch, one buffer and the open calls, however long the database is down. */
export class LedgerWriter {
  readonly #settings: LedgerWriterSettings
  readonly #send: (reply: LedgerReply) => void
  /** Traffic comes first: rows are safe in the journal and can wait. */
  readonly #stepBack = ownPriority()
  readonly #flushes = new Map<number, JournalPosition>()
  /** Records that came as messages, to be answered. */
  readonly #handed: { readonly id: number; readonly texts: readonly string[] }[] = []
  /** The journal of this process; undefined before `run`. */
  #living: JournalTail | undefined
  /** Rows that the database will never take, and that are not in their file yet. */
  #refused: { readonly row: Row; readonly reason: string }[] = []
  /** The last attempt to write them may have left half a line. */
  #refusedTorn = false
  readonly #readTrouble = this.#trouble('the journal cannot be read', 'the journal can be read again')
  readonly #deleteTrouble = this.#trouble(
    'what is stored cannot be deleted from the journal',
    'what is stored is deleted from the journal again',
  )
  readonly #refusedTrouble = this.#trouble(
    'rows that the database refused cannot be written to their file',
    'rows that the database refused are in their file',
  )
  #database: Promise<LedgerDatabase> | undefined
  /** Why the database does not take rows; null = it does. */
  #failure: string | null = null
  #retryMs = retryMsMin
  #closing = false
  #wake = (): void => {}
  #woken = false
  #committed: JournalPosition = { sequence: 0, offset: 0 }
  readonly #sync: JournalSync
  #syncTimer: ReturnType<typeof setInterval> | undefined

  constructor(settings: LedgerWriterSettings, send: (reply: LedgerReply) => void) {
    this.#settings = settings
    this.#send = send
    const { directory, start } = settings
    this.#sync = new JournalSync({
      directory,
      start,
      trouble: this.#trouble('the journal cannot be synced', 'the journal is synced again'),
    })
  }

  /**
   * Until `close`: first what dead processes left, then this process's journal. A journal that cannot be read is
   * tried again and again: what comes by `store` reaches the database all the same.
   */
  async run(): Promise<void> {
    this.#syncTimer = this.#startSyncing()
    try {
      const { directory, start } = this.#settings
      this.#living = new JournalTail({ directory, start, live: true, report: text => this.#problem(text) })
      await this.#replayTheDead()
      const complete = await this.#followTheLiving(this.#living)
      this.#refuseHanded()
      this.#send({ kind: 'closed', complete })
    } catch (error) {
      this.#problem(`the ledger's worker cannot go on: ${String(error)}`)
      throw error
    } finally {
      clearInterval(this.#syncTimer)
      await this.#disconnect()
    }
  }

  /** Answered as soon as everything before `position` is committed, or the next attempt to do so fails. */
  flush(id: number, position: JournalPosition): void {
    this.#flushes.set(id, position)
    this.#stepBack(false)
    this.#poke()
  }

  /**
   * Answered as soon as the rows of the records are in the database, or an attempt to bring them there failed. Intents
   * have no rows: they wait here for their settlements.
   */
  store(id: number, texts: readonly string[]): void {
    this.#handed.push({ id, texts })
    this.#stepBack(false)
    this.#poke()
  }

  async query(id: number, query: LedgerQuery): Promise<void> {
    const read = async () => readLedger(await this.#connect(), ledgerStatement(query))
    try {
      // Once more on a new connection: those of before a restart of the database fail one query each.
      const page = await read().catch((error: unknown) => {
        if (isOfStatement(error)) throw error
        return this.#disconnect().then(read)
      })
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

  /** The journal has grown since this thread said that it rests. */
  wake(): void {
    this.#poke()
  }

  close(): void {
    this.#closing = true
    this.#poke()
  }

  async #replayTheDead(): Promise<void> {
    let starts: ReadonlySet<string>
    try {
      starts = this.#startsOfTheDead()
    } catch (error) {
      return this.#problem(
        `journals of earlier processes cannot be read and are left for the next start: ${String(error)}`,
      )
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

  /** Oldest first. Removes half-made files of theirs on the way. */
  #startsOfTheDead(): Set<string> {
    const { directory, start: own } = this.#settings
    const starts = new Set<string>()
    for (const file of filesOf(directory).sort()) {
      const start = /^(\d{13,}-[\w-]+)\.(?:\d{8,}\.journal|open\.json)$/.exec(file)?.[1]
      if (start !== undefined && start !== own) starts.add(start)
      else if (file.endsWith('.tmp') && !file.startsWith(`${own}.`)) rmSync(join(directory, file), { force: true })
    }
    return starts
  }

  async #replay(start: string): Promise<void> {
    const { directory } = this.#settings
    const tail = new JournalTail({ directory, start, live: false, report: text => this.#problem(text) })
    for (let rows = tail.read(batchRowsMax); rows.length > 0; rows = tail.read(batchRowsMax))
      if (!(await this.#commit(rows))) return
    const interrupted = tail.openCalls.map(interruptedRow)
    for (let at = 0; at < interrupted.length; at += batchRowsMax)
      if (!(await this.#commit(interrupted.slice(at, at + batchRowsMax)))) return
    if (this.#writeRefused()) tail.deleteAll()
  }

  /** true = at the end nothing is left in the journal that the next start would have to store. */
  async #followTheLiving(tail: JournalTail): Promise<boolean> {
    let idleRounds = 0
    let told = { position: tail.position, ms: 0 }
    for (;;) {
      // Asked before reading: what was appended before `close` was called is read below.
      const last = this.#closing
      const before = tail.position
      const isPolite =
        !last && this.#flushes.size === 0 && this.#handed.length === 0 && !this.#isFarBehind(before.sequence)
      this.#stepBack(isPolite)
      await this.#storeHanded()
      const rowsMax = isPolite ? politeBatchRows : batchRowsMax
      const rows = this.#read(tail, rowsMax)
      if (!hasReached(before, tail.position)) this.#sync.changed()
      if (rows !== undefined && rows.length > 0 && !(await this.#commit(rows))) return false
      this.#committed = tail.position
      if (this.#writeRefused()) this.#deleteFinished(tail)
      this.#answerFlushes(true)
      const nowMs = performance.now()
      const isBehind = rows?.length === rowsMax
      if (!hasReached(told.position, tail.position) && (!isBehind || nowMs - told.ms > tellMs)) {
        told = { position: tail.position, ms: nowMs }
        this.#send({ kind: 'committed', position: told.position })
      }
      if (isBehind) continue
      if (last) return rows !== undefined && (await this.#leave(tail))
      if (rows === undefined) this.#answerFlushes(false)
      idleRounds = rows?.length === 0 ? idleRounds + 1 : 0
      if (idleRounds < quietRounds || !this.#mayRest(tail)) await this.#pause(pollMs)
      else {
        await this.#rest(tail.position)
        idleRounds = 0
      }
    }
  }

  /** Nothing is left to be tried again. */
  #mayRest(tail: JournalTail): boolean {
    return (
      this.#failure === null && this.#refused.length === 0 && this.#sync.isDone && !tail.isHeldUp && !tail.hasFinished
    )
  }

  /** Until the main thread has something new: a process at rest needs neither processor nor pages of the program. */
  async #rest(position: JournalPosition): Promise<void> {
    clearInterval(this.#syncTimer)
    this.#send({ kind: 'resting', position })
    await this.#pause(undefined)
    this.#syncTimer = this.#startSyncing()
  }

  /** undefined = the journal cannot be read at the moment. */
  #read(tail: JournalTail, rowsMax: number): Row[] | undefined {
    try {
      const rows = tail.read(rowsMax)
      this.#readTrouble.over()
      return rows
    } catch (error) {
      this.#readTrouble.met(error)
      return undefined
    }
  }

  /** A full disk must not keep rows from the database: it is tried again with the next batch. */
  #deleteFinished(tail: JournalTail): void {
    try {
      tail.deleteFinished()
      this.#deleteTrouble.over()
    } catch (error) {
      this.#deleteTrouble.met(error)
    }
  }

  /** The end, with every row committed. Calls still open are left to the successor. */
  async #leave(tail: JournalTail): Promise<boolean> {
    if (this.#refused.length > 0) {
      const count = this.#refused.length
      this.#problem(`${count} rows that the database refused could not be kept; those in the journal stay there`)
      return false
    }
    // Behind a damaged record there may be good ones: the successor does not wait for it to become better.
    if (tail.isHeldUp) return false
    try {
      tail.saveOpenCalls()
    } catch {
      // No disk for their list: they end with this process, so that is what they become now.
      const rows = tail.openCalls.map(interruptedRow)
      for (let at = 0; at < rows.length; at += batchRowsMax)
        if (!(await this.#attempt(rows.slice(at, at + batchRowsMax)))) return false
    }
    try {
      tail.deleteLiving()
    } catch (error) {
      // They are read once more at the next start, and every row of them is there.
      this.#deleteTrouble.met(error)
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
    // Nothing else holds them: they do not wait for the end of a long backlog.
    await this.#storeHanded()
    return true
  }

  /** When it changes: a database that moved away may come back as one that cannot be used. */
  #tellFailure(failure: string | null): void {
    if (failure === this.#failure) return
    this.#failure = failure
    this.#send({ kind: 'database', failure })
  }

  /** false = the database is down, which whoever waits for it is told. */
  async #attempt(rows: readonly Row[]): Promise<boolean> {
    try {
      await this.#insert(await this.#connect(), rows)
      this.#tellFailure(null)
      this.#retryMs = retryMsMin
      // A turn of the event loop: SQLite never yields, and questions must be heard between two batches.
      await new Promise(resolve => setImmediate(resolve))
      return true
    } catch (error) {
      this.#tellFailure(String(error))
      this.#answerFlushes(false)
      this.#refuseHanded()
      await this.#disconnect()
      return false
    }
  }

  async #storeHanded(): Promise<void> {
    for (let batch = this.#handed.shift(); batch !== undefined; batch = this.#handed.shift()) {
      const { id, texts } = batch
      const rows: Row[] = []
      for (const text of texts) {
        const record = decodeRecord(text)
        if (record?.kind === 'settlement') rows.push(record.values)
      }
      const stored = rows.length === 0 || (await this.#attempt(rows))
      if (stored) this.#living?.takeStored(texts)
      this.#send({ kind: 'stored', id, stored })
    }
  }

  #refuseHanded(): void {
    for (const { id } of this.#handed.splice(0)) this.#send({ kind: 'stored', id, stored: false })
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
    if (this.#refused.length >= refusedRowsMax && !this.#writeRefused())
      throw new Error(`${this.#refused.length} rows that it refused cannot be kept anywhere`)
    this.#refused.push({ row, reason: error.message })
    this.#writeRefused()
  }

  /** false = their file cannot be written: the journal must not be deleted, it holds them too. */
  #writeRefused(): boolean {
    if (this.#refused.length === 0) return true
    const path = join(this.#settings.directory, 'refused.jsonl')
    const lines = this.#refused.map(({ row, reason }) => `${JSON.stringify({ reason, row })}\n`)
    try {
      appendFileSync(path, (this.#refusedTorn ? '\n' : '') + lines.join(''), { mode: 0o600, flush: true })
    } catch (error) {
      this.#refusedTorn = true
      this.#refusedTrouble.met(error)
      return false
    }
    this.#refusedTrouble.over()
    for (const { reason } of this.#refused)
      this.#problem(`the database refused a row of the ledger, kept in ${path}: ${reason}`)
    this.#refused = []
    this.#refusedTorn = false
    return true
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

  /** undefined = until somebody wakes it. */
  async #pause(ms: number | undefined): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>(resolve => {
        const timer = ms === undefined ? undefined : setTimeout(resolve, ms)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#woken = false
    this.#wake = () => {}
  }

  #startSyncing(): ReturnType<typeof setInterval> {
    return setInterval(() => {
      // So far behind that nobody knows what is new.
      if (this.#failure !== null) this.#sync.changed()
      void this.#sync.run()
    }, pollMs)
  }

  #trouble(begins: string, ends: string): Trouble {
    return new Trouble({ begins, ends, report: text => this.#problem(text), nowMs: () => performance.now() })
  }

  #problem(text: string): void {
    this.#send({ kind: 'problem', text })
  }
}
