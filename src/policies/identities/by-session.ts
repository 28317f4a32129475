/** Identifies a browser by the cookie of its session. */
import { callerProblem } from '../../access/caller.ts'
import { checkNotForeign, checkSameOrigin } from '../../access/session-cookie.ts'
import type { ShownSession } from '../../access/session-cookie.ts'
import type { Caller } from '../../core/caller.ts'
import type { AdmittedRequest } from '../../core/policy.ts'
import type { KeyDirectory } from '../../core/tenancy/keys.ts'
import type { SessionGuard } from '../../core/sign-in/sign-in.ts'
import type { Clock } from '../../lib/clock.ts'
import { KeyRefusal } from './key-refusal.ts'

/** What sessions are found and judged with. */
export interface SessionParts {
  readonly keys: KeyDirectory
  readonly clock: Clock
  readonly sessions: SessionGuard
  /** PROXY_BASE_URL; null = not given. */
  baseUrl(): string | null
}

/**
 * The caller of a session. Rejects with `unauthenticated` when it has ended or its user may not call, and with
 * `forbidden` for what the page of another site asks.
 */
export async function callerOfSession(
  { secret, secure }: ShownSession,
  { headers, method, isPage }: AdmittedRequest,
  { keys, sessions, clock, baseUrl }: SessionParts,
): Promise<Caller> {
  const caller = await keys.lookupSession(secret)
  if (!caller?.session || !(await sessions.check(caller.session)))
    throw new KeyRefusal('unknown', 'the session has ended: sign in again, or send a key')
  const problem = callerProblem(caller, clock.epochMs())
  if (problem)
    throw new KeyRefusal(
      problem,
      'the user of this session is blocked; an administrator can change that',
      caller.key.id,
    )
  if (method !== 'GET') checkSameOrigin(headers, baseUrl(), secure)
  else if (!isPage) checkNotForeign(headers, baseUrl(), secure)
  return caller
}
