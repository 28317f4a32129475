/** German. */
import type { Catalogue } from './index.ts'

export const catalogue: Catalogue = {
  // All pages
  'all.loading': 'Wird geladen',
  'all.close': 'Schließen',
  'all.cancel': 'Abbrechen',
  'all.copy': 'Kopieren',
  'all.copied': 'Kopiert',
  'all.retry': 'Erneut versuchen',
  'all.search': 'Suchen',
  'all.more': 'Mehr laden',
  'all.none': 'Keine',
  'all.unlimited': 'Ohne Grenze',
  'all.columns': 'Spalten',
  'all.details': 'Einzelheiten',
  'all.showMenu': 'Menü zeigen',
  'all.requestId': 'Anfrage-Id',
  'all.noMatch': 'Nichts passt',
  'all.remove': '{what} entfernen',
  'all.typeToConfirm': 'Zur Bestätigung {name} eintippen',
  'all.skip': 'Zum Inhalt',

  // Errors
  'error.offline': 'Das Gateway antwortet nicht',
  'error.offlineHelp':
    'Prüfe, ob es läuft und von diesem Gerät zu erreichen ist. Was du getippt hast, bleibt erhalten.',
  'error.forbidden': 'Deine Rolle erlaubt das nicht',
  'error.forbiddenHelp': 'Deine Rolle ist {role}. Die Verwaltung kann sie ändern.',
  'error.notFound': 'Das gibt es nicht',
  'error.notFoundHelp': 'Es wurde vielleicht gelöscht, oder die Adresse stimmt nicht.',
  'error.conflict': 'Das verträgt sich nicht mit dem Gespeicherten',
  'error.conflictHelp': 'Hat es inzwischen jemand geändert: lade es neu und wiederhole deine Änderung.',
  'error.invalid': 'Das Gateway hat das abgelehnt',
  'error.rate': 'Zu viele Anfragen',
  'error.rateHelp': 'Warte einen Moment und versuche es erneut.',
  'error.server': 'Das Gateway ist gescheitert',
  'error.serverHelp': 'Die Anfrage-Id führt in seinem Protokoll zum Grund.',
  'error.page': 'Diese Seite hat einen Fehler',
  'error.pageHelp': 'Lade sie neu. Die anderen Seiten arbeiten.',

  // Navigation and frame
  'nav.label': 'Seiten',
  'nav.overview': 'Übersicht',
  'nav.build': 'Bauen',
  'nav.observe': 'Beobachten',
  'nav.manage': 'Verwalten',
  'nav.extend': 'Erweitern',
  'nav.settings': 'Einstellungen',
  'nav.keys': 'Schlüssel',
  'nav.teams': 'Teams',
  'nav.users': 'Personen',
  'nav.audit': 'Änderungen',
  'nav.health': 'Zustand',
  'nav.sessions': 'Sitzungen',
  'frame.account': 'Konto',
  'frame.signOut': 'Abmelden',
  'frame.theme': 'Farben',
  'frame.theme.system': 'Wie das System',
  'frame.theme.light': 'Hell',
  'frame.theme.dark': 'Dunkel',
  'frame.language': 'Sprache',
  'frame.shortcuts': 'Tastatur',
  'frame.apiDocs': 'API-Referenz',
  'frame.operator': 'Betrieb',

  // Command palette and keyboard
  'palette.title': 'Gehe zu oder tue',
  'palette.placeholder': 'Seiten und Aktionen suchen',
  'palette.pages': 'Seiten',
  'palette.actions': 'Aktionen',
  'shortcuts.title': 'Tastatur',
  'shortcuts.palette': 'Befehlsliste öffnen',
  'shortcuts.search': 'Auf dieser Seite suchen',
  'shortcuts.create': 'Hauptaktion dieser Seite',
  'shortcuts.help': 'Diese Liste zeigen',
  'shortcuts.rows': 'Nächste und vorige Zeile',
  'shortcuts.open': 'Zeile öffnen',
  'shortcuts.close': 'Offenes schließen',
  'shortcuts.goTo': 'Gehe zu {page}',

  // Parts
  'secret.once': 'Wird einmal gezeigt, danach nie wieder.',
  'secret.copy': 'Schlüssel kopieren',
  'meter.of': '{used} von {limit}',
  'meter.resets': 'beginnt neu {when}',
  'meter.forecast': 'bei diesem Tempo erreicht {when}',
  'table.sortBy': 'Nach {column} ordnen',
  'filter.placeholder': 'Filter, zum Beispiel {example}',
  'filter.clear': 'Filter leeren',
  'range.label': 'Zeitraum',
  'range.1h': 'letzte Stunde',
  'range.24h': 'letzte 24 Std.',
  'range.7d': 'letzte 7 Tage',
  'range.30d': 'letzte 30 Tage',
  'range.custom': '{from} bis {to}',
  'chart.table': 'Als Tabelle',
  'chart.chart': 'Als Bild',
  'chart.time': 'Zeit',
  'histogram.label': 'Aufrufe über die Zeit. Ziehen wählt einen Zeitraum.',
  'money.unknown': 'kein Preis',
  'tokens.short': '{count} Tok.',
  'tokens.exact': '{count} Token',

  // Signing in
  'signIn.title': 'Bei Modelgate anmelden',
  'signIn.action': 'Anmelden',
  'signIn.asUser': 'Benutzer',
  'signIn.asOperator': 'Betrieb',
  'signIn.with': 'Anmelden mit {name}',
  'signIn.username': 'Benutzer-Id oder E-Mail',
  'signIn.password': 'Passwort',
  'signIn.masterKey': 'Hauptschlüssel',
  'signIn.masterKeyHelp': 'Für den Betrieb: der Schlüssel, mit dem das Gateway gestartet wurde.',
  'signIn.development': 'Schlüssel in dieser Seite verwenden (Entwicklung)',
  'signIn.fallback': 'Ohne JavaScript anmelden',
  'signIn.ended': 'Deine Sitzung ist zu Ende',
  'signIn.endedHelp': 'Melde dich wieder an und mache weiter. Was du getippt hast, ist noch da.',

  // Sessions
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

  // Overview and setup
  'overview.models': 'Modelle, die du aufrufen darfst',
  'overview.noModels': 'Noch keine Modelle',
  'overview.noModelsHelp': 'Die Verwaltung fügt sie hinzu oder gibt sie dir frei.',
  'setup.title': 'Dieses Gateway einrichten',
  'setup.done': 'erledigt',
  'setup.model': 'Ein Modell eines Anbieters hinzufügen',
  'setup.modelHelp': 'Mit deinem Schlüssel dort. Er wird verschlüsselt gespeichert und nie wieder gezeigt.',
  'setup.key': 'Einen Schlüssel anlegen',
  'setup.keyHelp': 'Programme verwenden ihn anstelle des Schlüssels beim Anbieter.',
  'setup.call': 'Den ersten Aufruf machen',
  'setup.callHelp': 'Diese Seite bemerkt ihn von selbst.',
  'setup.addModel': 'Modell hinzufügen',
  'setup.addModelHelp': 'Programme rufen es sofort unter seinem Namen auf.',
  'setup.modelAdded': 'Modell {name} hinzugefügt',
  'setup.provider': 'Anbieter',
  'setup.ownServer': 'Eigener Server (OpenAI-kompatibel)',
  'setup.baseUrl': 'Basis-URL',
  'setup.apiKey': 'API-Schlüssel',
  'setup.apiKeyHelp': 'Vom Anbieter. Leer, wenn er keinen verlangt.',
  'setup.modelName': 'Modell',
  'setup.modelNameHelp': 'Wie der Anbieter es nennt, zum Beispiel {example}',

  // Playground

  // Model hub

  // Connect

  // Chat

  // Usage

  // Logs

  // Health

  // Audit

  // Keys
  'keys.name': 'Name',
  'keys.key': 'Schlüssel',
  'keys.status': 'Zustand',
  'keys.created': 'Angelegt',
  'keys.active': 'Aktiv',
  'keys.blocked': 'Gesperrt',
  'keys.expired': 'Abgelaufen',
  'keys.empty': 'Noch keine Schlüssel',
  'keys.budget': 'Budget',
  'keys.id': 'Id',
  'keys.models': 'Modelle',
  'keys.allModels': 'Alle, die du aufrufen darfst',
  'keys.modelsHelp': 'Leer = alle',
  'keys.team': 'Team',
  'keys.noTeam': 'Kein Team',
  'keys.user': 'Benutzer',
  'keys.spend': 'Ausgaben',
  'keys.rpm': 'Anfragen je Minute',
  'keys.tpm': 'Token je Minute',
  'keys.parallel': 'Aufrufe zugleich',
  'keys.expires': 'Läuft ab',
  'keys.never': 'Nie',
  'keys.nameHelp': 'Damit du ihn wiedererkennst, zum Beispiel ci-bot',
  'keys.create': 'Schlüssel anlegen',
  'keys.createHelp': 'Programme rufen damit Modelle auf, auf deine Rechnung.',
  'keys.created.title': 'Schlüssel {name} angelegt',
  'keys.emptyHelp': 'Mit einem Schlüssel ruft ein Programm oder ein Agent Modelle auf.',
  'keys.haveCopied': 'Ich habe ihn kopiert',
  'keys.closeAnyway': 'Schließen ohne zu kopieren',
  'keys.notCopied': 'Du hast den Schlüssel nicht kopiert. Nach dem Schließen ist er weg, dann hilft nur ein neuer.',
  'keys.firstCall': 'Erster Aufruf',
  'keys.rotate': 'Schlüssel erneuern',
  'keys.rotateTitle': 'Schlüssel {name} erneuern',
  'keys.rotateHelp': 'Der Schlüssel bekommt einen neuen Text. Name, Grenzen und Ausgaben bleiben.',
  'keys.rotated': 'Neuer Text für Schlüssel {name}',
  'keys.grace': 'Der alte Text gilt weiter',
  'keys.grace.none': 'Gar nicht',
  'keys.grace.24h': '24 Stunden',
  'keys.grace.7d': '7 Tage',
  'keys.block': 'Schlüssel sperren',
  'keys.unblock': 'Schlüssel entsperren',
  'keys.delete': 'Schlüssel löschen',
  'keys.deleteTitle': 'Schlüssel {name} löschen',
  'keys.deleteHelp':
    'Programme damit werden sofort abgewiesen. Das lässt sich nicht zurücknehmen; die Ausgaben bleiben im Protokoll.',
  'keys.deleted': 'Schlüssel {name} gelöscht',
  'keys.yourLimits': 'Deine Grenzen, für alle deine Schlüssel zusammen',

  // Teams

  // Users

  // Organisations

  // Customers

  // Models

  // Providers

  // Budgets

  // Guardrails

  // Caching

  // Settings

  // Limits and budgets
  'limits.budget': 'Budget',
  'limits.period': 'Zeitraum des Budgets',
  'limits.forEver': 'Einmalig, ohne Rücksetzen',
  'limits.requests': 'Anfragen pro Minute',
  'limits.tokens': 'Token pro Minute',
  'limits.parallel': 'Aufrufe gleichzeitig',
  'limits.models': 'Modelle',
  'limits.everyModel': 'Jedes Modell',

  // Teams
  'teams.name': 'Name',
  'teams.status': 'Status',
  'teams.active': 'Aktiv',
  'teams.blocked': 'Gesperrt',
  'teams.members': 'Mitglieder',
  'teams.spend': 'Ausgegeben',
  'teams.created': 'Angelegt',
  'teams.changed': 'Geändert',
  'teams.id': 'Id',
  'teams.keys': 'Schlüssel',
  'teams.tags': 'Tags',
  'teams.create': 'Team anlegen',
  'teams.created.toast': 'Team {name} angelegt',
  'teams.search': 'Teams nach Namen suchen',
  'teams.empty': 'Noch keine Teams',
  'teams.emptyHelp': 'In einem Team teilen die Mitglieder Modelle, Limits und ein Budget.',
  'teams.budgetHelp': 'Was alle Mitglieder und Schlüssel zusammen ausgeben dürfen. Leer = kein Limit.',
  'teams.noMembers': 'Noch kein Mitglied.',
  'teams.addMember': 'Mitglied hinzufügen',
  'teams.addMemberHelp': 'E-Mail-Adresse oder Id',
  'teams.add': 'Hinzufügen',
  'teams.role': 'Rolle im Team',
  'teams.role.admin': 'Admin',
  'teams.role.user': 'Mitglied',
  'teams.block': 'Team sperren',
  'teams.unblock': 'Team entsperren',
  'teams.blocked.toast': 'Team {name} gesperrt: Seine Schlüssel werden abgewiesen',
  'teams.unblocked.toast': 'Team {name} entsperrt',
  'teams.delete': 'Team löschen',
  'teams.deleteHelp': 'Löscht {name} mit allen Schlüsseln, endgültig. Die Aufrufe bleiben im Protokoll.',
  'teams.deleted.toast': 'Team {name} gelöscht',

  // Users
  'users.name': 'Name',
  'users.displayName': 'Anzeigename (freiwillig)',
  'users.email': 'E-Mail-Adresse',
  'users.role': 'Rolle',
  'users.everyRole': 'Jede Rolle',
  'users.role.user': 'Mitglied',
  'users.role.userViewer': 'Mitglied, nur lesend',
  'users.role.adminViewer': 'Admin, nur lesend',
  'users.role.admin': 'Admin',
  'users.status': 'Status',
  'users.active': 'Aktiv',
  'users.blocked': 'Gesperrt',
  'users.spend': 'Ausgegeben',
  'users.created': 'Angelegt',
  'users.changed': 'Geändert',
  'users.id': 'Id',
  'users.keys': 'Schlüssel',
  'users.search': 'Personen nach E-Mail-Adresse suchen',
  'users.create': 'Person anlegen',
  'users.created.toast': '{name} angelegt',
  'users.changed.toast': '{name} geändert',
  'users.empty': 'Noch keine Personen',
  'users.emptyHelp': 'Personen erscheinen mit ihrer ersten Anmeldung, oder werden hier angelegt.',
  'users.block': 'Person sperren',
  'users.unblock': 'Person entsperren',
  'users.delete': 'Person löschen',
  'users.deleteHelp': 'Löscht {name} mit allen Schlüsseln, endgültig. Die Aufrufe bleiben im Protokoll.',
  'users.deleted.toast': '{name} gelöscht',

  // Audit
  'audit.at': 'Wann',
  'audit.action': 'Vorgang',
  'audit.everyAction': 'Jeder Vorgang',
  'audit.kind': 'Von',
  'audit.object': 'Objekt',
  'audit.by': 'Durch',
  'audit.key': 'Mit Schlüssel',
  'audit.search': 'Nach der Id des Objekts suchen',
  'audit.empty': 'Noch wurde nichts geändert',
  'audit.field': 'Feld',
  'audit.before': 'Vorher',
  'audit.after': 'Nachher',
  'audit.noFields': 'Kein Feld hat sich geändert.',

  // Health of deployments
  'health.model': 'Modell',
  'health.state': 'Zustand',
  'health.upstream': 'Upstream',
  'health.took': 'Antwort nach',
  'health.reason': 'Grund',
  'health.check': 'Jetzt prüfen',
  'health.idle': 'Noch nicht geprüft',
  'health.idleHelp': 'Die Prüfung macht bei jedem Deployment einen kleinen, echten Aufruf, der etwas kosten kann.',
  'health.empty': 'Keine Deployments',
  'health.emptyHelp': 'Modelle kommen aus der Konfigurationsdatei oder über die API.',
  'health.healthy': 'Gesund',
  'health.unhealthy': 'Antwortet nicht',
  'health.unchecked': 'Nicht geprüft',
}
