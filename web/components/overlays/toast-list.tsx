import { Toast as Base } from '@base-ui/react/toast'
import clsx from 'clsx'
import { X } from 'lucide-react'
import { useEffect } from 'react'
import { t } from '../../strings/index.ts'
import { buttonClass } from '../button.tsx'

/** Something that happened. */
export interface Message {
  readonly title: string
  readonly description?: string | undefined
  /** It stays until it is closed. */
  readonly isError: boolean
}

const manager = Base.createToastManager()

const shownMs = 5000

interface ToastsProps {
  /** Hands over what is to be said, from then on until the function that it returns is called. */
  readonly onReady: (show: (message: Message) => void) => () => void
}

/** The corner where messages are shown. */
export default function ToastList({ onReady }: ToastsProps) {
  // Effects of what is inside come first: the manager has its list by then.
  useEffect(
    () =>
      onReady(({ title, description, isError }) => {
        const type = isError ? 'error' : 'done'
        manager.add({ title, description, type, timeout: isError ? 0 : shownMs })
      }),
    [onReady],
  )
  return (
    <Base.Provider toastManager={manager} limit={4}>
      <Base.Portal>
        <Base.Viewport className="fixed right-4 bottom-4 z-50 flex w-full max-w-dialog flex-col gap-2 pl-8">
          <Toasts />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  )
}

function Toasts() {
  const { toasts } = Base.useToastManager()
  return toasts.map(one => (
    <Base.Root
      key={one.id}
      toast={one}
      className={clsx('floating rounded-panel border-l-4 p-3', one.type === 'error' ? 'border-l-bad' : 'border-l-good')}
    >
      <Base.Content className="flex items-start gap-2">
        <div className="min-w-0 grow">
          <Base.Title className="font-medium" />
          <Base.Description className="text-muted" />
        </div>
        <Base.Close className={buttonClass('quiet', true)} aria-label={t('all.close')}>
          <X size={16} aria-hidden />
        </Base.Close>
      </Base.Content>
    </Base.Root>
  ))
}
