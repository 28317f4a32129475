import { t } from '../../strings/index.ts'
import { Button } from '../button.tsx'
import { EmptyState } from '../states.tsx'
import { Drawer } from './drawer.tsx'

interface MissingProps {
  /** As the address has it. */
  readonly name: string
  readonly onClose: () => void
}

/** In place of the details of what the address names and the list does not have: it is gone, or was mistyped. */
export function Missing({ name, onClose }: MissingProps) {
  return (
    <Drawer open onClose={onClose} title={name}>
      <EmptyState title={t('error.notFound')} action={<Button onClick={onClose}>{t('all.backToList')}</Button>}>
        {t('error.notFoundHelp')}
      </EmptyState>
    </Drawer>
  )
}
