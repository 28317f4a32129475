import { Plug } from 'lucide-react'
import type { PageDeclaration } from '../frame/page-declaration.ts'
import { everyone } from '../frame/rights.ts'
import { textsOf } from '../strings/index.ts'

export const page: PageDeclaration = {
  title: { en: 'Connect', de: 'Verbinden' },
  nav: { icon: Plug, group: 'nav.build', place: 40, key: 'n' },
  for: everyone,
}

export const t = textsOf({
  en: {
    'connect.help': 'Point a program at this gateway. Its calls are charged to the key that you give it.',
    'connect.client': 'Program',
    'connect.model': 'Model',
    'connect.key': 'Key',
    'connect.keyHelp': 'Paste one to have it filled in below. It stays on this page and is stored nowhere.',
    'connect.makeKey': 'Create a key',
    'connect.paste': 'Paste this for {client}',
    'connect.remote':
      '{client} calls from servers of its own: this address has to be reachable from the internet over https.',
    'connect.test': 'Test the connection',
    'connect.testAsYou': 'Without a key the test call is made, and charged, as yours.',
    'connect.testWithKey': 'One tiny call with the key above, made as the program would.',
    'connect.run': 'Test',
    'connect.works': '{model} answers',
    'connect.noModels': 'No chat models',
    'connect.noModelsHelp': 'Ask an administrator to add models, or to let you call them.',
  },
  de: {
    'connect.help':
      'Verbinde ein Programm mit diesem Gateway. Seine Aufrufe gehen auf den Schlüssel, den du ihm gibst.',
    'connect.client': 'Programm',
    'connect.model': 'Modell',
    'connect.key': 'Schlüssel',
    'connect.keyHelp':
      'Füge einen ein, dann steht er unten im Text. Er bleibt auf dieser Seite und wird nirgends gespeichert.',
    'connect.makeKey': 'Schlüssel anlegen',
    'connect.paste': 'Für {client} einfügen',
    'connect.remote':
      '{client} ruft von eigenen Servern aus an: diese Adresse muss aus dem Internet über https erreichbar sein.',
    'connect.test': 'Verbindung testen',
    'connect.testAsYou': 'Ohne Schlüssel wird der Testaufruf als dein eigener gemacht und berechnet.',
    'connect.testWithKey': 'Ein winziger Aufruf mit dem Schlüssel oben, so wie das Programm ihn macht.',
    'connect.run': 'Testen',
    'connect.works': '{model} antwortet',
    'connect.noModels': 'Keine Modelle für Gespräche',
    'connect.noModelsHelp': 'Der Betreiber fügt Modelle hinzu oder erlaubt sie dir.',
  },
})
