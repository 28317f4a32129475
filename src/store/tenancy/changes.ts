/** Every change of a key or of an object of tenancy has a revision of its own, by which other processes follow. */
import type { SQL } from 'bun'
import type { Membership, TenantKind } from '../../core/tenancy/tenancy.ts'
import { answerInTime, toNumber } from '../database/open.ts'
import type { Database } from '../database/open.ts'

/** What changed: `key:HASH`, `team:ID`, `user:ID`, ... */
export type Subject = string

/** The subject of a key. */
export const keySubject = (hash: string): Subject => `key:${hash}`
/** The subject of all sessions that the operator began. */
export const masterSessionsSubject: Subject = 'sessions:master'
/** The subject of a stored object. */
export const tenantSubject = (kind: TenantKind, id: string): Subject => `${kind}:${id}`
/** Memberships are read with their user. */
export const membershipSubject = ({ userId }: Pick<Membership, 'userId'>): Subject => tenantSubject('user', userId)

/** The row is locked until the commit, so that revisions become visible in their order. */
export async function nextRevision(tx: SQL): Promise<number> {
  const rows = (await tx`
    update installation set value = cast(cast(value as bigint) + 1 as text)
    where name = 'keys_revision' returning value`) as { value: string }[]
  return Number(rows[0]!.value)
}

/** Makes the caches of all processes drop what depends on the subject; resolves with the change's revision. */
export async function noteChange(tx: SQL, subject: Subject): Promise<number> {
  const revision = await nextRevision(tx)
  await tx`
    insert into tenancy_changes (subject, revision) values (${subject}, ${revision})
    on conflict (subject) do update set revision = excluded.revision`
  return revision
}

/** What changed after a revision, the oldest change first, and the newest revision among it. */
export interface Changes {
  readonly subjects: readonly Subject[]
  /** Of each subject, in the same order. */
  readonly revisions: readonly number[]
  readonly revision: number
}

const changesMax = 10_000

/** Deleted keys and objects are among them. At most 10,000: the rest comes with the next question. */
export async function changesSince(database: Database, revision: number): Promise<Changes> {
  const changes = database.sql`
    select 'key:' || hash as subject, revision from virtual_keys where revision > ${revision}
    union all
    select subject, revision from tenancy_changes where revision > ${revision}
    order by revision limit ${changesMax}`
  const rows = await answerInTime<{ subject: string; revision: unknown }[]>(changes)
  const revisions = rows.map(row => toNumber(row.revision))
  return { subjects: rows.map(row => row.subject), revisions, revision: revisions.at(-1) ?? revision }
}

/**
 * Puts changes one after the other, in all replicas: what a transaction has read after it stays true until its end. On
 * SQLite the transaction's own lock does.
 */
export async function lockRevision(tx: SQL, kind: Database['kind']): Promise<void> {
  if (kind === 'postgres') await tx`select value from installation where name = 'keys_revision' for update`
}
