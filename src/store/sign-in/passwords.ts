/** Passwords of users and the links by which they are set. */
import { randomBytes } from 'node:crypto'
import { randomUUIDv7 } from 'bun'
import type { SQL } from 'bun'
import type { PasswordLink, PasswordStore, RefusedSignIn } from '../../core/sign-in/sign-in.ts'
import type { ChangeActor } from '../../core/tenancy/change-actor.ts'
import type { AuditEntry } from '../../core/tenancy/tenancy.ts'
import type { Clock } from '../../lib/clock.ts'
import { insisting, toNumber, transactionInTime, transactionUnsynced, whileAvailable } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { changeInTime } from '../tenancy/acting.ts'
import { writeAudit } from '../tenancy/audit.ts'
import { tenantSubject } from '../tenancy/changes.ts'
import type { Subject } from '../tenancy/changes.ts'
import { deletePasswordLinksOf, isStorable, passwordHashOf } from './password-rows.ts'
import { endSessionsOfUser } from './sessions.ts'

interface PasswordStoreOptions {
  readonly database: Database
  readonly clock: Pick<Clock, 'epochMs'>
  hashKey(secret: string): string
  /** Called after each commit, with what has changed. */
  onChange(subjects: readonly Subject[]): void
}

const tokenBytes = 32

interface LinkRow {
  readonly id: string
  readonly hash: string
  readonly user_id: string
  readonly created_at_ms: unknown
  readonly created_by: string
  readonly end_ms: unknown
}

/** Over the tables `user_passwords` and `password_links` of migration 16. */
export function createPasswordStore({ database, clock, hashKey, onChange }: PasswordStoreOptions): PasswordStore {
  const { sql } = database
  const available = <T>(work: () => Promise<T>): Promise<T> => whileAvailable(database, 'passwords', work)
  const change = <T>(work: (tx: SQL) => Promise<T>): Promise<T> => available(() => transactionInTime(database, work))
  const changeAs = <T>(actor: ChangeActor, work: (tx: SQL) => Promise<T>): Promise<T> =>
    available(() => changeInTime({ database, actor, nowMs: clock.epochMs() }, work))
  const recorded = (work: (tx: SQL) => Promise<void>) => insisting('passwords', transactionUnsynced(database, work))
  const changed = (userId: string) => onChange([tenantSubject('user', userId)])
  return {
    passwordOf: userId => available(() => passwordHashOf(sql, userId)),
    async setPassword(userId, hash, actor, keepSessionId) {
      await changeAs(actor, tx => setPassword(tx, { userId, hash, actor, nowMs: clock.epochMs(), keepSessionId }))
      changed(userId)
    },
    async createLink({ userId, lifetimeMs, keepsOthers = false }, actor) {
      const token = `mgl_${randomBytes(tokenBytes).toString('base64url')}`
      const nowMs = clock.epochMs()
      const createdBy = actor.id
      const link: PasswordLink = {
        id: randomUUIDv7(),
        userId,
        createdAtMs: nowMs,
        createdBy,
        endMs: nowMs + lifetimeMs,
      }
      await changeAs(actor, async tx => {
        await deleteLinks(tx, keepsOthers ? null : userId, nowMs)
        await insertLink(tx, link, hashKey(token), actor)
      })
      return { link, token }
    },
    async findLink(token) {
      const rows = await available(
        () =>
          sql`select * from password_links where hash = ${hashKey(token)} and end_ms > ${clock.epochMs()}` as Promise<
            LinkRow[]
          >,
      )
      return rows[0] && toLink(rows[0])
    },
    async claimLink(token, hash) {
      const nowMs = clock.epochMs()
      const claimed = await change(tx => claimLink(tx, { tokenHash: hashKey(token), passwordHash: hash, nowMs }))
      if (claimed) changed(claimed.userId)
      return claimed
    },
    withdrawLink: async (id, actor) =>
      isStorable(id) && (await changeAs(actor, tx => withdrawLink(tx, id, actor, clock.epochMs()))),
    recordRefusals: refusals =>
      recorded(async tx => {
        const atMs = clock.epochMs()
        for (const refusal of refusals) await writeAudit(tx, refusalEntry(refusal, atMs))
      }),
  }
}

