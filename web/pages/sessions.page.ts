import { MonitorSmartphone } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { everyone } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Sessions', de: 'Sitzungen' },
  nav: { icon: MonitorSmartphone, group: 'nav.settings', place: 20, key: 'i' },
  for: everyone,
}

export const t = textsOf({
  en: {
    'sessions.device': 'Device',
    'sessions.address': 'Address',
    'sessions.used': 'Last used',
    'sessions.ends': 'Ends',
    'sessions.end': 'Sign out',
    'sessions.endAll': 'Sign out everywhere',
    'sessions.endAllHelp': 'All sessions end within a second, this one too. Keys stay valid.',
    'sessions.ended': 'Session ended',
    'sessions.current': 'This one',
    'sessions.unknown': 'Unknown',
    'sessions.empty': 'No sessions',
    'sessions.password': 'Password',
    'sessions.passwordCurrent': 'Present password',
    'sessions.passwordNew': 'New password',
    'sessions.passwordAgain': 'New password again',
    'sessions.passwordHelp': '12 to 256 characters. Other sessions of yours end.',
    'sessions.passwordDifferent': 'It is not the same as above.',
    'sessions.passwordChange': 'Change password',
    'sessions.passwordChanged': 'Password changed; other sessions have ended',
    'sessions.byKey': 'Signed in with a key',
    'sessions.byKeyHelp': 'A key has no list of sessions. Sign in as a person to see where you are signed in.',
  },
  de: {
    'sessions.device': 'Gerät',
    'sessions.address': 'Adresse',
    'sessions.used': 'Zuletzt genutzt',
    'sessions.ends': 'Endet',
    'sessions.end': 'Abmelden',
    'sessions.endAll': 'Überall abmelden',
    'sessions.endAllHelp': 'Alle Sitzungen enden binnen einer Sekunde, auch diese. Schlüssel bleiben gültig.',
    'sessions.ended': 'Sitzung beendet',
    'sessions.current': 'Diese hier',
    'sessions.unknown': 'Unbekannt',
    'sessions.empty': 'Keine Sitzungen',
    'sessions.password': 'Passwort',
    'sessions.passwordCurrent': 'Jetziges Passwort',
    'sessions.passwordNew': 'Neues Passwort',
    'sessions.passwordAgain': 'Neues Passwort noch einmal',
    'sessions.passwordHelp': '12 bis 256 Zeichen. Deine anderen Sitzungen enden.',
    'sessions.passwordDifferent': 'Es ist nicht dasselbe wie oben.',
    'sessions.passwordChange': 'Passwort ändern',
    'sessions.passwordChanged': 'Passwort geändert; andere Sitzungen sind beendet',
    'sessions.byKey': 'Mit einem Schlüssel angemeldet',
    'sessions.byKeyHelp': 'Ein Schlüssel hat keine Liste von Anmeldungen. Melde dich als Person an, um deine zu sehen.',
  },
})
