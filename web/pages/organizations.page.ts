import { Building2 } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { maySeeOrganizations } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Organizations', de: 'Organisationen' },
  nav: { icon: Building2, group: 'nav.manage', place: 70, key: 'r' },
  for: maySeeOrganizations,
}

export const t = textsOf({
  en: {
    'organizations.search': 'Search organizations by name',
    'organizations.empty': 'No organizations yet',
    'organizations.emptyHelp': 'An organization holds teams, with models, limits and a budget above theirs.',
    'organizations.role.user': 'Member',
    'organizations.role.viewer': 'Member, read only',
    'organizations.role.admin': 'Admin',
    'organizations.removeHelp': 'The user leaves the organization. Teams and keys of the user stay as they are.',
    'organizations.noTeams': 'No team yet. Create one in Teams, in this organization.',
    'organizations.created.toast': 'Organization {name} created',
    'organizations.changed.toast': 'Organization changed',
    'organizations.blocked.toast': 'Organization {name} blocked: its keys are refused',
    'organizations.unblocked.toast': 'Organization {name} unblocked',
    'organizations.delete': 'Delete organization',
    'organizations.deleteHelp':
      'Deletes {name} with its teams and all of their keys. Their calls stay in the logs. This cannot be undone.',
    'organizations.deleted.toast': 'Organization {name} deleted',
  },
  de: {
    'organizations.search': 'Organisationen nach Namen suchen',
    'organizations.empty': 'Noch keine Organisationen',
    'organizations.emptyHelp':
      'Eine Organisation fasst Teams zusammen, mit Modellen, Grenzen und einem Budget über deren eigenen.',
    'organizations.role.user': 'Mitglied',
    'organizations.role.viewer': 'Mitglied, nur lesend',
    'organizations.role.admin': 'Admin',
    'organizations.removeHelp':
      'Der Nutzer verlässt die Organisation. Teams und Schlüssel des Nutzers bleiben, wie sie sind.',
    'organizations.noTeams': 'Noch kein Team. Lege eines unter Teams an, in dieser Organisation.',
    'organizations.created.toast': 'Organisation {name} angelegt',
    'organizations.changed.toast': 'Organisation geändert',
    'organizations.blocked.toast': 'Organisation {name} gesperrt: ihre Schlüssel werden abgelehnt',
    'organizations.unblocked.toast': 'Organisation {name} entsperrt',
    'organizations.delete': 'Organisation löschen',
    'organizations.deleteHelp':
      'Löscht {name} mit allen Teams und deren Schlüsseln. Die Aufrufe bleiben im Protokoll. Das lässt sich nicht rückgängig machen.',
    'organizations.deleted.toast': 'Organisation {name} gelöscht',
  },
})
