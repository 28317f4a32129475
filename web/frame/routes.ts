/**
 * Every page: one file in `pages`, one line here. The order is that of the navigation. What a person may not use is
 * not shown; the gateway refuses it all the same.
 */
import {
  Boxes,
  Building2,
  ChartLine,
  Cloud,
  DatabaseZap,
  FlaskConical,
  HeartPulse,
  KeyRound,
  LayoutDashboard,
  Library,
  MessageSquare,
  MonitorSmartphone,
  Plug,
  Rows3,
  ScrollText,
  Settings2,
  ShieldCheck,
  Store,
  UserRound,
  Users,
  Wallet,
} from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import type { ComponentType } from 'react'
import type { Session } from '../api/session.ts'
import { everyone, mayReadAll, maySeeOrganizations } from './rights.ts'
import type { StringKey } from '../strings/index.ts'

/** Headings of the navigation, in their order; null = above them all. */
export const groups = [null, 'nav.build', 'nav.observe', 'nav.manage', 'nav.extend', 'nav.settings'] as const

export interface PageRoute {
  /** Below `/ui`. `$name` = one segment, read by `usePathValue`. */
  readonly path: string
  /** The file of the page, loaded when it is first shown; its default export is the page. */
  readonly load: () => Promise<{ readonly default: ComponentType }>
  /** Absent = not in the navigation: a page that others lead to. */
  readonly nav?: {
    readonly title: StringKey
    readonly icon: LucideIcon
    readonly group: (typeof groups)[number]
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

const signedInPages: readonly PageRoute[] = [
  {
    path: '/',
    load: () => import('../pages/overview.tsx'),
    nav: { title: 'nav.overview', icon: LayoutDashboard, group: null, key: 'o' },
    for: everyone,
  },
  // Build
  {
    path: '/playground',
    load: () => import('../pages/playground.tsx'),
    nav: { title: 'nav.playground', icon: FlaskConical, group: 'nav.build', key: 'p' },
    for: everyone,
  },
  {
    path: '/chat',
    load: () => import('../pages/chat.tsx'),
    nav: { title: 'nav.chat', icon: MessageSquare, group: 'nav.build', key: 'c' },
    for: everyone,
    isFull: true,
  },
  {
    path: '/model_hub',
    load: () => import('../pages/model-hub.tsx'),
    nav: { title: 'nav.modelHub', icon: Library, group: 'nav.build', key: 'b' },
    for: everyone,
    isOpen: true,
  },
  { path: '/model_hub_table', load: () => import('../pages/model-hub-table.tsx'), for: everyone, isOpen: true },
  {
    path: '/connect',
    load: () => import('../pages/connect.tsx'),
    nav: { title: 'nav.connect', icon: Plug, group: 'nav.build', key: 'n' },
    for: everyone,
  },
  // Observe
  {
    path: '/usage',
    load: () => import('../pages/usage.tsx'),
    nav: { title: 'nav.usage', icon: ChartLine, group: 'nav.observe', key: 's' },
    for: everyone,
  },
  {
    path: '/logs',
    load: () => import('../pages/logs.tsx'),
    nav: { title: 'nav.logs', icon: Rows3, group: 'nav.observe', key: 'l' },
    for: everyone,
  },
  {
    path: '/health',
    load: () => import('../pages/health.tsx'),
    nav: { title: 'nav.health', icon: HeartPulse, group: 'nav.observe', key: 'h' },
    for: mayReadAll,
  },
  {
    path: '/audit',
    load: () => import('../pages/audit.tsx'),
    nav: { title: 'nav.audit', icon: ScrollText, group: 'nav.observe', key: 'a' },
    for: mayReadAll,
  },
  // Manage
  {
    path: '/models',
    load: () => import('../pages/models.tsx'),
    nav: { title: 'nav.models', icon: Boxes, group: 'nav.manage', key: 'm' },
    for: everyone,
  },
  {
    path: '/providers',
    load: () => import('../pages/providers.tsx'),
    nav: { title: 'nav.providers', icon: Cloud, group: 'nav.manage', key: 'v' },
    for: mayReadAll,
  },
  {
    path: '/keys',
    load: () => import('../pages/keys.tsx'),
    nav: { title: 'nav.keys', icon: KeyRound, group: 'nav.manage', key: 'k' },
    for: everyone,
  },
  {
    path: '/teams',
    load: () => import('../pages/teams.tsx'),
    nav: { title: 'nav.teams', icon: Users, group: 'nav.manage', key: 't' },
    for: everyone,
  },
  {
    path: '/users',
    load: () => import('../pages/users.tsx'),
    nav: { title: 'nav.users', icon: UserRound, group: 'nav.manage', key: 'u' },
    for: mayReadAll,
  },
  {
    path: '/budgets',
    load: () => import('../pages/budgets.tsx'),
    nav: { title: 'nav.budgets', icon: Wallet, group: 'nav.manage', key: 'd' },
    for: mayReadAll,
  },
  {
    path: '/organizations',
    load: () => import('../pages/organizations.tsx'),
    nav: { title: 'nav.organizations', icon: Building2, group: 'nav.manage', key: 'r' },
    for: maySeeOrganizations,
  },
  {
    path: '/customers',
    load: () => import('../pages/customers.tsx'),
    nav: { title: 'nav.customers', icon: Store, group: 'nav.manage', key: 'e' },
    for: mayReadAll,
  },
  // Extend
  {
    path: '/guardrails',
    load: () => import('../pages/guardrails.tsx'),
    nav: { title: 'nav.guardrails', icon: ShieldCheck, group: 'nav.extend', key: 'g' },
    for: mayReadAll,
  },
  {
    path: '/caching',
    load: () => import('../pages/caching.tsx'),
    nav: { title: 'nav.caching', icon: DatabaseZap, group: 'nav.extend', key: 'x' },
    for: mayReadAll,
  },
  // Settings
  {
    path: '/settings',
    load: () => import('../pages/settings.tsx'),
    nav: { title: 'nav.settingsPage', icon: Settings2, group: 'nav.settings', key: ',' },
    for: mayReadAll,
  },
  {
    path: '/sessions',
    load: () => import('../pages/sessions.tsx'),
    nav: { title: 'nav.sessions', icon: MonitorSmartphone, group: 'nav.settings', key: 'i' },
    for: everyone,
  },
]

const openPages: readonly PageRoute[] = [
  { path: '/login', load: () => import('../pages/login.tsx'), for: null, isBare: true },
]

/** All parts with their states; other builds do not hold it. */
const developmentPages: readonly PageRoute[] =
  import.meta.env.MODE === 'development'
    ? [{ path: '/_parts', load: () => import('../pages/_parts.tsx'), for: null }]
    : []

export const routes: readonly PageRoute[] = [...signedInPages, ...openPages, ...developmentPages]

/** The page of a path below that of the pages, with or without slashes at its ends. */
export function pageAt(pathBelow: string): PageRoute | undefined {
  const path = `/${pathBelow.replace(/^\/|\/$/g, '')}`
  return routes.find(one => one.path === path)
}
