/** What a role gets to see: for the navigation and for buttons. The gateway decides by itself what it allows. */
import type { Session } from '../api/session.ts'

type Rule = (session: Session) => boolean

export const everyone: Rule = () => true

/** May change everything. */
export const isAdministrator: Rule = ({ role }) => role === 'proxy_admin'

/** May make keys: viewers only look. */
export const mayCreateKeys: Rule = ({ role }) => role === 'proxy_admin' || role === 'internal_user'

/** May read everything. */
export const mayReadAll: Rule = ({ role }) => role === 'proxy_admin' || role === 'proxy_admin_viewer'

/** Reads everything, or is a member of an organization. */
export const maySeeOrganizations: Rule = session => mayReadAll(session) || session.organizations.length > 0

/** Viewers change nothing, admins of a team neither. */
const isViewer: Rule = ({ role }) => role === 'internal_user_viewer' || role === 'proxy_admin_viewer'

/** May change the name and the members of an organization. */
export const administersOrganization = (session: Session, id: string | null): boolean =>
  isAdministrator(session) ||
  (!isViewer(session) && session.organizations.some(one => one.id === id && one.role === 'org_admin'))

/** May make teams: in every organization, or in those that it leads. */
export const mayCreateTeams: Rule = session =>
  session.organizations.some(one => administersOrganization(session, one.id)) || isAdministrator(session)

/** A team, and the organization that it belongs to. */
interface TeamPlace {
  readonly team_id: string
  readonly organization_id: string | null
}

/** May change the name, the members and their permissions. */
export const administersTeam = (session: Session, { team_id: id, organization_id: organization }: TeamPlace): boolean =>
  administersOrganization(session, organization) ||
  (!isViewer(session) && session.teams.some(one => one.id === id && one.role === 'admin'))

interface KeyPlace {
  readonly user_id: string | null
  readonly team_id: string | null
  readonly organization_id: string | null
}

/** May rotate, block and delete a key: the own ones, those of teams that it leads, all for administrators. */
export const mayChangeKey = (session: Session, key: KeyPlace): boolean =>
  isAdministrator(session) ||
  (!isViewer(session) && key.user_id !== null && key.user_id === session.user_id) ||
  (key.team_id !== null && administersTeam(session, { team_id: key.team_id, organization_id: key.organization_id }))
