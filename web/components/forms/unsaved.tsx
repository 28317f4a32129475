import { useBlocker } from '@tanstack/react-router'
import { t } from '../../strings/index.ts'
import { Confirm } from '../overlays/dialog.tsx'

/**
 * Asks before changes that were not saved are lost: when what is open is closed, by another page, and, in the words of
 * the browser, when the page is closed or loaded anew.
 */
export function Unsaved({ isChanged }: { readonly isChanged: boolean }) {
  const blocker = useBlocker({ shouldBlockFn: () => isChanged, enableBeforeUnload: isChanged, withResolver: true })
  return (
    <Confirm
      open={blocker.status === 'blocked'}
      onClose={() => blocker.reset?.()}
      title={t('unsaved.title')}
      description={t('unsaved.help')}
      action={t('unsaved.discard')}
      onConfirm={() => blocker.proceed?.()}
    />
  )
}
