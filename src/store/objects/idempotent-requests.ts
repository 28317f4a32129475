/** Table `idempotent_requests`: which requests were begun, and their answers. */
import type { SQL } from 'bun'
import { GatewayError } from '../../core/errors.ts'
import type {
  KeptResponse,
  IdempotentClaim,
  IdempotentRequest,
  IdempotentRequests,
} from '../../core/objects/idempotency.ts'
import type { Clock } from '../../lib/clock.ts'
import { DecryptionError, KeyRing } from '../../lib/encryption.ts'
import { answerInTime, toNumber, transaction, unlessSilent, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import type { StorageGuard } from './storage-guard.ts'

const keptMs = 24 * 3600 * 1000
/** A process that has not renewed a request for so long has died. */
const leaseMs = 20_000
const renewMs = 5000
const cleanMs = 600_000
/** A transaction without an answer is over by then. */
const doubtMs = 60_000
/** Of requests that are deleted again; of later ones the database was away for all. */
const undoneMax = 1000
/** Besides its answer. */
const recordBytes = 256

interface IdempotentRequestParts {
  readonly database: Database
  readonly guard: StorageGuard
  readonly clock: Clock
  report(problem: string): void
}

interface Row {
  readonly state: string
  readonly fingerprint: string | null
  readonly lease_end_ms: unknown
  readonly status: unknown
  readonly headers: string | null
  readonly body: string | null
  readonly end_ms: unknown
}

/** Renews what this process works on until `stop`. */
export function createIdempotentRequests(parts: IdempotentRequestParts): IdempotentRequests {
  return new StoredOnceRequests(parts)
}

class StoredOnceRequests implements IdempotentRequests {
  readonly #parts: IdempotentRequestParts
  readonly #sql: SQL
  /** What this process works on: owners by id. */
  readonly #held = new Map<string, string>()
  /** Requests that did nothing, by owner: their records may be there all the same, or be stored at any moment. */
  readonly #undone = new Map<string, { readonly id: string; readonly untilMs: number }>()
  /** What a process before left on this SQLite file is marked: no other process uses the file. */
  readonly #ready: Promise<unknown>
  readonly #timers: readonly ReturnType<typeof setInterval>[]

  constructor(parts: IdempotentRequestParts) {
    this.#parts = parts
    this.#sql = parts.database.sql
    this.#ready =
      parts.database.kind === 'sqlite'
        ? this.#sql`update idempotent_requests set state = 'lost' where state = 'running'`
        : Promise.resolve()
    this.#ready.catch(reason => parts.report(`requests of before could not be marked: ${String(reason)}`))
    const every = (ms: number, work: () => Promise<unknown>, what: string) =>
      setInterval(() => void work().catch(reason => parts.report(`${what}: ${String(reason)}`)), ms)
    this.#timers = [
      every(renewMs, () => this.#renew(), 'requests under way could not be renewed'),
      every(cleanMs, () => this.#clean(), 'old requests could not be deleted'),
    ]
  }

  async claim(request: IdempotentRequest): Promise<IdempotentClaim> {
    let claimed: Promise<IdempotentClaim> | undefined
    try {
      return await this.#available(() => (claimed = this.#claim(request)))
    } catch (error) {
      // It may be stored now or later, of a request that is refused: the next one with its key would wait for it.
      if (claimed && error instanceof GatewayError && error.kind === 'overloaded') {
        this.#undo(request)
        const forget = () => void this.forget(request).catch(() => {})
        void claimed.then(forget, forget)
      }
      throw error
    }
  }

  look(request: Sealed): Promise<Exclude<IdempotentClaim, { state: 'first' }> | undefined> {
    return this.#available(() => this.#find(request))
  }

  answered(request: IdempotentRequest, response: KeptResponse): Promise<void> {
    return this.#recorded(this.#answered(request, response))
  }

  lost(request: IdempotentRequest): Promise<void> {
    return this.#recorded(this.#lost(request))
  }

  forget(request: IdempotentRequest): Promise<void> {
    return this.#recorded(this.#forget(request))
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  // ---- inside

  /** The end of a request insists, but its answer does not wait for a silent database, and for a late one 5 s. */
  #recorded(work: Promise<void>): Promise<void> {
    work.catch(() => {})
    return answerInTime(unlessSilent(this.#parts.database, () => work))
  }

  async #answered(request: IdempotentRequest, response: KeptResponse): Promise<void> {
    const { id, keyId, fingerprint, owner } = request
    const keys = new KeyRing([request.sealingKey])
    const body = keys.seal(response.body, encryptionContext(id, 'body'))
    const headers = keys.seal(JSON.stringify(response.headers), encryptionContext(id, 'headers'))
    const bytes = recordBytes + body.length + headers.length
    try {
      await transaction(this.#parts.database, async tx => {
        await tx`update idempotent_requests set state = 'sealed', fingerprint = ${fingerprint},
          status = ${response.status}, headers = ${headers}, body = ${body}, bytes = ${bytes}
          where id = ${id} and owner = ${owner}`
        await this.#parts.guard.check(tx, keyId, bytes)
      })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      await this.#lost(request)
    } finally {
      // Without a record of its end it is lost when its lease ends.
      this.#release(request)
    }
  }

  async #lost(request: IdempotentRequest): Promise<void> {
    const { id, fingerprint, owner } = request
    this.#release(request)
    await this.#sql`update idempotent_requests set state = 'lost', fingerprint = ${fingerprint}
      where id = ${id} and owner = ${owner}`
  }

  async #forget(request: IdempotentRequest): Promise<void> {
    const { id, owner } = request
    this.#release(request)
    try {
      await this.#sql`delete from idempotent_requests where id = ${id} and owner = ${owner}`
    } catch (error) {
      this.#undo(request)
      throw error
    }
  }

  #release({ id, owner }: IdempotentRequest): void {
    if (this.#held.get(id) === owner) this.#held.delete(id)
  }

  #undo({ id, owner }: IdempotentRequest): void {
    if (this.#undone.size < undoneMax)
      this.#undone.set(owner, { id, untilMs: this.#parts.clock.monotonicMs() + doubtMs })
  }

  #available<T>(work: () => Promise<T>): Promise<T> {
    return whileAvailable(this.#parts.database, 'the record of requests with an `Idempotency-Key`', work)
  }

  /** The record is stored when this resolves with `first`: so a request is done once, also where a process dies. */
  async #claim(request: IdempotentRequest): Promise<IdempotentClaim> {
    const { id, keyId, fingerprint, owner } = request
    await this.#ready
    const known = await this.#find(request)
    if (known) return known
    const nowMs = this.#parts.clock.epochMs()
    const isFirst = await transaction(this.#parts.database, async tx => {
      await tx`delete from idempotent_requests where id = ${id} and end_ms <= ${nowMs}`
      const made = (await tx`insert into idempotent_requests
        (id, key_id, fingerprint, state, owner, lease_end_ms, bytes, created_at_ms, end_ms) values
        (${id}, ${keyId}, ${fingerprint}, 'running', ${owner}, ${nowMs + leaseMs}, ${recordBytes}, ${nowMs},
        ${nowMs + keptMs}) on conflict (id) do nothing returning id`) as unknown[]
      if (made.length > 0) await this.#parts.guard.check(tx, keyId, recordBytes)
      return made.length > 0
    })
    if (!isFirst) return (await this.#find(request)) ?? this.#claim(request)
    this.#held.set(id, owner)
    return { state: 'first' }
  }

  async #find({ id, sealingKey }: Sealed): Promise<Exclude<IdempotentClaim, { state: 'first' }> | undefined> {
    const nowMs = this.#parts.clock.epochMs()
    const [row] = (await this.#sql`select state, fingerprint, lease_end_ms, status, headers, body, end_ms
      from idempotent_requests where id = ${id}`) as Row[]
    if (!row || toNumber(row.end_ms) <= nowMs) return undefined
    const { fingerprint } = row
    if (row.state === 'sealed') {
      const response = openedResponse(row, { id, sealingKey })
      return response ? { state: 'answered', fingerprint, response } : { state: 'lost', fingerprint }
    }
    // Of the version before, which writes to the same database during an upgrade.
    if (row.state === 'answered') return { state: 'answered', fingerprint, response: plainResponse(row) }
    const isAlive = this.#held.has(id) || toNumber(row.lease_end_ms) > nowMs
    return { state: row.state === 'running' && isAlive ? 'running' : 'lost', fingerprint }
  }

  async #renew(): Promise<void> {
    const endMs = this.#parts.clock.epochMs() + leaseMs
    for (const [id, owner] of this.#held)
      await this.#sql`update idempotent_requests set lease_end_ms = ${endMs} where id = ${id} and owner = ${owner}`
    const undone = [...this.#undone]
    if (undone.length === 0) return
    await this.#sql`delete from idempotent_requests
      where id in ${this.#sql(undone.map(([, { id }]) => id))}
        and owner in ${this.#sql(undone.map(([owner]) => owner))}`
    const nowMs = this.#parts.clock.monotonicMs()
    for (const [owner, { untilMs }] of undone) if (untilMs <= nowMs) this.#undone.delete(owner)
  }

  async #clean(): Promise<void> {
    await this.#sql`delete from idempotent_requests where end_ms <= ${this.#parts.clock.epochMs()}`
  }
}

type Sealed = Pick<IdempotentRequest, 'id' | 'sealingKey'>

const encryptionContext = (id: string, column: 'headers' | 'body'): string => `idempotent_requests.${column}:${id}`

/** undefined = it was changed since it was written. */
function openedResponse({ status, headers, body }: Row, { id, sealingKey }: Sealed): KeptResponse | undefined {
  const keys = new KeyRing([sealingKey])
  try {
    return {
      status: toNumber(status),
      headers: JSON.parse(keys.open(headers ?? '', encryptionContext(id, 'headers')).toString('utf8')) as Record<
        string,
        string
      >,
      body: new Uint8Array(keys.open(body ?? '', encryptionContext(id, 'body'))),
    }
  } catch (error) {
    if (error instanceof DecryptionError) return undefined
    throw error
  }
}

function plainResponse({ status, headers, body }: Row): KeptResponse {
  return {
    status: toNumber(status),
    headers: JSON.parse(headers ?? '{}') as Record<string, string>,
    body: new Uint8Array(Buffer.from(body ?? '', 'base64')),
  }
}
