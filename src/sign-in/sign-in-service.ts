/** Begins and ends sessions of browsers. */
import { actorOf } from '../access/actor.ts'
import { sessionCookie, shownSession } from '../access/session-cookie.ts'
import type { Caller } from '../core/caller.ts'
import type { Session } from '../core/sign-in/session.ts'
import type { SessionStore, SignInRequest, SignInService } from '../core/sign-in/sign-in.ts'
import type { SignInSettings } from '../core/sign-in/sign-in-settings.ts'
import type { KeyDirectory } from '../core/tenancy/keys.ts'

interface SignInParts {
  readonly sessions: SessionStore
  readonly keys: Pick<KeyDirectory, 'lookupSession'>
  /** Read at each use. */
  settings(): SignInSettings
  /** As in the guard of sessions. */
  credentialOf(method: Session['method']): string | null
}

/** Over the store of sessions. */
export function createSignInService({ sessions, keys, settings, credentialOf }: SignInParts): SignInService {
  const shownCaller = async ({ headers }: SignInRequest): Promise<Caller | undefined> => {
    const shown = shownSession(headers, settings().baseUrl)
    return shown && (await keys.lookupSession(shown.secret))
  }
  /** Ends the session that the browser shows: a new one gets another id, so that none can be planted. */
  const endShown = async (request: SignInRequest): Promise<Session | undefined> => {
    const caller = await shownCaller(request)
    if (caller?.session) await sessions.revoke(caller.session.id, actorOf(caller))
    return caller?.session
  }
  return {
    async signIn({ userId, method, request }) {
      const { baseUrl, sessionIdleMs, sessionLifetimeMs } = settings()
      const { headers } = request
      // First: it refuses plain http.
      sessionCookie('', headers, baseUrl)
      await endShown(request)
      const { session, secret } = await sessions.create({
        userId,
        method,
        credential: userId === null ? credentialOf(method) : null,
        userAgent: headers.get('user-agent') ?? '',
        clientAddress: request.clientAddress,
        idleMs: sessionIdleMs,
        lifetimeMs: sessionLifetimeMs,
      })
      return { session, setCookie: sessionCookie(secret, headers, baseUrl) }
    },
    async userOf(request) {
      const { user, session } = (await shownCaller(request)) ?? {}
      return session && user && !user.blocked ? user.id : null
    },
    async signOut(request) {
      const ended = await endShown(request)
      return { userId: ended?.userId ?? null, setCookie: sessionCookie('', request.headers, settings().baseUrl) }
    },
  }
}
