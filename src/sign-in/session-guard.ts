/** Whether a session still counts: its two ends, and what the operator signed in with. */
import type { Session } from '../core/sign-in/session.ts'
import type { SessionGuard, SessionStore } from '../core/sign-in/sign-in.ts'
import type { Clock } from '../lib/clock.ts'

interface SessionGuardParts {
  readonly sessions: Pick<SessionStore, 'find' | 'touch'>
  readonly clock: Pick<Clock, 'epochMs'>
  /** What an operator would sign in with now by this method; a session with another credential has ended. */
  credentialOf(method: Session['method']): string | null
}

/** Uses within this time are written once. A quarter of the idle time where that is shorter. */
const touchMsMax = 60_000

/** When a session was used last, as this process knows it: later than it is written. */
const usedAt = new WeakMap<Session, number>()

/** Over sessions as they are cached with their callers. */
export function createSessionGuard({ sessions, clock, credentialOf }: SessionGuardParts): SessionGuard {
  const use = (session: Session, lastUsedAtMs: number, nowMs: number): true => {
    const idleMs = session.idleEndMs - session.lastUsedAtMs
    if (nowMs - lastUsedAtMs < Math.min(touchMsMax, idleMs / 4)) return true
    usedAt.set(session, nowMs)
    // Without the database the session goes on here by what this process knows.
    sessions.touch(session, nowMs).catch(() => {})
    return true
  }
  const askAgain = async (session: Session, nowMs: number): Promise<boolean> => {
    const found = await sessions.find(session.hash)
    return found !== undefined && use(session, found.lastUsedAtMs, nowMs)
  }
  return {
    check(session) {
      const nowMs = clock.epochMs()
      if (session.endMs <= nowMs) return false
      if (session.userId === null && session.credential !== credentialOf(session.method)) return false
      const lastUsedAtMs = usedAt.get(session) ?? session.lastUsedAtMs
      const idleMs = session.idleEndMs - session.lastUsedAtMs
      if (nowMs < lastUsedAtMs + idleMs) return use(session, lastUsedAtMs, nowMs)
      // Another replica may have seen it since.
      return askAgain(session, nowMs)
    },
  }
}
