import type { PageDeclaration } from '../frame/page-declaration.ts'

export const page: PageDeclaration = {
  title: { en: 'Sign in to Modelgate', de: 'Bei Modelgate anmelden' },
  for: null,
  isBare: true,
}
