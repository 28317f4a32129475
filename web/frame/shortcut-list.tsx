import { Dialog } from '../components/overlays/dialog.tsx'
import { t, textOf } from '../strings/index.ts'
import { useNavigation } from './sidebar.tsx'

/** What `?` shows. */
export default function ShortcutList({ onClose }: { readonly onClose: () => void }) {
  const pages = useNavigation()
  const rows: [keys: string[], what: string][] = [
    [['Ctrl', 'K'], t('shortcuts.palette')],
    [['/'], t('shortcuts.search')],
    [['c'], t('shortcuts.create')],
    [['j', 'k'], t('shortcuts.rows')],
    [['Enter'], t('shortcuts.open')],
    [['Esc'], t('shortcuts.close')],
    [['?'], t('shortcuts.help')],
    ...pages.map((page): [string[], string] => [
      ['g', page.nav!.key],
      t('shortcuts.goTo', { page: textOf(page.title) }),
    ]),
  ]
  return (
    <Dialog open onClose={onClose} title={t('shortcuts.title')}>
      <dl className="grid grid-cols-(--columns-keys) items-center gap-x-6 gap-y-2">
        {rows.map(([keys, what]) => (
          <div key={what} className="contents">
            <dt className="flex gap-1">
              {keys.map(key => (
                <kbd key={key} className="rounded-control border border-line-strong px-2 font-mono text-code">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
