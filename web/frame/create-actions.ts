/** What can be made from everywhere by the command palette: `?new=1` opens the dialog of its page. */
import type { Session } from '../api/session.ts'
import type { StringKey } from '../strings/index.ts'
import { isAdministrator, mayCreateKeys, mayCreateTeams } from './rights.ts'

interface CreateAction {
  readonly title: StringKey
  readonly to: string
  readonly for: (session: Session) => boolean
}

export const createActions: readonly CreateAction[] = [
  { title: 'keys.create', to: '/keys', for: mayCreateKeys },
  { title: 'setup.addModel', to: '/models', for: isAdministrator },
  { title: 'teams.create', to: '/teams', for: mayCreateTeams },
  { title: 'users.create', to: '/users', for: isAdministrator },
  { title: 'organizations.create', to: '/organizations', for: isAdministrator },
  { title: 'customers.create', to: '/customers', for: isAdministrator },
  { title: 'budgets.create', to: '/budgets', for: isAdministrator },
]