function refusalEntry(refusal: RefusedSignIn, atMs: number): Omit<AuditEntry, 'id'> {
  const { userId, reason, clientAddress, further } = refusal
  const objectId = userId ?? 'unknown'
  const after = further
    ? { reason, count: further.count, client_addresses: further.addresses }
    : { reason, client_address: clientAddress }
  return {
    atMs,
    actor: { id: objectId, keyHash: '' },
    action: 'sign-in-refused',
    kind: 'user',
    objectId,
    before: null,
    after,
  }
}

interface NewPassword {
  readonly userId: string
  readonly hash: string
  readonly actor: ChangeActor
  readonly nowMs: number
  readonly keepSessionId?: string | undefined
}

async function setPassword(tx: SQL, { userId, hash, actor, nowMs, keepSessionId }: NewPassword): Promise<void> {
  const had = (await tx`select user_id from user_passwords where user_id = ${userId}`) as unknown[]
  await tx`
    insert into user_passwords (user_id, hash, changed_at_ms) values (${userId}, ${hash}, ${nowMs})
    on conflict (user_id) do update set hash = excluded.hash, changed_at_ms = excluded.changed_at_ms`
  await deletePasswordLinksOf(tx, userId)
  const before = had.length > 0 ? { changed_at: null } : null
  const after = { changed_at: new Date(nowMs).toISOString() }
  const action = before ? 'updated' : 'created'
  await writeAudit(tx, { atMs: nowMs, actor, action, kind: 'password', objectId: userId, before, after })
  await endSessionsOfUser(tx, userId, { actor, nowMs, keepId: keepSessionId })
}

/** Those that have ended, and all of the user. */
async function deleteLinks(tx: SQL, userId: string | null, nowMs: number): Promise<void> {
  await tx`delete from password_links where end_ms <= ${nowMs}`
  if (userId !== null) await deletePasswordLinksOf(tx, userId)
}

async function insertLink(tx: SQL, link: PasswordLink, hash: string, actor: ChangeActor): Promise<void> {
  const { id, userId, createdAtMs, createdBy, endMs } = link
  await tx`
    insert into password_links (id, hash, user_id, created_at_ms, created_by, end_ms)
    values (${id}, ${hash}, ${userId}, ${createdAtMs}, ${createdBy}, ${endMs})`
  const after = { user_id: userId, expires_at: new Date(endMs).toISOString() }
  const entry = { atMs: createdAtMs, actor, kind: 'password_link', objectId: id, before: null, after }
  await writeAudit(tx, { ...entry, action: 'created' })
}

async function claimLink(
  tx: SQL,
  claim: { readonly tokenHash: string; readonly passwordHash: string; readonly nowMs: number },
): Promise<PasswordLink | undefined> {
  const { tokenHash, passwordHash: hash, nowMs } = claim
  // Of several that show the same link at once, one deletes it.
  const rows = (await tx`
    delete from password_links where hash = ${tokenHash} and end_ms > ${nowMs} returning *`) as LinkRow[]
  const link = rows[0] && toLink(rows[0])
  if (!link) return undefined
  const { id, userId } = link
  await setPassword(tx, { userId, hash, actor: { id: userId, keyHash: `link:${id}` }, nowMs })
  return link
}

async function withdrawLink(tx: SQL, id: string, actor: ChangeActor, nowMs: number): Promise<boolean> {
  const rows = (await tx`delete from password_links where id = ${id} returning *`) as LinkRow[]
  if (!rows[0]) return false
  const before = { user_id: rows[0].user_id }
  const entry = { atMs: nowMs, actor, kind: 'password_link', objectId: id, before, after: null }
  await writeAudit(tx, { ...entry, action: 'deleted' })
  return true
}

const toLink = (row: LinkRow): PasswordLink => ({
  id: row.id,
  userId: row.user_id,
  createdAtMs: toNumber(row.created_at_ms),
  createdBy: row.created_by,
  endMs: toNumber(row.end_ms),
})
