/** What a person gets to see, for the navigation and for buttons: what the gateway says that the person may do. */
import type { Session } from '../api/session.ts'

type Rule = (session: Session) => boolean

const may =
  (action: Session['may'][number]): Rule =>
  session =>
    session.may.includes(action)

export const everyone: Rule = () => true

/** May change everything. */
export const isAdministrator = may('administer')

/** May read everything. */
export const mayReadAll = may('read_all')

/** Reads everything, or is a member of an organization. */
export const maySeeOrganizations = may('see_organizations')

/** May make keys: viewers only look. */
export const mayCreateKeys = may('create_keys')

/** May make teams: in every organization, or in those that it leads. */
export const mayCreateTeams = may('create_teams')
