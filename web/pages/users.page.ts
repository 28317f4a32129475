import { UserRound } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { mayReadAll } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Users', de: 'Personen' },
  nav: { icon: UserRound, group: 'nav.manage', place: 50, key: 'u' },
  for: mayReadAll,
}

export const t = textsOf({
  en: {
    'users.email': 'E-mail address',
    'users.role': 'Role',
    'users.everyRole': 'Every role',
    'users.search': 'Search users by name, e-mail address or id',
    'users.created.toast': 'User {name} created',
    'users.changed.toast': 'User {name} changed',
    'users.empty': 'No users yet',
    'users.emptyHelp': 'Users appear at their first sign-in, or are created here.',
    'users.block': 'Block user',
    'users.unblock': 'Unblock user',
    'users.delete': 'Delete user',
    'users.deleteHelp':
      'Deletes {name} with all keys, and signs out everywhere. The calls stay in the logs. This cannot be undone.',
    'users.deleted.toast': 'User {name} deleted',
    'users.invite': 'Invite',
    'users.invite.title': 'Invitation for {name}',
    'users.invite.sent': 'The link was mailed. It sets a password, once; earlier links no longer work.',
    'users.invite.notSent': 'Give this link to the user. It sets a password, once; earlier links no longer work.',
    'users.invite.copy': 'Copy link',
    'users.invite.ends': 'Valid until',
  },
  de: {
    'users.email': 'E-Mail-Adresse',
    'users.role': 'Rolle',
    'users.everyRole': 'Jede Rolle',
    'users.search': 'Personen nach Name, E-Mail-Adresse oder Id suchen',
    'users.created.toast': '{name} angelegt',
    'users.changed.toast': '{name} geändert',
    'users.empty': 'Noch keine Personen',
    'users.emptyHelp': 'Personen erscheinen mit ihrer ersten Anmeldung, oder werden hier angelegt.',
    'users.block': 'Person sperren',
    'users.unblock': 'Person entsperren',
    'users.delete': 'Person löschen',
    'users.deleteHelp': 'Löscht {name} mit allen Schlüsseln, endgültig. Die Aufrufe bleiben im Protokoll.',
    'users.deleted.toast': '{name} gelöscht',
    'users.invite': 'Einladen',
    'users.invite.title': 'Einladung für {name}',
    'users.invite.sent':
      'Der Link wurde per E-Mail verschickt. Er setzt einmal ein Passwort; frühere Links gelten nicht mehr.',
    'users.invite.notSent':
      'Gib diesen Link dem Nutzer. Er setzt einmal ein Passwort; frühere Links gelten nicht mehr.',
    'users.invite.copy': 'Link kopieren',
    'users.invite.ends': 'Er endet',
  },
})
