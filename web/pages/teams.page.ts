import { Users } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { everyone } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Teams', de: 'Teams' },
  nav: { icon: Users, group: 'nav.manage', place: 40, key: 't' },
  for: everyone,
}

export const t = textsOf({
  en: {
    'teams.tags': 'Tags',
    'teams.created.toast': 'Team {name} created',
    'teams.search': 'Search teams by name',
    'teams.empty': 'No teams yet',
    'teams.emptyHelp': 'A team shares models, limits and a budget between its members.',
    'teams.role.admin': 'Admin',
    'teams.role.user': 'Member',
    'teams.block': 'Block team',
    'teams.unblock': 'Unblock team',
    'teams.blocked.toast': 'Team {name} blocked: its keys are refused',
    'teams.unblocked.toast': 'Team {name} unblocked',
    'teams.delete': 'Delete team',
    'teams.deleteHelp': 'Deletes {name} with all of its keys. Its calls stay in the logs. This cannot be undone.',
    'teams.deleted.toast': 'Team {name} deleted',
    'teams.organization': 'Organization',
    'teams.changed.toast': 'Team changed',
    'teams.removeHelp':
      'The user leaves the team, and the keys that the user has in it are deleted. This cannot be undone.',
    'teams.rights': 'What members may do',
    'teams.may.info': 'See keys of the team',
    'teams.may.health': 'Check own keys',
    'teams.may.generate': 'Create keys in the team',
    'teams.may.update': 'Change keys',
    'teams.may.regenerate': 'Rotate keys',
    'teams.may.delete': 'Delete keys',
    'teams.share.budget': 'Budget of each member',
    'teams.share.edit': 'Edit the share of members',
  },
  de: {
    'teams.tags': 'Tags',
    'teams.created.toast': 'Team {name} angelegt',
    'teams.search': 'Teams nach Namen suchen',
    'teams.empty': 'Noch keine Teams',
    'teams.emptyHelp': 'In einem Team teilen die Mitglieder Modelle, Limits und ein Budget.',
    'teams.role.admin': 'Admin',
    'teams.role.user': 'Mitglied',
    'teams.block': 'Team sperren',
    'teams.unblock': 'Team entsperren',
    'teams.blocked.toast': 'Team {name} gesperrt: Seine Schlüssel werden abgewiesen',
    'teams.unblocked.toast': 'Team {name} entsperrt',
    'teams.delete': 'Team löschen',
    'teams.deleteHelp': 'Löscht {name} mit allen Schlüsseln, endgültig. Die Aufrufe bleiben im Protokoll.',
    'teams.deleted.toast': 'Team {name} gelöscht',
    'teams.organization': 'Organisation',
    'teams.changed.toast': 'Team geändert',
    'teams.removeHelp':
      'Der Nutzer verlässt das Team, und seine Schlüssel darin werden gelöscht. Das lässt sich nicht rückgängig machen.',
    'teams.rights': 'Was Mitglieder dürfen',
    'teams.may.info': 'Schlüssel des Teams sehen',
    'teams.may.health': 'Eigene Schlüssel prüfen',
    'teams.may.generate': 'Schlüssel im Team anlegen',
    'teams.may.update': 'Schlüssel ändern',
    'teams.may.regenerate': 'Schlüssel erneuern',
    'teams.may.delete': 'Schlüssel löschen',
    'teams.share.budget': 'Budget jedes Mitglieds',
    'teams.share.edit': 'Anteil der Mitglieder bearbeiten',
  },
})
