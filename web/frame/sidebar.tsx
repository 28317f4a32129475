import { Link } from '@tanstack/react-router'
import clsx from 'clsx'
import { Search } from 'lucide-react'
import { useSession } from '../api/session.ts'
import { inputClass } from '../components/forms/input-class.ts'
import { t, textOf } from '../strings/index.ts'
import { groups } from './page-declaration.ts'
import { routes } from './routes.ts'
import type { PageRoute } from './routes.ts'

/** The pages that this person gets to see; open pages alone until it is known who that is. */
export function useNavigation(): readonly PageRoute[] {
  const session = useSession().data
  return routes.filter(page => page.nav && (page.for === null || (session !== undefined && page.for(session))))
}

const sidebarClass = clsx(
  'hidden w-(--sidebar-icons) shrink-0 flex-col gap-3 border-r border-line bg-panel p-2',
  'narrow:flex wide:w-(--sidebar)',
)

/** Icons alone between 720 and 1100 px. Below 720 px it is a sheet. */
export function Sidebar({ onSearch }: { readonly onSearch: () => void }) {
  return (
    <aside className={sidebarClass} aria-label="Modelgate">
      <Brand />
      <button
        type="button"
        onClick={onSearch}
        className={clsx(inputClass, 'flex shrink-0 items-center gap-2 px-2 text-muted')}
        aria-keyshortcuts="Control+K"
      >
        <Search size={16} aria-hidden />
        <span className="grow text-left max-wide:sr-only">{t('all.search')}</span>
        <kbd aria-hidden className="font-mono text-code max-wide:hidden">
          Ctrl K
        </kbd>
      </button>
      <Navigation isShort />
    </aside>
  )
}

/** Name and sign. */
export function Brand() {
  return (
    <div className="flex h-8 items-center gap-2 px-2 font-semibold">
      <img src="./icon.svg" alt="" className="size-6 shrink-0" />
      <span className="max-wide:narrow:hidden">Modelgate</span>
    </div>
  )
}

/** `isShort` = icons alone on screens of middle width. */
export function Navigation({ isShort = false }: { readonly isShort?: boolean }) {
  const pages = useNavigation()
  return (
    <nav aria-label={t('nav.label')} className="flex min-h-0 grow flex-col gap-3 overflow-y-auto">
      {groups.map(group => {
        const own = pages.filter(page => page.nav!.group === group)
        if (own.length === 0) return null
        return (
          <div key={group}>
            {group && <p className={clsx('px-2 text-code text-faint', isShort && 'max-wide:hidden')}>{t(group)}</p>}
            <ul>
              {own.map(page => (
                <li key={page.path}>
                  <NavigationLink page={page} isShort={isShort} />
                </li>
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}

function NavigationLink({ page, isShort }: { readonly page: PageRoute; readonly isShort: boolean }) {
  const { icon: Icon } = page.nav!
  const title = textOf(page.title)
  return (
    <Link
      to={page.path}
      activeOptions={{ exact: page.path === '/', includeSearch: false }}
      title={title}
      className={clsx(
        'flex h-8 touch:h-11 items-center gap-3 rounded-control px-2 text-muted hover:bg-hover hover:text-text',
        'aria-[current=page]:bg-selected aria-[current=page]:font-medium aria-[current=page]:text-text',
      )}
    >
      <Icon size={16} className="shrink-0" aria-hidden />
      <span className={clsx('truncate', isShort && 'max-wide:sr-only')}>{title}</span>
    </Link>
  )
}
