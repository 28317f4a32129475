/**
 * Reads the ledger in threads of its own, beside the one that stores rows: a page of two hundred calls takes ten
 * milliseconds, a report up to a hundred. See docs/decisions/0073.
 */
import { GatewayError } from '../../../core/errors.ts'
import { workerUrl } from '../../../lib/program-files.ts'
import type { ReadReply, ReadRequest, ReadThreadSettings } from './ledger-reader-messages.ts'
import type { ReadAnswer, ReadKind, ReadQuery } from './ledger-reads.ts'
import type { DayRanking } from '../sums/rollup-top.ts'

const answerTimeoutMs = 15_000
/** After so long a database that is known to be silent by then is waited for no longer. */
const silentAfterMs = 5000
/**
 * So long the thread that takes only the time that is left may take. Then there is none, or the question is a long one:
 * it is asked in the second thread as well.
 */
const secondThreadAfterMs = 300
/** Of a day with very many sums, in the time that is left. */
const rankingTimeoutMs = 300_000
/** A thread ends after so long without a question: it has some ten megabytes. */
const idleMs = 60_000
const closeTimeoutMs = 1000

interface ReaderParts {
  settings(): Omit<ReadThreadSettings, 'isIdle'>
  report(problem: string): void
  /** The database is known to answer nothing at all. */
  isSilent(): boolean
}

/** One per ledger. No thread is started before the first question. */
export class LedgerReader {
  readonly #idle: ReadThread
  readonly #second: ReadThread
  readonly #ranking: ReadThread
  readonly #isSilent: () => boolean

  constructor({ settings, report, isSilent }: ReaderParts) {
    this.#isSilent = isSilent
    const thread = ({ isIdle }: { readonly isIdle: boolean }) =>
      new ReadThread({ settings: () => ({ ...settings(), isIdle }), report })
    this.#idle = thread({ isIdle: true })
    this.#second = thread({ isIdle: false })
    this.#ranking = thread({ isIdle: true })
  }

  /** Throws `overloaded` while the database is known to be silent: no request waits to learn it anew. */
  refuseSilent(): void {
    if (this.#isSilent()) throw unreadable('the database does not answer')
  }

  /** Throws `overloaded` where it cannot be answered. */
  async ask<Kind extends ReadKind>(of: Kind, query: ReadQuery<Kind>): Promise<ReadAnswer<Kind>> {
    this.refuseSilent()
    const reply = await this.#orSilent(this.#first(of, query))
    if (reply?.kind === 'answer') return reply.answer as ReadAnswer<Kind>
    throw unreadable(reply?.error ?? 'no answer from the threads that read it')
  }

  /** Whose sums of a day are the largest; undefined = it could not be read. */
  async ranking(day: number): Promise<DayRanking | undefined> {
    const reply = await this.#ranking.ask('ranking', day, rankingTimeoutMs)
    return reply?.kind === 'answer' ? (reply.answer as DayRanking) : undefined
  }

  /** Questions that are open get no answer. */
  async close(): Promise<void> {
    await Promise.all([this.#idle, this.#second, this.#ranking].map(thread => thread.close()))
  }

  async #orSilent(answered: Promise<ReadResult>): Promise<ReadResult> {
    const silent = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => this.#isSilent() && silent.resolve(undefined), silentAfterMs)
    const first = await Promise.race([answered, silent.promise])
    clearTimeout(timer)
    return first
  }

  /** What the first of the two threads answers. */
  async #first(of: ReadKind, query: unknown): Promise<ReadResult> {
    if (this.#idle.hasWaitedMs > secondThreadAfterMs) return this.#second.ask(of, query, answerTimeoutMs)
    const answered = this.#idle.ask(of, query, answerTimeoutMs)
    const late = Promise.withResolvers<'late'>()
    const timer = setTimeout(late.resolve, secondThreadAfterMs, 'late')
    const first = await Promise.race([answered, late.promise])
    clearTimeout(timer)
    if (first !== 'late' && first !== undefined) return first
    return Promise.any([answered, this.#second.ask(of, query, answerTimeoutMs)].map(thereIs)).catch(() => undefined)
  }
}

const unreadable = (cause: string): GatewayError =>
  new GatewayError('overloaded', 'the ledger cannot be read at the moment', { cause })

/** undefined = no answer in time, or the thread has ended. */
type ReadResult = Extract<ReadReply, { id: number }> | undefined

async function thereIs(answer: Promise<ReadResult>): Promise<ReadResult> {
  const found = await answer
  if (found === undefined) throw new Error('no answer')
  return found
}

interface PendingRead {
  readonly sinceMs: number
  answer(reply: ReadResult): void
}

interface ThreadParts {
  settings(): ReadThreadSettings
  report(problem: string): void
}

/** Started by a question, and ended after a while without one. */
class ReadThread {
  readonly #parts: ThreadParts
  /** By their ids, in the order of asking. */
  readonly #pendingReads = new Map<number, PendingRead>()
  #worker: Worker | undefined
  #lastId = 0
  #endTimer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(parts: ThreadParts) {
    this.#parts = parts
  }

  /** The oldest question that it has not answered. */
  get hasWaitedMs(): number {
    const [oldest] = this.#pendingReads.values()
    return oldest === undefined ? 0 : performance.now() - oldest.sinceMs
  }

  ask(of: ReadKind, query: unknown, timeoutMs: number): Promise<ReadResult> {
    if (this.#isClosed) return Promise.resolve(undefined)
    clearTimeout(this.#endTimer)
    const id = ++this.#lastId
    return new Promise(resolve => {
      const answer = (reply: ReadResult) => {
        clearTimeout(timer)
        this.#pendingReads.delete(id)
        if (this.#pendingReads.size === 0) this.#endLater()
        resolve(reply)
      }
      const timer = setTimeout(() => answer(undefined), timeoutMs)
      this.#pendingReads.set(id, { sinceMs: performance.now(), answer })
      this.#worker ??= this.#start()
      this.#worker.postMessage({ kind: 'ask', id, of, query } satisfies ReadRequest)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const worker = this.#end()
    this.#answerNone()
    if (!worker) return
    const ended = Promise.withResolvers<void>()
    const timer = setTimeout(ended.resolve, closeTimeoutMs)
    worker.addEventListener('close', () => ended.resolve())
    await ended.promise
    clearTimeout(timer)
    worker.terminate()
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('ledger-read-worker', import.meta.url), { smol: true })
    worker.onmessage = ({ data }: MessageEvent<ReadReply>) => this.#pendingReads.get(data.id)?.answer(data)
    worker.onerror = event => this.#parts.report(`a thread that reads the ledger failed: ${event.message}`)
    worker.addEventListener('close', () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#answerNone()
    })
    // The DOM's type of Worker does not have Bun's `unref`.
    ;(worker as Worker & { unref(): void }).unref()
    worker.postMessage({ kind: 'open', settings: this.#parts.settings() } satisfies ReadRequest)
    return worker
  }

  #endLater(): void {
    if (this.#isClosed) return
    clearTimeout(this.#endTimer)
    this.#endTimer = setTimeout(() => this.#end(), idleMs)
    this.#endTimer.unref()
  }

  /** It closes its connection first. */
  #end(): Worker | undefined {
    clearTimeout(this.#endTimer)
    const worker = this.#worker
    this.#worker = undefined
    worker?.postMessage({ kind: 'close' } satisfies ReadRequest)
    return worker
  }

  #answerNone(): void {
    for (const question of [...this.#pendingReads.values()]) question.answer(undefined)
  }
}
