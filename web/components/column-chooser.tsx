import { Columns3 } from 'lucide-react'
import { t } from '../strings/index.ts'
import { Button } from './button.tsx'
import { Menu, MenuItem, MenuSeparator, MenuToggle } from './overlays/menu.tsx'

interface ColumnChooserProps {
  readonly columns: readonly { readonly id: string; readonly title: string }[]
  /** As it was chosen; undefined = the usual columns. */
  readonly shown: readonly string[] | undefined
  readonly visible: readonly string[]
  readonly onShown: (ids: string[] | undefined) => void
}

/** Which columns of a table are shown. The first one always is. */
export function ColumnChooser({ columns, shown, visible, onShown }: ColumnChooserProps) {
  const change = (id: string, isShown: boolean) =>
    onShown(columns.map(one => one.id).filter(one => (one === id ? isShown : visible.includes(one))))
  return (
    <Menu trigger={<Button icon={<Columns3 size={16} aria-hidden />}>{t('all.columns')}</Button>}>
      {columns.slice(1).map(column => (
        <MenuToggle
          key={column.id}
          checked={visible.includes(column.id)}
          onChange={isShown => change(column.id, isShown)}
        >
          {column.title}
        </MenuToggle>
      ))}
      <MenuSeparator />
      <MenuItem disabled={shown === undefined} onPress={() => onShown(undefined)}>
        {t('table.usualColumns')}
      </MenuItem>
    </Menu>
  )
}
