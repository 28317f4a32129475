import type { PageDeclaration } from '../frame/page-declaration.ts'

export const page: PageDeclaration = {
  title: { en: 'Parts', de: 'Teile' },
  for: null,
}
