import { ScrollText } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { mayReadAll } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Audit log', de: 'Änderungen' },
  nav: { icon: ScrollText, group: 'nav.observe', place: 40, key: 'a' },
  for: mayReadAll,
}

export const t = textsOf({
  en: {
    'audit.at': 'When',
    'audit.action': 'Action',
    'audit.everyAction': 'Every action',
    'audit.kind': 'Type',
    'audit.object': 'Object',
    'audit.by': 'By',
    'audit.key': 'With key',
    'audit.search': 'Search by the id of the object',
    'audit.empty': 'Nothing was changed yet',
    'audit.field': 'Field',
    'audit.before': 'Before',
    'audit.after': 'After',
    'audit.noFields': 'No field has changed.',
  },
  de: {
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
  },
})
