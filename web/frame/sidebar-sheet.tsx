import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { buttonClass } from '../components/button.tsx'
import { t } from '../strings/index.ts'
import { Brand, Navigation } from './sidebar.tsx'

/** The navigation on a small screen. */
export default function SidebarSheet({ onClose }: { readonly onClose: () => void }) {
  return (
    <Base.Root open onOpenChange={next => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="veil fixed inset-0 z-40" />
        <Base.Popup className="floating fixed inset-y-0 left-0 z-40 flex w-(--sidebar) flex-col gap-3 p-2 outline-none">
          <div className="flex items-center justify-between">
            <Base.Title className="sr-only">{t('nav.label')}</Base.Title>
            <Brand />
            <Base.Close className={buttonClass('quiet', true)} aria-label={t('all.close')}>
              <X size={16} aria-hidden />
            </Base.Close>
          </div>
          <Navigation />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
