/** What a role gets to see: for the navigation and for buttons. The gateway decides by itself what it allows. */
import type { Session } from '../api/session.ts'

type Rule = (session: Session) => boolean

export const everyone: Rule = () => true

/**
 * May change everything.
 * @public
 */
export const administers: Rule = ({ role }) => role === 'proxy_admin'

/** May make keys: viewers only look. */
export const makesKeys: Rule = ({ role }) => role === 'proxy_admin' || role === 'internal_user'

/**
 * May read everything.
 * @public
 */
export const readsAll: Rule = ({ role }) => role === 'proxy_admin' || role === 'proxy_admin_viewer'

/**
 * Is an admin of a team or an organisation, or administers all.
 * @public
 */
export const leads: Rule = session =>
  administers(session) ||
  [...session.teams, ...session.organizations].some(one => one.role === 'admin' || one.role === 'org_admin')
