import { Tags } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { mayReadAll } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Tags', de: 'Tags' },
  nav: { icon: Tags, group: 'nav.manage', place: 90, key: 'y' },
  for: mayReadAll,
}

export const t = textsOf({
  en: {
    'tags.name': 'Tag',
    'tags.nameHelp': 'As calls, keys and teams name it',
    'tags.description': 'Description',
    'tags.models': 'Models',
    'tags.search': 'Search tags',
    'tags.create': 'Create tag',
    'tags.empty': 'No tags yet',
    'tags.emptyHelp':
      'A tag that is made here can have a budget, limits and models. Calls name tags in x-litellm-tags.',
    'tags.calls': 'Show its calls',
    'tags.created.toast': 'Tag {name} created',
    'tags.changed.toast': 'Tag {name} changed',
    'tags.delete': 'Delete tag',
    'tags.deleteHelp':
      'Deletes {name} with its budget. Calls may still name it, without a limit. They stay in the logs.',
    'tags.deleted.toast': 'Tag {name} deleted',
  },
  de: {
    'tags.name': 'Tag',
    'tags.nameHelp': 'Wie Aufrufe, Schlüssel und Teams ihn nennen',
    'tags.description': 'Beschreibung',
    'tags.models': 'Modelle',
    'tags.search': 'Tags suchen',
    'tags.create': 'Tag anlegen',
    'tags.empty': 'Noch keine Tags',
    'tags.emptyHelp':
      'Ein Tag, der hier angelegt ist, kann Budget, Grenzen und Modelle haben. Aufrufe nennen Tags in x-litellm-tags.',
    'tags.calls': 'Aufrufe zeigen',
    'tags.created.toast': 'Tag {name} angelegt',
    'tags.changed.toast': 'Tag {name} geändert',
    'tags.delete': 'Tag löschen',
    'tags.deleteHelp':
      'Löscht {name} mit seinem Budget. Aufrufe dürfen ihn weiter nennen, ohne Grenze. Sie bleiben im Protokoll.',
    'tags.deleted.toast': 'Tag {name} gelöscht',
  },
})
