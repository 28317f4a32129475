/** What a role gets to see: for the navigation and for buttons. The gateway decides by itself what it allows. */
import type { Session } from '../api/session.ts'

type Rule = (session: Session) => boolean

export const everyone: Rule = () => true

/** May change everything. */
export const administers: Rule = ({ role }) => role === 'proxy_admin'

/** May make keys: viewers only look. */
export const makesKeys: Rule = ({ role }) => role === 'proxy_admin' || role === 'internal_user'

/** May read everything. */
export const readsAll: Rule = ({ role }) => role === 'proxy_admin' || role === 'proxy_admin_viewer'

/** Reads everything, or is a member of an organization. */
export const seesOrganizations: Rule = session => readsAll(session) || session.organizations.length > 0

/** Viewers change nothing, admins of a team neither. */
const isViewer: Rule = ({ role }) => role === 'internal_user_viewer' || role === 'proxy_admin_viewer'

/** May change the name and the members of an organization. */
export const leadsOrganization = (session: Session, id: string | null): boolean =>
  administers(session) ||
  (!isViewer(session) && session.organizations.some(one => one.id === id && one.role === 'org_admin'))

/** May make teams: in every organization, or in those that it leads. */
export const makesTeams: Rule = session =>
  session.organizations.some(one => leadsOrganization(session, one.id)) || administers(session)

/** A team, and the organization that it belongs to. */
interface TeamPlace {
  readonly team_id: string
  readonly organization_id: string | null
}

/** May change the name, the members and their permissions. */
export const leadsTeam = (session: Session, { team_id: id, organization_id: organization }: TeamPlace): boolean =>
  leadsOrganization(session, organization) ||
  (!isViewer(session) && session.teams.some(one => one.id === id && one.role === 'admin'))

interface KeyPlace {
  readonly user_id: string | null
  readonly team_id: string | null
  readonly organization_id: string | null
}

/** May rotate, block and delete a key: the own ones, those of teams that it leads, all for administrators. */
export const changesKey = (session: Session, key: KeyPlace): boolean =>
  administers(session) ||
  (!isViewer(session) && key.user_id !== null && key.user_id === session.user_id) ||
  (key.team_id !== null && leadsTeam(session, { team_id: key.team_id, organization_id: key.organization_id }))
