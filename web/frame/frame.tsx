import { useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useRouter, useRouterState } from '@tanstack/react-router'
import clsx from 'clsx'
import { Menu as MenuIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import { onSignedOut } from '../api/client.ts'
import { useIsSignedOut, useSession } from '../api/session.ts'
import type { Session } from '../api/session.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { lazyPart } from '../components/lazy-part.tsx'
import { Skeleton } from '../components/states.tsx'
import { t } from '../strings/index.ts'
import { AccountButton } from './account-button.tsx'
import { useKeptFocus } from './keep-focus.ts'
import { routes } from './routes.ts'
import { Brand, Sidebar } from './sidebar.tsx'
import { useShortcuts } from './shortcuts.ts'

/** Loaded when they are first opened: none of them is needed for the first view. */
const loadAccountMenu = async () => (await import('./account-menu.tsx')).default
const AccountMenu = lazyPart(loadAccountMenu, props => <AccountButton session={props.session} />)
const Palette = lazyPart(async () => (await import('./palette.tsx')).default)
const ShortcutList = lazyPart(async () => (await import('./shortcut-list.tsx')).default)
const SidebarSheet = lazyPart(async () => (await import('./sidebar-sheet.tsx')).default)
const SessionEnded = lazyPart(async () => (await import('./session-ended.tsx')).default)

type Open = 'palette' | 'shortcuts' | 'menu' | null

/** Sidebar, title bar and the page. */
export function Frame() {
  const path = useRouterState({ select: state => state.location.pathname })
  const page = routes.find(one => one.path === path)
  const isSignedOut = useIsSignedOut()
  useKeptFocus(path)
  if (page?.isBare)
    return (
      <main className="flex min-h-full flex-col">
        <Outlet />
      </main>
    )
  return page?.isOpen && isSignedOut ? <StrangerFrame path={path} /> : <FullFrame path={path} />
}

/** Without navigation: all that leads on is the sign-in. */
function StrangerFrame({ path }: { readonly path: string }) {
  return (
    <div className="flex h-full flex-col">
      <header className="flex items-center justify-between gap-2 border-b border-line bg-panel px-4 py-2">
        <Brand />
        <DemoMark />
        <Link to="/login" search={{ from: path } as never} className={buttonClass('primary')}>
          {t('signIn.action')}
        </Link>
      </header>
      <main id="content" tabIndex={-1} className="min-h-0 grow overflow-y-auto p-4 outline-none narrow:p-6">
        <Outlet />
      </main>
    </div>
  )
}

function FullFrame({ path }: { readonly path: string }) {
  const [open, setOpen] = useState<Open>(null)
  const session = useSession()
  const isFull = routes.some(one => one.isFull && one.path === path)
  const close = () => setOpen(null)
  useShortcuts({ palette: () => setOpen('palette'), help: () => setOpen('shortcuts') })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes what is open
  useEffect(close, [path])
  return (
    <div className="flex h-full">
      <button
        type="button"
        onClick={() => document.getElementById('content')?.focus()}
        className="sr-only focus:not-sr-only focus:fixed focus:z-50 focus:bg-raised focus:p-3"
      >
        {t('all.skip')}
      </button>
      <Sidebar onSearch={() => setOpen('palette')} />
      <div className="flex min-w-0 grow flex-col">
        <header className="flex items-center justify-between gap-2 border-b border-line px-4 py-2">
          <Button
            kind="quiet"
            className="narrow:invisible"
            icon={<MenuIcon size={16} aria-hidden />}
            aria-label={t('all.showMenu')}
            onClick={() => setOpen('menu')}
          />
          <DemoMark />
          {session.data ? (
            <Account session={session.data} onShortcuts={() => setOpen('shortcuts')} />
          ) : (
            <Skeleton className="h-8 w-24" />
          )}
        </header>
        <main
          id="content"
          tabIndex={-1}
          className={clsx('min-h-0 grow outline-none', isFull ? 'flex' : 'overflow-y-auto p-4 narrow:p-6')}
        >
          <Outlet />
        </main>
      </div>
      {open === 'menu' && <SidebarSheet onClose={close} />}
      {open === 'palette' && <Palette onClose={close} onShortcuts={() => setOpen('shortcuts')} />}
      {open === 'shortcuts' && <ShortcutList onClose={close} />}
      <SignedOutWatch />
    </div>
  )
}

/** That people, calls and money of these pages are made up (`npm run demo`). */
function DemoMark() {
  if (document.documentElement.dataset.demo === undefined) return null
  return (
    <p role="note" title={t('frame.demoHelp')} className="ml-auto rounded-control border border-warn px-2 text-warn">
      {t('frame.demo')}
    </p>
  )
}

/** The button of the account; its menu is loaded when a person goes for it. */
function Account(props: { readonly session: Session; readonly onShortcuts: () => void }) {
  const [isWanted, setWanted] = useState(false)
  // Where it cannot be loaded ahead, a press says why.
  const loadAhead = () => void loadAccountMenu().catch(() => undefined)
  if (isWanted) return <AccountMenu {...props} />
  return (
    <AccountButton
      session={props.session}
      aria-haspopup="menu"
      onPointerEnter={loadAhead}
      onFocus={loadAhead}
      onClick={() => setWanted(true)}
    />
  )
}

/** A session that ends while a page is open: the person signs in above it, and what was typed stays. */
function SignedOutWatch() {
  const [ended, setEnded] = useState(false)
  const router = useRouter()
  const client = useQueryClient()
  useEffect(() => onSignedOut(() => setEnded(client.getQueryData(['session']) !== undefined)), [client])
  if (!ended) return null
  return (
    <SessionEnded
      onSignedIn={() => {
        setEnded(false)
        void client.invalidateQueries()
        void router.invalidate()
      }}
    />
  )
}
