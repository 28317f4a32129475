/** What can be made from everywhere by the command palette: `?new=1` opens the dialog of its page. */
import type { Session } from '../api/session.ts'
import type { StringKey } from '../strings/index.ts'
import { administers, makesKeys, makesTeams } from './rights.ts'

interface Make {
  readonly title: StringKey
  readonly to: string
  readonly for: (session: Session) => boolean
}

export const makes: readonly Make[] = [
  { title: 'keys.create', to: '/keys', for: makesKeys },
  { title: 'setup.addModel', to: '/models', for: administers },
  { title: 'teams.create', to: '/teams', for: makesTeams },
  { title: 'users.create', to: '/users', for: administers },
  { title: 'organizations.create', to: '/organizations', for: administers },
  { title: 'customers.create', to: '/customers', for: administers },
  { title: 'budgets.create', to: '/budgets', for: administers },
]
