import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { t } from '../../strings/index.ts'
import { buttonClass } from '../button.tsx'

interface DrawerProps {
  /** Kept in the address by the page (`useSearchValue`), so that what is open can be linked to. */
  readonly open: boolean
  readonly onClose: () => void
  readonly title: ReactNode
  /** At the right of the title: links, small actions. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

const drawerClass = 'drawer floating fixed inset-y-0 right-0 z-30 flex w-full max-w-drawer flex-col outline-none'

/** Details of a row, beside the list; the list stays usable on wide screens, and the keyboard walks it on. */
export function Drawer({ open, onClose, title, actions, children }: DrawerProps) {
  return (
    <Base.Root open={open} onOpenChange={next => !next && onClose()} modal={false} disablePointerDismissal>
      <Base.Portal>
        <Base.Popup className={drawerClass}>
          <div className="flex items-center gap-2 border-b border-line p-3">
            <Base.Title className="min-w-0 grow truncate text-title font-semibold">{title}</Base.Title>
            {actions}
            <Base.Close className={buttonClass('quiet', true)} aria-label={t('all.close')}>
              <X size={16} aria-hidden />
            </Base.Close>
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
          <section className="min-h-0 grow overflow-y-auto p-4" aria-label={t('all.details')} tabIndex={0}>
            {children}
          </section>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
