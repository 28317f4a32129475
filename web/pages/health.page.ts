import { HeartPulse } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { mayReadAll } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'
import type { KeyOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Health', de: 'Zustand' },
  nav: { icon: HeartPulse, group: 'nav.observe', place: 30, key: 'h' },
  for: mayReadAll,
}

export const t = textsOf({
  en: {
    'health.model': 'Model',
    'health.upstream': 'Upstream',
    'health.took': 'Answered in',
    'health.latency': 'p50 / p95, 24 h',
    'health.firstByte': 'First byte, 24 h',
    'health.reason': 'Reason',
    'health.check': 'Check now',
    'health.empty': 'No deployments',
    'health.emptyHelp': 'Add models on the page Models, in the configuration file or through the API.',
    'health.healthy': 'Healthy',
    'health.unhealthy': 'Does not answer',
    'health.unchecked': 'Not checked',
    'health.failing': 'Many failures',
    'health.fine': 'Calls succeed',
    'health.unused': 'No calls',
    'health.days': '14 days',
    'health.success': 'Succeeded',
    'health.sparkline': '{calls} calls in 14 days, {failed} of them failed',
    'health.checkHelp': 'Checking sends one small real call to each deployment, which may cost something.',
    'health.blocked': 'Disabled',
    'health.change': 'Change',
    'health.addModel': 'Add a model',
  },
  de: {
    'health.model': 'Modell',
    'health.upstream': 'Upstream',
    'health.took': 'Antwort nach',
    'health.latency': 'p50 / p95, 24 h',
    'health.firstByte': 'Erstes Byte, 24 h',
    'health.reason': 'Grund',
    'health.check': 'Jetzt prüfen',
    'health.empty': 'Keine Deployments',
    'health.emptyHelp': 'Modelle kommen aus der Konfigurationsdatei oder über die API.',
    'health.healthy': 'Gesund',
    'health.unhealthy': 'Antwortet nicht',
    'health.unchecked': 'Nicht geprüft',
    'health.failing': 'Viele Fehler',
    'health.fine': 'Aufrufe gelingen',
    'health.unused': 'Keine Aufrufe',
    'health.days': '14 Tage',
    'health.success': 'Gelungen',
    'health.sparkline': '{calls} Aufrufe in 14 Tagen, {failed} davon fehlgeschlagen',
    'health.checkHelp':
      'Eine Prüfung macht einen kleinen Aufruf jedes Deployments, der echt ist und etwas kosten kann.',
    'health.blocked': 'Abgeschaltet',
    'health.change': 'Ändern',
    'health.addModel': 'Modell hinzufügen',
  },
})

export type StringKey = KeyOf<typeof t>
