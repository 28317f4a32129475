/** Who makes a change, as the audit log names it. */
import { isMaster } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import type { KeyRecord } from '../core/tenancy/keys.ts'
import { directoryActorId } from '../core/tenancy/actors.ts'
import type { ChangeActor } from '../core/tenancy/change-actor.ts'

/**
 * The caller's user, or its key where it has none; `master` for the master key, and one name for all directories. Each
 * change that it makes asks about the caller once more.
 */
export function actorOf(caller: Caller): ChangeActor {
  const { key, session, role } = caller
  if (session) return { id: key.userId ?? key.id, keyHash: sessionActorKey(session.id), caller }
  // Callers that were read from the store have the whole record of their key.
  const { hash = '' } = key as Partial<KeyRecord>
  if (role === 'directory') return { id: directoryActorId, keyHash: hash, caller }
  return { id: key.userId ?? key.id, keyHash: isMaster(caller) ? key.id : hash, caller }
}

/** How the audit log names a session in the place of a key. */
export function sessionActorKey(sessionId: string): string {
  return `session:${sessionId}`
}
