/** Who makes a change, as the audit log names it. */
import { isMaster } from '../core/caller.ts'
import type { Caller } from '../core/caller.ts'
import type { KeyRecord } from '../core/tenancy/keys.ts'
import type { Actor } from '../core/tenancy/tenancy.ts'

/** The caller's user, or its key where it has none; `master` for the master key. */
export function actorOf(caller: Caller): Actor {
  const { key, session } = caller
  if (session) return { id: key.userId ?? key.id, keyHash: sessionActorKey(session.id) }
  // Callers that were read from the store have the whole record of their key.
  const { hash = '' } = key as Partial<KeyRecord>
  return { id: key.userId ?? key.id, keyHash: isMaster(caller) ? key.id : hash }
}

/** How the audit log names a session in the place of a key. */
export function sessionActorKey(sessionId: string): string {
  return `session:${sessionId}`
}
