/** Programs that sign in by a code, in tables that all replicas share. */
import type { SQL } from 'bun'
import { LRUCache } from 'lru-cache'
import { entryLimit } from '../../lib/entry-limit.ts'
import type {
  DeviceGrant,
  DeviceOwner,
  DeviceSignInStore,
  GrantState,
  RefreshAttempt,
  RefreshOutcome,
} from '../../core/sign-in/device-sign-in.ts'
import type { Session } from '../../core/sign-in/session.ts'
import type { ChangeActor } from '../../core/tenancy/change-actor.ts'
import type { Clock } from '../../lib/clock.ts'
import { DependentCache } from '../../lib/dependent-cache.ts'
import { toNumber, transactionInTime, transactionUnsynced, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { changeInTime } from '../tenancy/acting.ts'
import { writeAudit } from '../tenancy/audit.ts'
import { tenantSubject } from '../tenancy/changes.ts'
import type { Subject } from '../tenancy/changes.ts'

interface DeviceSignInOptions {
  readonly database: Database
  readonly clock: Pick<Clock, 'epochMs'>
  /** Ends the session of a sign-in, here and on all replicas. */
  revoke(sessionId: string, actor: ChangeActor): Promise<unknown>
}

/** Codes that wait, of all clients together: asking for one needs no key. */
const waitingMax = 10_000
/** Where they are as many. */
const droppedAtOnce = 1000
const liveMax = 50_000
const endedMax = 10_000
/** An ended sign-in never comes back, but by a backup of the database. */
const endedMs = 60_000

interface GrantRow {
  readonly user_code: string
  readonly client: string
  readonly client_address: string
  readonly created_at_ms: unknown
  readonly end_ms: unknown
  readonly state: 'pending' | 'approved' | 'denied'
  readonly user_id: string | null
  readonly team_id: string | null
}

interface SignInRow {
  readonly user_id: string
  readonly team_id: string | null
  readonly refreshes: unknown
  readonly refreshed_at_ms: unknown
  readonly last_used_at_ms: unknown
  readonly idle_end_ms: unknown
  readonly end_ms: unknown
}

/** A sign-in that had not ended when it was read. Milliseconds since 1970. */
interface LiveSignIn {
  readonly userId: string
  readonly endMs: number
}

/** Over the tables of migration 19, and `sessions`. `drop` has to be called on every change of tenancy. */
export class DeviceSignIns implements DeviceSignInStore {
  readonly #options: DeviceSignInOptions
  readonly #live: DependentCache<LiveSignIn>
  readonly #ended: LRUCache<string, true>
  #generation = 0

  constructor(options: DeviceSignInOptions) {
    this.#options = options
    this.#live = new DependentCache(liveMax, (_, { userId }) => [tenantSubject('user', userId)])
    this.#ended = new LRUCache<string, true>({ ...entryLimit(endedMax), ttl: endedMs })
  }

  /** undefined = everything may have changed. */
  drop(subjects: readonly Subject[] | undefined): void {
    this.#generation++
    if (subjects) for (const subject of subjects) this.#live.drop(subject)
    else this.#live.clear()
  }

  async ask({ deviceCodeHash, ...grant }: DeviceGrant & { readonly deviceCodeHash: string }): Promise<void> {
    await this.#available(() =>
      transactionUnsynced(this.#options.database, async tx => {
        await tx`delete from device_grants where end_ms <= ${grant.createdAtMs}`
        const counted = (await tx`select count(*) as total from device_grants`) as { total: unknown }[]
        if (toNumber(counted[0]!.total) >= waitingMax) await makeRoom(tx)
        const { userCode, client, clientAddress, createdAtMs, endMs } = grant
        await tx`
          insert into device_grants (hash, user_code, client, client_address, created_at_ms, end_ms, state)
          values (${deviceCodeHash}, ${userCode}, ${client}, ${clientAddress}, ${createdAtMs}, ${endMs}, 'pending')`
      }),
    )
  }

  async waiting(userCode: string): Promise<DeviceGrant | undefined> {
    const { database, clock } = this.#options
    const [row] = await this.#available(
      () =>
        database.sql`
        select * from device_grants
        where user_code = ${userCode} and state = 'pending' and end_ms > ${clock.epochMs()}` as Promise<GrantRow[]>,
    )
    return row && toGrant(row)
  }

  decide(userCode: string, owner: DeviceOwner | null, actor: ChangeActor): Promise<boolean> {
    const { database, clock } = this.#options
    const nowMs = clock.epochMs()
    const state = owner ? 'approved' : 'denied'
    return this.#available(() =>
      changeInTime({ database, actor, nowMs }, async tx => {
        const [row] = (await tx`
          update device_grants
          set state = ${state}, user_id = ${owner?.userId ?? null}, team_id = ${owner?.teamId ?? null}
          where user_code = ${userCode} and state = 'pending' and end_ms > ${nowMs}
          returning *`) as GrantRow[]
        if (!row) return false
        const { client, clientAddress } = toGrant(row)
        await writeAudit(tx, {
          atMs: nowMs,
          actor,
          action: owner ? 'created' : 'sign-in-refused',
          kind: 'device_approval',
          objectId: userCode,
          before: null,
          after: { client, client_address: clientAddress, team_id: owner?.teamId ?? null },
        })
        return true
      }),
    )
  }

  async take(deviceCodeHash: string): Promise<GrantState> {
    const { database, clock } = this.#options
    const { sql } = database
    const [row] = await this.#available(
      () =>
        sql`select * from device_grants where hash = ${deviceCodeHash} and end_ms > ${clock.epochMs()}` as Promise<
          GrantRow[]
        >,
    )
    if (!row) return { state: 'gone' }
    if (row.state !== 'approved') return { state: row.state }
    // Of several that ask at once one gets it.
    const [taken] = await this.#available(
      () => sql`delete from device_grants where hash = ${deviceCodeHash} returning *` as Promise<GrantRow[]>,
    )
    if (!taken?.user_id) return { state: 'gone' }
    const { client, clientAddress } = toGrant(taken)
    return { state: 'approved', userId: taken.user_id, teamId: taken.team_id, client, clientAddress }
  }

  async begin(signInId: string, { userId, teamId }: DeviceOwner): Promise<void> {
    const { database, clock } = this.#options
    await this.#available(() =>
      transactionInTime(database, async tx => {
        await tx`
          delete from device_sign_ins
          where user_id = ${userId} and not exists (select 1 from sessions where sessions.id = session_id)`
        await tx`
          insert into device_sign_ins (session_id, user_id, team_id, refreshes, refreshed_at_ms)
          values (${signInId}, ${userId}, ${teamId}, 0, ${clock.epochMs()})`
      }),
    )
  }

  async refresh(attempt: RefreshAttempt): Promise<RefreshOutcome> {
    const { database, clock, revoke } = this.#options
    const nowMs = clock.epochMs()
    const outcome = await this.#available(() =>
      transactionInTime(database, async (tx): Promise<RefreshOutcome> => {
        // Takes the lock of the row: of two that show the same token at once the second sees what the first did.
        await tx`update device_sign_ins set refreshes = refreshes where session_id = ${attempt.signInId}`
        const row = await presentSignIn(tx, attempt.signInId, nowMs)
        if (!row) return { state: 'ended' }
        const owner = { userId: row.user_id, teamId: row.team_id }
        const before = toNumber(row.refreshes)
        if (attempt.count >= before) {
          // Beyond it: this database was restored from a backup, and the token was given out since.
          const count = attempt.count + 1
          await tx`
            update device_sign_ins set refreshes = ${count}, refreshed_at_ms = ${nowMs}
            where session_id = ${attempt.signInId}`
          await keepAlive(tx, attempt.signInId, row, nowMs)
          return { state: 'refreshed', count, ...owner }
        }
        const ageMs = nowMs - toNumber(row.refreshed_at_ms)
        if (attempt.count === before - 1 && Math.abs(ageMs) <= attempt.graceMs)
          return { state: 'refreshed', count: before, ...owner }
        await writeAudit(tx, reuseEntry(attempt, row, nowMs))
        return { state: 'reused', userId: row.user_id }
      }),
    )
    if (outcome.state === 'reused' && attempt.reuse === 'end')
      await revoke(attempt.signInId, { id: outcome.userId, keyHash: 'refresh-token-reuse' })
    return outcome
  }

  isLive(signInId: string): boolean | Promise<boolean> {
    const known = this.#live.get(signInId)
    if (known) return known.endMs > this.#options.clock.epochMs()
    if (this.#ended.has(signInId)) return false
    return this.#load(signInId)
  }

  #available<T>(work: () => Promise<T>): Promise<T> {
    return whileAvailable(this.#options.database, 'sign-ins', work)
  }

  async #load(signInId: string): Promise<boolean> {
    const generation = this.#generation
    const { database, clock } = this.#options
    const row = await this.#available(() => presentSignIn(database.sql, signInId, clock.epochMs()))
    // Something changed meanwhile: the answer is for this request only.
    if (generation === this.#generation) {
      if (row) this.#live.set(signInId, { userId: row.user_id, endMs: toNumber(row.end_ms) })
      else this.#ended.set(signInId, true)
    }
    return row !== undefined
  }
}

