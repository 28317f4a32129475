/** Answers the questions that the main thread asks the ledger's worker. */
import type { LatencyQuery } from '../../core/latency.ts'
import type { LedgerQuery } from '../../core/ledger.ts'
import type { DearestQuery, UsageQuery } from '../../core/usage-report.ts'
import { isOfStatement } from '../database/open.ts'
import { latencyStatement, readLatency } from './latency-query.ts'
import type { LedgerDatabase } from './ledger-database.ts'
import type { LedgerReply } from './ledger-messages.ts'
import { ledgerStatement, readLedger } from './ledger-query.ts'
import { totals } from './rollup-derived.ts'
import { areTotalsFilled, isFilled } from './rollup-fill.ts'
import { dearestOf } from './rollup-top.ts'
import { narrowSums, readUsage, usageStatement } from './usage-query.ts'

interface ReadParts {
  connect(): Promise<LedgerDatabase>
  disconnect(): Promise<void>
  send(reply: LedgerReply): void
}

/** Each question is answered once, with its rows or with an error. */
export class LedgerReads {
  readonly #parts: ReadParts

  constructor(parts: ReadParts) {
    this.#parts = parts
  }

  async query(id: number, query: LedgerQuery): Promise<void> {
    const { send } = this.#parts
    try {
      const page = await this.#read(database => readLedger(database, ledgerStatement(query)))
      send({ kind: 'page', id, page, error: '' })
    } catch (error) {
      send({ kind: 'page', id, page: null, error: String(error) })
    }
  }

  async usage(id: number, query: UsageQuery): Promise<void> {
    const { send } = this.#parts
    try {
      const groups = readUsage(await this.#read(database => this.#usageRows(database, query)))
      send({ kind: 'usage', id, groups, error: '' })
    } catch (error) {
      send({ kind: 'usage', id, groups: null, error: String(error) })
    }
  }

  async #usageRows(database: LedgerDatabase, query: UsageQuery): Promise<Record<string, unknown>[]> {
    const narrow = narrowSums(query)
    const isKept =
      narrow !== undefined &&
      (await (narrow.table === totals.name ? areTotalsFilled(database) : isFilled(database, query)))
    return database.select(usageStatement(query, isKept ? narrow : undefined))
  }

  async dearest(id: number, query: DearestQuery): Promise<void> {
    const { send } = this.#parts
    try {
      send({ kind: 'dearest', id, dearest: await this.#read(database => dearestOf(database, query)), error: '' })
    } catch (error) {
      send({ kind: 'dearest', id, dearest: null, error: String(error) })
    }
  }

  async latency(id: number, query: LatencyQuery): Promise<void> {
    const { send } = this.#parts
    try {
      const groups = readLatency(await this.#read(database => database.select(latencyStatement(query))))
      send({ kind: 'latency', id, groups, error: '' })
    } catch (error) {
      send({ kind: 'latency', id, groups: null, error: String(error) })
    }
  }

  /** Once more on a new connection: after a restart of the database the old ones fail one query each. */
  async #read<T>(work: (database: LedgerDatabase) => Promise<T>): Promise<T> {
    const { connect, disconnect } = this.#parts
    const read = async () => work(await connect())
    return read().catch((error: unknown) => {
      if (isOfStatement(error)) throw error
      return disconnect().then(read)
    })
  }
}
