import { Store } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { mayReadAll } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Customers', de: 'Kunden' },
  nav: { icon: Store, group: 'nav.manage', place: 80, key: 'e' },
  for: mayReadAll,
}

export const t = textsOf({
  en: {
    'customers.id': 'Customer id',
    'customers.idHelp': 'As calls name it in `user`',
    'customers.search': 'Search customers by whole id or name',
    'customers.empty': 'No customers yet',
    'customers.emptyHelp':
      'Customers are the end users of your applications. Create one to give it a budget, and name it in each call:',
    'customers.example': 'A call that names its customer',
    'customers.calls': 'Show its calls',
    'customers.created.toast': 'Customer {name} created',
    'customers.changed.toast': 'Customer {name} changed',
    'customers.blocked.toast': 'Customer {name} blocked: calls that name it are refused',
    'customers.unblocked.toast': 'Customer {name} unblocked',
    'customers.delete': 'Delete customer',
    'customers.deleteHelp':
      'Deletes {name} with its budget. Calls may still name it, without a limit. Its calls stay in the logs.',
    'customers.deleted.toast': 'Customer {name} deleted',
  },
  de: {
    'customers.id': 'Kunden-Id',
    'customers.idHelp': 'Wie Aufrufe sie in `user` nennen',
    'customers.search': 'Kunden nach ganzer Id oder Namen suchen',
    'customers.empty': 'Noch keine Kunden',
    'customers.emptyHelp':
      'Kunden sind die Endnutzer deiner Anwendungen. Lege einen an, um ihm ein Budget zu geben, und nenne ihn in jedem Aufruf:',
    'customers.example': 'Ein Aufruf, der seinen Kunden nennt',
    'customers.calls': 'Aufrufe zeigen',
    'customers.created.toast': 'Kunde {name} angelegt',
    'customers.changed.toast': 'Kunde {name} geändert',
    'customers.blocked.toast': 'Kunde {name} gesperrt: Aufrufe, die ihn nennen, werden abgelehnt',
    'customers.unblocked.toast': 'Kunde {name} entsperrt',
    'customers.delete': 'Kunden löschen',
    'customers.deleteHelp':
      'Löscht {name} mit seinem Budget. Aufrufe dürfen ihn weiter nennen, ohne Grenze. Die Aufrufe bleiben im Protokoll.',
    'customers.deleted.toast': 'Kunde {name} gelöscht',
  },
})
