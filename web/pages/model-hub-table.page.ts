import type { PageDeclaration } from '../frame/page-declaration.ts'
import { everyone } from '../frame/rights.ts'

export const page: PageDeclaration = {
  title: { en: 'Model hub', de: 'Modellkatalog' },
  for: everyone,
  isOpen: true,
}
