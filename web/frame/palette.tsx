import { Dialog as Base } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { Keyboard, LogOut, Moon, Plus, Search, Sun } from 'lucide-react'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useSession } from '../api/session.ts'
import { itemClass } from '../components/overlays/popup-class.ts'
import { setTheme } from '../lib/theme.ts'
import { t, textOf } from '../strings/index.ts'
import { useSearchResults } from './palette-search.ts'
import { createActions } from './create-actions.ts'
import { useNavigation } from './sidebar.tsx'
import { useSignOut } from './sign-out.ts'

interface PaletteProps {
  readonly onClose: () => void
  readonly onShortcuts: () => void
}

const paletteClass =
  'floating fixed top-8 left-1/2 z-40 w-full max-w-dialog-wide -translate-x-1/2 rounded-panel outline-none'

/** Ctrl K: every page and action by its name. */
export default function Palette({ onClose, onShortcuts }: PaletteProps) {
  const navigate = useNavigate()
  const signOut = useSignOut()
  const pages = useNavigation()
  const [text, setText] = useState('')
  const then = (action: () => void) => () => {
    onClose()
    action()
  }
  return (
    <Base.Root open onOpenChange={next => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="veil fixed inset-0 z-40" />
        <Base.Popup className={paletteClass}>
          <Base.Title className="sr-only">{t('palette.title')}</Base.Title>
          <Command label={t('palette.title')} loop>
            <Command.Input
              autoFocus
              value={text}
              onValueChange={setText}
              placeholder={t('palette.placeholder')}
              className="h-11 w-full border-b border-line bg-transparent px-4 outline-none"
            />
            <Command.List className="max-h-(--palette-list) overflow-y-auto p-1">
              <Command.Empty className="p-4 text-muted">{t('all.noMatch')}</Command.Empty>
              <Findings
                text={text}
                onPress={(to, search) => then(() => void navigate({ to, search: search as never }))()}
              />
              <Group title={t('palette.pages')}>
                {pages.map(({ path, title, nav }) => {
                  const Icon = nav!.icon
                  return (
                    <Item key={path} icon={<Icon size={16} />} onPress={then(() => void navigate({ to: path }))}>
                      {textOf(title)}
                    </Item>
                  )
                })}
              </Group>
              <Group title={t('palette.actions')}>
                <Makes onPress={to => then(() => void navigate({ to, search: { new: '1' } as never }))()} />
                <Item icon={<Sun size={16} />} onPress={then(() => setTheme('light'))}>
                  {`${t('frame.theme')}: ${t('frame.theme.light')}`}
                </Item>
                <Item icon={<Moon size={16} />} onPress={then(() => setTheme('dark'))}>
                  {`${t('frame.theme')}: ${t('frame.theme.dark')}`}
                </Item>
                <Item icon={<Keyboard size={16} />} onPress={onShortcuts}>
                  {t('frame.shortcuts')}
                </Item>
                <Item icon={<LogOut size={16} />} onPress={then(() => signOut.mutate())}>
                  {t('frame.signOut')}
                </Item>
              </Group>
            </Command.List>
          </Command>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

interface FindingsProps {
  readonly text: string
  readonly onPress: (to: string, search: Readonly<Record<string, string>>) => void
}

/** What the gateway has by the name that is typed. */
function Findings({ text, onPress }: FindingsProps) {
  const results = useSearchResults(text)
  if (results.length === 0) return null
  return (
    <Group title={t('palette.found')}>
      {results.map(one => (
        <Item key={one.id} icon={<Search size={16} />} onPress={() => onPress(one.to, one.search)}>
          {`${t(one.kind)}: ${one.name}`}
        </Item>
      ))}
    </Group>
  )
}

/** What this person may make. */
function Makes({ onPress }: { readonly onPress: (to: string) => void }) {
  const session = useSession().data
  return createActions
    .filter(one => session && one.for(session))
    .map(one => (
      <Item key={one.to} icon={<Plus size={16} />} onPress={() => onPress(one.to)}>
        {t(one.title)}
      </Item>
    ))
}

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return <Command.Group heading={<span className="px-2 text-code text-faint">{title}</span>}>{children}</Command.Group>
}

interface ItemProps {
  readonly icon: ReactNode
  readonly onPress: () => void
  readonly children: string
}

function Item({ icon, onPress, children }: ItemProps) {
  return (
    <Command.Item value={children} onSelect={onPress} className={`${itemClass} data-[selected=true]:bg-hover`}>
      {icon}
      {children}
    </Command.Item>
  )
}
