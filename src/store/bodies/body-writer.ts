/** The work of the thread that stores bodies: packs and encrypts them, and writes them to the database in batches. */
import type { BodyLoss } from '../../core/ledger/stored-bodies.ts'
import { adoptTurns, letOthersWrite } from '../database/write-turns.ts'
import { ownPriority } from '../../platform/thread-priority.ts'
import { isOfStatement, openDatabase } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { EncryptionKeys, MissingEncryptionKey } from '../keys/encryption-keys.ts'
import type { BodyReply, BodyRequest, BodyThreadSettings } from './body-messages.ts'
import { toBodyRow } from './body-rows.ts'
import type { BodyRow } from './body-rows.ts'
import { deleteBeyond, deleteOldDays } from './body-maintenance.ts'
import { isMissingDay, makeDay } from './day-partitions.ts'

type KeepRequest = Extract<BodyRequest, { kind: 'keep' }>
type MaintenanceRequest = Extract<BodyRequest, { kind: 'maintain' }>

/** Of a transaction. */
const batchRowsMax = 50
const batchBytesMax = 4 * 1024 * 1024
const retryMsMin = 100
const retryMsMax = 5000
/** So much of the bound of everything may be written before it is looked at again. */
const boundParts = 50

/** What waits is bounded by the main thread, however long the database is away. */
export class BodyWriter {
  readonly #settings: BodyThreadSettings
  readonly #send: (reply: BodyReply) => void
  readonly #setPriority: ReturnType<typeof ownPriority>
  readonly #queue: KeepRequest[] = []
  readonly #flushes: { readonly id: number; readonly left: () => boolean }[] = []
  /** Since the start: taken in, and stored or lost. */
  #received = 0
  #taken = 0
  #database: Promise<Database> | undefined
  #isRunning = false
  #problem: string | undefined
  #bytesSinceBound = 0

  constructor(settings: BodyThreadSettings, send: (reply: BodyReply) => void) {
    this.#settings = settings
    this.#send = send
    adoptTurns(settings.turns)
    this.#setPriority = ownPriority(settings.priority)
    this.#setPriority('lowest')
  }

  keep(waiting: KeepRequest): void {
    this.#received++
    this.#queue.push(waiting)
    void this.#run()
  }

  flush(id: number): void {
    const upTo = this.#received
    if (!this.#isRunning) return this.#send({ kind: 'done', id })
    this.#setPriority('usual')
    this.#flushes.push({ id, left: () => this.#taken < upTo })
  }

  maintain({ id, firstDay, storedBytesMax }: MaintenanceRequest): void {
    void this.#connect()
      .then(async database => {
        await deleteOldDays(database, firstDay)
        await deleteBeyond(database, storedBytesMax)
      })
      .catch(error => this.#report(`old bodies of calls cannot be deleted: ${String(error)}`))
      .finally(() => this.#send({ kind: 'done', id }))
  }

  // ---- inside

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    let retryMs = retryMsMin
    while (this.#queue.length > 0) {
      const batch = this.#nextBatch()
      const left = await this.#store(batch)
      this.#taken += batch.length - left.length
      this.#queue.unshift(...left)
      this.#answerFlushes()
      if (left.length === 0) retryMs = retryMsMin
      else {
        await Bun.sleep(retryMs)
        retryMs = Math.min(retryMs * 2, retryMsMax)
      }
    }
    this.#setPriority('lowest')
    this.#isRunning = false
  }

  #nextBatch(): KeepRequest[] {
    let bytes = 0
    let count = 0
    while (count < Math.min(this.#queue.length, batchRowsMax) && (count === 0 || bytes < batchBytesMax))
      bytes += this.#queue[count++]!.held
    return this.#queue.splice(0, count)
  }

  #answerFlushes(): void {
    for (let at = this.#flushes.length - 1; at >= 0; at--) {
      const { id, left } = this.#flushes[at]!
      if (left()) continue
      this.#flushes.splice(at, 1)
      this.#send({ kind: 'done', id })
    }
  }

  /** Resolves with those that have to be tried again. */
  async #store(batch: readonly KeepRequest[]): Promise<readonly KeepRequest[]> {
    let rows: BodyRow[]
    try {
      // Anew for each batch: `modelgate credentials rotate` may have put another key into the file.
      const { environment, dataDirectory, databaseUrl } = this.#settings
      const isShared = !databaseUrl.startsWith('sqlite:')
      const ring = new EncryptionKeys({ environment, dataDirectory, isShared }).ringToEncrypt()
      rows = batch.map(({ bodies }) => toBodyRow(ring, bodies))
    } catch (error) {
      this.#report(`bodies of calls cannot be stored: ${error instanceof Error ? error.message : String(error)}`)
      this.#lose(batch, error instanceof MissingEncryptionKey ? 'no_key' : 'database')
      return []
    }
    try {
      const database = await this.#connect()
      await insert(database, rows)
    } catch (error) {
      this.#report(`bodies of calls cannot be stored: ${String(error)}`)
      if (!isOfStatement(error)) {
        await this.#disconnect()
        return batch
      }
      if (batch.length > 1) return (await Promise.all(batch.map(one => this.#store([one])))).flat()
      this.#lose(batch, 'database')
      return []
    }
    this.#problem = undefined
    this.#send({ kind: 'stored', bodies: batch.length, held: heldBy(batch) })
    await this.#bound(rows, batch.at(-1)!.storedBytesMax)
    return []
  }

  async #bound(rows: readonly BodyRow[], storedBytesMax: number): Promise<void> {
    for (const { bytes } of rows) this.#bytesSinceBound += bytes
    if (this.#bytesSinceBound < storedBytesMax / boundParts) return
    this.#bytesSinceBound = 0
    await this.#connect()
      .then(database => deleteBeyond(database, storedBytesMax))
      .catch(error => this.#report(`the oldest bodies of calls cannot be deleted: ${String(error)}`))
  }

  #lose(batch: readonly KeepRequest[], why: BodyLoss): void {
    this.#send({ kind: 'lost', bodies: batch.length, held: heldBy(batch), why })
  }

  /** Once, until it works again. */
  #report(problem: string): void {
    if (problem !== this.#problem) this.#send({ kind: 'problem', text: problem })
    this.#problem = problem
  }

  #connect(): Promise<Database> {
    if (this.#database === undefined) {
      const { databaseUrl, openedFile } = this.#settings
      const database = openDatabase(databaseUrl, 1, openedFile)
      this.#database = database
      database.catch(() => {
        if (this.#database === database) this.#database = undefined
      })
    }
    return this.#database
  }

  async #disconnect(): Promise<void> {
    const database = this.#database
    this.#database = undefined
    await database?.then(open => open.close()).catch(() => {})
  }
}

const heldBy = (batch: readonly KeepRequest[]): number => batch.reduce((sum, { held }) => sum + held, 0)

async function insert({ kind, sql }: Database, rows: readonly BodyRow[]): Promise<void> {
  const store = () => sql`insert into call_bodies ${sql([...rows])} on conflict do nothing`
  letOthersWrite()
  try {
    await store()
  } catch (error) {
    if (kind !== 'postgres' || !isMissingDay(error)) throw error
    for (const day of new Set(rows.map(row => row.day))) await makeDay(sql, day)
    await store()
  }
}
