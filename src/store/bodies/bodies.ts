/** Bodies of calls: a bounded queue to the thread that stores them, and what is asked of those that are stored. */
import type {
  BodiesOf,
  BodyCounts,
  BodyLoss,
  BodySettings,
  BodyStore,
  CallBodies,
  CallOwner,
  FoundBodies,
} from '../../core/ledger/stored-bodies.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ChangeActor } from '../../core/tenancy/change-actor.ts'
import type { VisibleUsage } from '../../core/ledger/usage-report.ts'
import type { Clock } from '../../lib/clock.ts'
import { DecryptionError } from '../../lib/encryption.ts'
import { workerUrl } from '../../lib/program-files.ts'
import { sharedTurns } from '../database/write-turns.ts'
import { raised, sharedPriority } from '../../platform/thread-priority.ts'
import { whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import type { EncryptionKeys } from '../keys/encryption-keys.ts'
import { changeInTime } from '../tenancy/acting.ts'
import { writeAudit } from '../tenancy/audit.ts'
import type { BodyReply, BodyRequest, BodyWriterSettings } from './body-messages.ts'
import { dayOfId, ownerOfRow, contentOfRow } from './body-rows.ts'
import type { BodyRow } from './body-rows.ts'
import { dayMs } from '../../lib/clock.ts'

interface BodyStoreParts {
  readonly database: Database
  readonly writer: BodyWriterSettings
  readonly keys: Pick<EncryptionKeys, 'open'>
  readonly clock: Clock
  /** Read every ten minutes, for what is to be deleted. */
  settings(): BodySettings
  report(problem: string): void
}

/** The store, whose thread starts with the first body. */
export interface RunningBodyStore extends BodyStore {
  /** Deletes what is too old or too much. */
  maintain(): Promise<void>
  close(): Promise<void>
}

const maintenanceIntervalMs = 10 * 60_000
/** How long readers wait for what is on its way, and the end of the process. */
const flushMs = 2000
const closeMs = 3000
/** Of one statement that deletes. */
const deletionRows = 20

/** Over the table of migration 47. Starts no thread, and looks once whether there is something to keep up. */
export function openBodyStore(parts: BodyStoreParts): RunningBodyStore {
  return new StoredBodies(parts)
}

class StoredBodies implements RunningBodyStore {
  readonly #parts: BodyStoreParts
  readonly #timer: ReturnType<typeof setInterval>
  readonly #answers = new Map<number, (isDone: boolean) => void>()
  readonly #priority = sharedPriority()
  readonly #lost: Record<BodyLoss, number> = { queue_full: 0, database: 0, no_key: 0 }
  #worker: Worker | undefined
  #stored = 0
  /** Held by open calls and by what was sent to the thread. */
  #waitingBytes = 0
  /** Sent to the thread, and not answered yet. */
  #sent = { bodies: 0, held: 0 }
  #lastRequestId = 0
  #isClosed = false

  constructor(parts: BodyStoreParts) {
    this.#parts = parts
    this.#timer = setInterval(() => void this.maintain(), maintenanceIntervalMs)
    this.#timer.unref()
  }

  hold(bytes: number, { waitingBytesMax }: BodySettings): boolean {
    if (bytes > 0 && this.#waitingBytes + bytes > waitingBytesMax) {
      this.#lost.queue_full++
      return false
    }
    this.#waitingBytes += bytes
    return true
  }

  keep(bodies: CallBodies, held: number, { storedBytesMax }: BodySettings): void {
    if (this.#isClosed) return
    this.#sent.bodies++
    this.#sent.held += held
    this.#post({ kind: 'keep', bodies, held, storedBytesMax })
  }

  counts(): BodyCounts {
    return { stored: this.#stored, lost: { ...this.#lost }, waitingBytes: this.#waitingBytes }
  }

  async find(requestId: string, visible: VisibleUsage | undefined): Promise<FoundBodies | undefined> {
    const day = dayOfId(requestId)
    if (day === undefined) return undefined
    const isFlushed = await this.#flush(flushMs)
    const { sql } = this.#parts.database
    const [row] = await this.#available(
      () =>
        sql`select request_id, key_id, user_id, team_id, organization_id from call_bodies
        where request_id = ${requestId} and day = ${day}` as Promise<BodyRow[]>,
    )
    if (!row && !isFlushed) throw onTheWay()
    const owner = row && ownerOfRow(row)
    if (!owner || !isVisible(owner, visible)) return undefined
    const [found] = await this.#available(
      () =>
        sql`select request_id, content from call_bodies where request_id = ${requestId} and day = ${day}` as Promise<
          BodyRow[]
        >,
    )
    if (!found) return undefined
    try {
      return { ...owner, said: contentOfRow(this.#parts.keys, found) }
    } catch (error) {
      if (error instanceof DecryptionError) return { ...owner, said: null, problem: error.message }
      throw error
    }
  }

  async delete(of: BodiesOf, visible: VisibleUsage | undefined): Promise<number> {
    if (!(await this.#flush(flushMs))) throw onTheWay()
    const where = conditionOf(of, visible)
    if (!where) return 0
    const text = `delete from call_bodies where (request_id, day) in
      (select request_id, day from call_bodies where ${where.text} limit ${deletionRows}) returning 1 as deleted`
    let deleted = 0
    for (;;) {
      const rows = (await this.#available(() => this.#parts.database.sql.unsafe(text, [...where.values]))) as unknown[]
      deleted += rows.length
      if (rows.length < deletionRows) return deleted
    }
  }

  async note(action: 'read' | 'deleted', of: BodiesOf, actor: ChangeActor): Promise<void> {
    const [[name, id]] = Object.entries(of) as [[string, string]]
    const objectId = name === 'requestId' ? id : `${columns[name as keyof typeof columns]}=${id}`
    const atMs = this.#parts.clock.epochMs()
    const entry = { atMs, actor, action, kind: 'call_bodies', objectId, before: null, after: null }
    const acting = { database: this.#parts.database, actor, nowMs: atMs }
    await this.#available(() => changeInTime(acting, tx => writeAudit(tx, entry)))
  }

  async maintain(): Promise<void> {
    if (this.#isClosed) return
    const { keptMs, storedBytesMax } = this.#parts.settings()
    if (!this.#worker && !(await this.#hasAny())) return
    const firstDay = Math.floor((this.#parts.clock.epochMs() - keptMs) / dayMs)
    await this.#ask(id => ({ kind: 'maintain', id, firstDay, storedBytesMax }), maintenanceIntervalMs)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#isClosed) return
    await this.#flush(closeMs)
    this.#isClosed = true
    const { bodies } = this.#sent
    if (bodies > 0) this.#parts.report(`${bodies} bodies of calls could not be stored before the end: they are lost`)
    this.#worker?.terminate()
  }

  // ---- inside

  async #hasAny(): Promise<boolean> {
    const rows = await this.#parts.database.sql`select 1 as found from call_bodies limit 1`.catch(() => [])
    return (rows as unknown[]).length > 0
  }

  /** true = what this process has sent is stored or lost; false = the time was too short for that. */
  async #flush(timeoutMs: number): Promise<boolean> {
    if (this.#sent.bodies === 0) return true
    const lower = raised(this.#priority)
    return this.#ask(id => ({ kind: 'flush', id }), timeoutMs).finally(lower)
  }

  /** false = no answer in time. */
  #ask(request: (id: number) => BodyRequest, timeoutMs: number): Promise<boolean> {
    const id = ++this.#lastRequestId
    return new Promise(resolve => {
      const done = (isDone: boolean) => {
        clearTimeout(timer)
        this.#answers.delete(id)
        resolve(isDone)
      }
      const timer = setTimeout(done, timeoutMs, false)
      timer.unref()
      this.#answers.set(id, done)
      this.#post(request(id))
    })
  }

  #post(request: BodyRequest): void {
    this.#worker ??= this.#start()
    this.#worker.postMessage(request)
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('bodies-worker', import.meta.url), { smol: true })
    worker.onmessage = ({ data }: MessageEvent<BodyReply>) => this.#receive(data)
    worker.onerror = event => this.#parts.report(`the thread that stores bodies of calls failed: ${event.message}`)
    worker.addEventListener('close', () => this.#ended(worker))
    // The DOM's type of Worker does not have Bun's `unref`.
    ;(worker as Worker & { unref(): void }).unref()
    const { writer, database } = this.#parts
    const settings = { ...writer, openedFile: database.openedFile?.(), priority: this.#priority, turns: sharedTurns() }
    worker.postMessage({ kind: 'open', settings } satisfies BodyRequest)
    return worker
  }

  /** The next body starts another thread; what this one had is lost. */
  #ended(worker: Worker): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    this.#lost.database += this.#sent.bodies
    this.#waitingBytes -= this.#sent.held
    this.#sent = { bodies: 0, held: 0 }
    for (const answer of [...this.#answers.values()]) answer(true)
  }

  #receive(reply: BodyReply): void {
    switch (reply.kind) {
      case 'done':
        return this.#answers.get(reply.id)?.(true)
      case 'problem':
        return this.#parts.report(reply.text)
      case 'stored':
        this.#stored += reply.bodies
        return this.#answered(reply)
      case 'lost':
        this.#lost[reply.why] += reply.bodies
        return this.#answered(reply)
    }
  }

  #available<T>(work: () => Promise<T>): Promise<T> {
    return whileAvailable(this.#parts.database, 'the store of bodies', work)
  }

  #answered({ bodies, held }: { readonly bodies: number; readonly held: number }): void {
    this.#sent.bodies -= bodies
    this.#sent.held -= held
    this.#waitingBytes -= held
  }
}

/** Of what may be among those that wait for the thread: to say that there is nothing could be wrong. */
const onTheWay = (): GatewayError =>
  new GatewayError('overloaded', 'bodies of calls are still being stored; ask again in a moment', {
    retryAfterMs: 1000,
  })

const columns = {
  keyId: 'key_id',
  userId: 'user_id',
  teamId: 'team_id',
  organizationId: 'organization_id',
} as const

function isVisible(owner: CallOwner, visible: VisibleUsage | undefined): boolean {
  if (visible === undefined) return true
  return Object.entries(columns).some(([name, column]) => {
    const value = owner[name as keyof typeof columns]
    return value !== null && (visible[column]?.includes(value) ?? false)
  })
}

/** undefined = there can be none. */
function conditionOf(
  of: BodiesOf,
  visible: VisibleUsage | undefined,
): { readonly text: string; readonly values: readonly (string | number)[] } | undefined {
  const values: (string | number)[] = []
  const bind = (value: string | number): string => `$${values.push(value)}`
  let text: string
  if ('requestId' in of) {
    const day = dayOfId(of.requestId)
    if (day === undefined) return undefined
    text = `request_id = ${bind(of.requestId)} and day = ${bind(day)}`
  } else {
    const [[name, value]] = Object.entries(of) as [[keyof typeof columns, string]]
    if (value.includes('\0')) return undefined
    text = `${columns[name]} = ${bind(value)}`
  }
  if (visible === undefined) return { text, values }
  const seen = Object.entries(visible)
    .filter(([, ids]) => ids.length > 0)
    .map(([column, ids]) => `${column} in (${ids.map(id => bind(id)).join(', ')})`)
  return seen.length === 0 ? undefined : { text: `${text} and (${seen.join(' or ')})`, values }
}
