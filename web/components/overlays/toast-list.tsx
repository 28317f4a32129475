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
  /** An error stays until it is closed. */
  readonly kind: 'done' | 'warning' | 'error'
}

const manager = Base.createToastManager()

/** How long; 0 = until it is closed. A warning is read, and covers what it stands on no longer than that takes. */
const shownMs = { done: 5000, warning: 30_000, error: 0 } as const

/** What lies below it and between the messages can be pressed. */
const viewportClass = 'pointer-events-none fixed right-4 bottom-4 z-50 flex w-full max-w-dialog flex-col gap-2 pl-8'

interface ToastsProps {
  /** Hands over what is to be said, from then on until the function that it returns is called. */
  readonly onReady: (show: (message: Message) => void) => () => void
}

/** The corner where messages are shown. */
export default function ToastList({ onReady }: ToastsProps) {
  // Effects of what is inside come first: the manager has its list by then.
  useEffect(
    () =>
      onReady(({ title, description, kind }) =>
        // What is shown already is shown once, for its whole time again: a stack of the same hides what is below it.
        manager.add({
          id: JSON.stringify([kind, title, description]),
          title,
          description,
          type: kind,
          timeout: shownMs[kind],
        }),
      ),
    [onReady],
  )
  return (
    <Base.Provider toastManager={manager} limit={4}>
      <Base.Portal>
        <Base.Viewport className={viewportClass}>
          <Toasts />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  )
}

const edges = { done: 'border-l-good', warning: 'border-l-warn', error: 'border-l-bad' } as const

function Toasts() {
  const { toasts } = Base.useToastManager()
  return toasts.map(one => (
    <Base.Root
      key={one.id}
      toast={one}
      className={clsx('floating pointer-events-auto rounded-panel border-l-4 p-3', edges[one.type as Message['kind']])}
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
