import type { Services } from '../../../core/endpoint.ts'
import type { Session } from '../../../core/sign-in/session.ts'

/** Where the panel is. */
export const panelPath = '/ui/'

/** The answer to programs and the panel after a sign-in; `path` = where the browser goes on. */
export function signedIn(session: Session, { current }: Services, path = panelPath) {
  const { baseUrl, rootPath } = current.settings.signIn
  return {
    redirect_url: (baseUrl ?? rootPath) + path,
    user_id: session.userId,
    session_id: session.id,
    expires_at: new Date(session.endMs).toISOString(),
  }
}
