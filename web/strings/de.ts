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
  'error.conflict': 'Inzwischen von anderer Hand geändert',
  'error.conflictHelp': 'Lade es neu und wiederhole deine Änderung.',
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
  'signIn.with': 'Anmelden mit {name}',
  'signIn.username': 'Benutzer-Id oder E-Mail',
  'signIn.password': 'Passwort',
  'signIn.masterKey': 'Hauptschlüssel',
  'signIn.masterKeyHelp': 'Für den Betrieb: der Schlüssel, mit dem das Gateway gestartet wurde.',
  'signIn.development': 'Schlüssel in dieser Seite verwenden (Entwicklung)',
  'signIn.fallback': 'Ohne JavaScript anmelden',
  'signIn.ended': 'Deine Sitzung ist zu Ende',
  'signIn.endedHelp': 'Melde dich wieder an und mache weiter. Was du getippt hast, ist noch da.',

  // Overview and setup
  'overview.models': 'Modelle, die du aufrufen darfst',

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
}