/**
 * Refusing the new one would let a flood keep all persons out for as long as codes live. First go codes of addresses
 * that have many, of these the oldest ones. Many at once: the order costs some milliseconds.
 */
async function makeRoom(tx: SQL): Promise<void> {
  await tx`
    delete from device_grants where hash in (
      select hash from (
        select hash, end_ms, row_number() over (partition by client_address order by end_ms desc) as place
        from device_grants where state = 'pending') as waiting
      order by place desc, end_ms limit ${droppedAtOnce})`
}

/** undefined = it has ended, or its user has left its team. */
async function presentSignIn(sql: SQL, signInId: string, nowMs: number): Promise<SignInRow | undefined> {
  const rows = (await sql`
    select device_sign_ins.user_id, device_sign_ins.team_id, refreshes, refreshed_at_ms, last_used_at_ms, idle_end_ms,
      end_ms
    from device_sign_ins join sessions on sessions.id = device_sign_ins.session_id
    where session_id = ${signInId} and end_ms > ${nowMs} and idle_end_ms > ${nowMs}
      and (device_sign_ins.team_id is null or exists (
        select 1 from memberships
        where kind = 'team' and group_id = device_sign_ins.team_id
          and user_id = device_sign_ins.user_id))`) as SignInRow[]
  return rows[0]
}

/** As any use of a session does. */
async function keepAlive(tx: SQL, sessionId: Session['id'], row: SignInRow, nowMs: number): Promise<void> {
  const idleMs = toNumber(row.idle_end_ms) - toNumber(row.last_used_at_ms)
  await tx`
    update sessions set last_used_at_ms = ${nowMs}, idle_end_ms = ${nowMs + idleMs}
    where id = ${sessionId} and last_used_at_ms < ${nowMs}`
}

function reuseEntry({ signInId, count, reuse }: RefreshAttempt, row: SignInRow, nowMs: number) {
  return {
    atMs: nowMs,
    actor: { id: row.user_id, keyHash: 'refresh-token-reuse' },
    action: 'sign-in-refused',
    kind: 'session',
    objectId: signInId,
    before: null,
    after: {
      reason: `refresh token ${count} was used before`,
      newest_refresh_token: toNumber(row.refreshes),
      sign_in: reuse === 'end' ? 'ended' : 'kept',
    },
  } as const
}

const toGrant = (row: GrantRow): DeviceGrant => ({
  userCode: row.user_code,
  client: row.client,
  clientAddress: row.client_address,
  createdAtMs: toNumber(row.created_at_ms),
  endMs: toNumber(row.end_ms),
})
