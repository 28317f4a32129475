/** Every page, collected from the files of `pages`. */
import type { ComponentType } from 'react'
import { namedPages } from './page-declaration.ts'
import type { NamedPage, PageDeclaration } from './page-declaration.ts'

export interface PageRoute extends NamedPage {
  /** Loads the file of the page when it is first shown; its default export is the page. */
  readonly load: () => Promise<{ readonly default: ComponentType }>
}

// The query makes modules of their own of the declarations: the texts beside them are left to the files of the pages.
const declared = {
  ...import.meta.glob<PageDeclaration>('../pages/[a-z]*.page.ts', { query: '?declared', import: 'page', eager: true }),
  // All parts with their states; other builds do not hold it.
  ...(import.meta.env.MODE === 'development' &&
    import.meta.glob<PageDeclaration>('../pages/_*.page.ts', { query: '?declared', import: 'page', eager: true })),
}

const loaders = {
  ...import.meta.glob<{ readonly default: ComponentType }>('../pages/[a-z]*.tsx'),
  ...(import.meta.env.MODE === 'development' &&
    import.meta.glob<{ readonly default: ComponentType }>('../pages/_*.tsx')),
}

export const routes: readonly PageRoute[] = namedPages(declared).map(page => ({
  ...page,
  load: loaders[`../pages/${page.name}.tsx`]!,
}))

/** The page of a path below that of the pages, with or without slashes at its ends. */
export function pageAt(pathBelow: string): PageRoute | undefined {
  const path = `/${pathBelow.replace(/^\/|\/$/g, '')}`
  return routes.find(one => one.path === path)
}
