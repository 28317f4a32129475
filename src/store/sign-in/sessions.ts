/** Sessions of browsers, in a table that all replicas share. */
import { randomBytes } from 'node:crypto'
import { randomUUIDv7 } from 'bun'
import type { SQL } from 'bun'
import { sessionActorKey } from '../../access/actor.ts'
import { masterKeyId } from '../../core/caller.ts'
import type { Session } from '../../core/sign-in/session.ts'
import type { NewSession, SessionOwner, SessionStore } from '../../core/sign-in/sign-in.ts'
import type { ChangeActor } from '../../core/tenancy/change-actor.ts'
import type { Clock } from '../../lib/clock.ts'
import { toNumber, transactionInTime, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { changeInTime } from '../tenancy/acting.ts'
import { writeAudit } from '../tenancy/audit.ts'
import { masterSessionsSubject, noteChange, tenantSubject } from '../tenancy/changes.ts'
import type { Subject } from '../tenancy/changes.ts'
import { Where } from '../tenancy/where.ts'

interface SessionStoreOptions {
  readonly database: Database
  readonly clock: Pick<Clock, 'epochMs'>
  hashKey(secret: string): string
  /** Called after each commit, with what has changed. */
  onChange(subjects: readonly Subject[]): void
}

/** A program that signs in again and again must not fill the table. */
const sessionsOfOwnerMax = 100
const secretBytes = 32
const userAgentLengthMax = 300
const addressLengthMax = 100

interface Row {
  readonly id: string
  readonly hash: string
  readonly user_id: string | null
  readonly method: Session['method']
  readonly credential: string | null
  readonly created_at_ms: unknown
  readonly last_used_at_ms: unknown
  readonly idle_end_ms: unknown
  readonly end_ms: unknown
  readonly user_agent: string
  readonly client_address: string
}

/** Over the table `sessions` of migration 16. */
export function createSessionStore({ database, clock, hashKey, onChange }: SessionStoreOptions): SessionStore {
  const { sql } = database
  const available = <T>(work: () => Promise<T>): Promise<T> => whileAvailable(database, 'sessions', work)
  const change = (work: (tx: SQL) => Promise<Row[]>) => told(() => transactionInTime(database, work))
  const changeAs = (actor: ChangeActor, work: (tx: SQL) => Promise<Row[]>) =>
    told(() => changeInTime({ database, actor, nowMs: clock.epochMs() }, work))
  const told = async (work: () => Promise<Row[]>): Promise<number> => {
    const ended = await available(work)
    if (ended.length > 0) onChange([...new Set(ended.map(subjectOf))])
    return ended.length
  }
  return {
    async create(fields) {
      const secret = `mgs_${randomBytes(secretBytes).toString('base64url')}`
      const session = newSession(fields, hashKey(secret), clock.epochMs())
      await change(tx => insert(tx, session))
      return { session, secret }
    },
    async find(hash) {
      const where = valid(clock.epochMs())
      where.equal('hash', hash)
      const [row] = await available(() => where.select<Row>(sql, 'sessions'))
      return row && toSession(row)
    },
    async list(owner, page) {
      const where = valid(clock.epochMs())
      if (owner) whereOwner(where, owner)
      const { rows, total } = await available(() => where.page<Row>(sql, 'sessions', page))
      return { items: rows.map(toSession), total }
    },
    async revoke(id, actor, owner) {
      const where = new Where()
      where.equal('id', id)
      if (owner) whereOwner(where, owner)
      return (await changeAs(actor, tx => end(tx, where, actor, clock.epochMs()))) > 0
    },
    revokeAllOf(owner, actor, exceptId) {
      const where = new Where()
      whereOwner(where, owner)
      if (exceptId !== undefined) where.raw(`id <> ${where.bind(exceptId)}`)
      return changeAs(actor, tx => end(tx, where, actor, clock.epochMs()))
    },
    async touch({ id, idleEndMs, lastUsedAtMs }, nowMs) {
      const idleMs = idleEndMs - lastUsedAtMs
      await available(
        async () =>
          await sql`
        update sessions set last_used_at_ms = ${nowMs}, idle_end_ms = ${nowMs + idleMs}
        where id = ${id} and last_used_at_ms < ${nowMs}`,
      )
    },
  }
}

/** Ends every session of a user but one, in the transaction that deletes or blocks the user or changes the password. */
export async function endSessionsOfUser(
  tx: SQL,
  userId: string,
  {
    actor,
    nowMs,
    keepId,
  }: { readonly actor: ChangeActor; readonly nowMs: number; readonly keepId?: string | undefined },
): Promise<void> {
  const where = new Where()
  whereOwner(where, { userId })
  if (keepId !== undefined) where.raw(`id <> ${where.bind(keepId)}`)
  await end(tx, where, actor, nowMs)
}

function newSession(fields: NewSession, hash: string, nowMs: number): Session {
  const { userId, method, credential, userAgent, clientAddress, idleMs, lifetimeMs } = fields
  return {
    id: randomUUIDv7(),
    hash,
    userId,
    method,
    credential,
    createdAtMs: nowMs,
    lastUsedAtMs: nowMs,
    idleEndMs: nowMs + idleMs,
    endMs: nowMs + lifetimeMs,
    userAgent: shortened(userAgent, userAgentLengthMax),
    clientAddress: shortened(clientAddress, addressLengthMax),
  }
}

/** Resolves with the sessions that had to end for it. */
async function insert(tx: SQL, session: Session): Promise<Row[]> {
  const { id, userId, createdAtMs: nowMs } = session
  await tx`delete from sessions where end_ms <= ${nowMs}`
  const own = new Where()
  whereOwner(own, session)
  const order = `order by last_used_at_ms desc, id desc limit 1000 offset ${sessionsOfOwnerMax - 1}`
  const surplus = await own.select<Row>(tx, 'sessions', order)
  const actor: ChangeActor = { id: userId ?? masterKeyId, keyHash: sessionActorKey(id) }
  const ended = surplus.length > 0 ? await endRows(tx, surplus, actor, nowMs) : []
  await tx`insert into sessions ${tx(toRow(session))}`
  const { method, userAgent, clientAddress } = session
  await writeAudit(tx, {
    atMs: nowMs,
    actor,
    action: 'signed-in',
    kind: 'session',
    objectId: id,
    before: null,
    after: { user_id: userId, method, client_address: clientAddress, user_agent: userAgent },
  })
  return ended
}

async function end(tx: SQL, where: Where, actor: ChangeActor, nowMs: number): Promise<Row[]> {
  return endRows(tx, await where.select<Row>(tx, 'sessions'), actor, nowMs)
}

async function endRows(tx: SQL, rows: readonly Row[], actor: ChangeActor, nowMs: number): Promise<Row[]> {
  const ended: Row[] = []
  for (const row of rows) {
    // Another replica may have ended it at the same moment.
    const deleted = (await tx`delete from sessions where id = ${row.id} returning id`) as unknown[]
    if (deleted.length === 0) continue
    ended.push(row)
    const { id, user_id, method, client_address } = row
    const before = { user_id, method, client_address }
    const entry = { atMs: nowMs, actor, kind: 'session', objectId: id, before, after: null }
    await writeAudit(tx, { ...entry, action: 'signed-out' })
  }
  for (const subject of new Set(ended.map(subjectOf))) await noteChange(tx, subject)
  return ended
}

/** What the callers of a session depend on: of a user's all that the user has, so that few subjects are kept. */
const subjectOf = ({ user_id }: Row): Subject =>
  user_id === null ? masterSessionsSubject : tenantSubject('user', user_id)

function valid(nowMs: number): Where {
  const where = new Where()
  where.compare('end_ms', '>=', nowMs + 1)
  where.compare('idle_end_ms', '>=', nowMs + 1)
  return where
}

function whereOwner(where: Where, { userId }: SessionOwner): void {
  if (userId === null) where.raw('user_id is null')
  else where.equal('user_id', userId)
}

/** Postgres refuses a NUL; broken pairs of surrogates are replaced. */
const shortened = (text: string, lengthMax: number): string =>
  text.replaceAll('\0', '').slice(0, lengthMax).toWellFormed()

const toRow = (session: Session): Row => ({
  id: session.id,
  hash: session.hash,
  user_id: session.userId,
  method: session.method,
  credential: session.credential,
  created_at_ms: session.createdAtMs,
  last_used_at_ms: session.lastUsedAtMs,
  idle_end_ms: session.idleEndMs,
  end_ms: session.endMs,
  user_agent: session.userAgent,
  client_address: session.clientAddress,
})

const toSession = (row: Row): Session => ({
  id: row.id,
  hash: row.hash,
  userId: row.user_id,
  method: row.method,
  credential: row.credential,
  createdAtMs: toNumber(row.created_at_ms),
  lastUsedAtMs: toNumber(row.last_used_at_ms),
  idleEndMs: toNumber(row.idle_end_ms),
  endMs: toNumber(row.end_ms),
  userAgent: row.user_agent,
  clientAddress: row.client_address,
})
