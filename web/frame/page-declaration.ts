/**
 * What a page declares of itself, in the file of its name that ends with `.page.ts`, and the addresses that follow from
 * the names of files.
 */
import type { LucideIcon } from 'lucide-react'
import type { Session } from '../api/session.ts'
import type { InLanguages } from '../strings/index.ts'

/** Headings of the navigation, in their order; null = above them all. */
export const groups = [null, 'nav.build', 'nav.observe', 'nav.manage', 'nav.extend', 'nav.settings'] as const

/** What is known of a page before it is loaded. What a person may not use is not shown, and the gateway refuses it. */
export interface PageDeclaration {
  readonly title: InLanguages
  /** Absent = not in the navigation: a page that others lead to. */
  readonly nav?: {
    readonly icon: LucideIcon
    readonly group: (typeof groups)[number]
    /** The pages of a group stand in the order of these numbers. */
    readonly place: number
    /** Pressed after `g`: goes to the page. No two have the same. */
    readonly key: string
  }
  /** Who gets to see it; `null` = also without being signed in. */
  readonly for: ((session: Session) => boolean) | null
  /** Strangers get to it, too: without navigation. The page sends them away where it has nothing for them. */
  readonly isOpen?: boolean
  /** Without sidebar and title bar: signing in. */
  readonly isBare?: boolean
  /** It fills the place of a page, without space around it, and its parts scroll by themselves. */
  readonly isFull?: boolean
}

/** A declared page with its name, `model-hub`, and its address below `/ui`, `/model_hub`. */
export interface NamedPage extends PageDeclaration {
  readonly name: string
  readonly path: string
}

/** The pages by the paths of their declarations, in the order of the navigation; those that are not in it come last. */
export function namedPages(declared: Readonly<Record<string, PageDeclaration>>): readonly NamedPage[] {
  const orderOf = ({ nav }: PageDeclaration) => (nav ? groups.indexOf(nav.group) * 1000 + nav.place : Infinity)
  return Object.entries(declared)
    .map(([file, page]) => {
      const name = /([\w-]+)\.page\.ts/.exec(file)![1]!
      return { ...page, name, path: name === 'overview' ? '/' : `/${name.replaceAll('-', '_')}` }
    })
    .sort((one, other) => (orderOf(one) === orderOf(other) ? 0 : orderOf(one) - orderOf(other)))
}
