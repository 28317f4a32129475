/**
 * The one door of every change that a request asks for: within the transaction of the change its caller is read anew,
 * and the change is refused where the caller has gone or lost a right since the request was admitted. `writeAudit`
 * refuses changes that came past it.
 */
import type { SQL } from 'bun'
import { compileCaller } from '../../access/caller.ts'
import { checkStanding } from '../../access/standing.ts'
import { isMaster, isStandInKeyId, masterCaller } from '../../core/caller.ts'
import type { Caller, VirtualKey } from '../../core/caller.ts'
import type { Session } from '../../core/sign-in/session.ts'
import type { ChangeActor } from '../../core/tenancy/change-actor.ts'
import type { KeyRecord } from '../../core/tenancy/keys.ts'
import { transactionInTime } from '../database/open.ts'
import type { Database } from '../database/open.ts'
import { lockRevision } from './changes.ts'
import { createReader } from './reader.ts'

/** Of each transaction the callers that it has read anew. */
const read = new WeakMap<SQL, Set<Caller>>()

/** Who changes something, and when. */
export interface ActingParts {
  readonly database: Database
  readonly actor: ChangeActor
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * As `transactionInTime`, for what an actor changes. Rejects with `unauthenticated` or `conflict` where the actor's
 * caller may not do any more what it might when it was admitted; then nothing is changed.
 */
export function changeInTime<T>({ database, actor, nowMs }: ActingParts, work: (tx: SQL) => Promise<T>): Promise<T> {
  return transactionInTime(database, async tx => {
    await checkActor(tx, database.kind, actor, nowMs)
    return work(tx)
  })
}

/**
 * Under the lock on all changes of tenancy, so that what is read of the caller stays true until the transaction ends.
 * Throws `unauthenticated` and `conflict`, as `checkStanding` says.
 */
export async function checkActor(
  tx: SQL,
  kind: Database['kind'],
  { caller }: ChangeActor,
  nowMs: number,
): Promise<void> {
  if (!caller) return
  await lockRevision(tx, kind)
  checkStanding(caller, await presentCaller(tx, caller, nowMs), nowMs)
  const known = read.get(tx)
  if (known) known.add(caller)
  else read.set(tx, new Set([caller]))
}

/** Throws where the actor of a change was not asked about in its transaction: an error of this program. */
export function assertChecked(tx: SQL, { caller }: ChangeActor): void {
  if (caller && !read.get(tx)?.has(caller))
    throw new Error('a change was made without asking whether its actor still may make it: use `changeInTime`')
}

/** Limits and named budgets are not filled in: rights do not depend on them. undefined = the caller is gone. */
async function presentCaller(tx: SQL, caller: Caller, nowMs: number): Promise<Caller | undefined> {
  const { session } = caller
  if (session && !(await isPresent(tx, session, nowMs))) return undefined
  // Of the operator's own keys and sessions the policy that identifies knows more.
  if (isMaster(caller)) return masterCaller
  const reader = createReader(tx)
  const key = await presentKey(tx, caller.key)
  if (!key) return undefined
  const user = key.userId === null ? undefined : await reader.find('user', key.userId)
  const team = key.teamId === null ? undefined : await reader.find('team', key.teamId)
  if ((caller.user && !user) || (caller.team && !team)) return undefined
  const organizationId = key.organizationId ?? team?.organizationId ?? null
  const organization = organizationId === null ? undefined : await reader.find('organization', organizationId)
  const memberships = user ? await reader.memberships({ userId: user.id }) : []
  return compileCaller({ key, user, team, organization, memberships })
}

/** Its idle end is left to the policy that identifies: uses of the last minute are not written yet. */
async function isPresent(tx: SQL, { id }: Session, nowMs: number): Promise<boolean> {
  const rows = (await tx`select id from sessions where id = ${id} and end_ms > ${nowMs}`) as unknown[]
  return rows.length > 0
}

/** A caller without a key has a record that is made for it; all others have that of the store. */
async function presentKey(tx: SQL, key: VirtualKey): Promise<VirtualKey | undefined> {
  return isStandInKeyId(key.id) ? key : createReader(tx).findKeyOfText((key as KeyRecord).hash)
}
