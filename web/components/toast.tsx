import { Toast as Base } from '@base-ui/react/toast'
import clsx from 'clsx'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { t } from '../strings/index.ts'
import { buttonClass } from './button.tsx'

const manager = Base.createToastManager()

/** Says what happened, from anywhere: "Key ci-bot deleted". An error stays until it is closed. */
export function toast(title: string, options: { description?: string; isError?: boolean } = {}): void {
  const { description, isError = false } = options
  manager.add({ title, description, type: isError ? 'error' : 'done', timeout: isError ? 0 : 5000 })
}

/** Around the pages, once. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  return (
    <Base.Provider toastManager={manager} limit={4}>
      {children}
      <Base.Portal>
        <Base.Viewport className="fixed right-4 bottom-4 z-50 flex w-full max-w-dialog flex-col gap-2 pl-8">
          <ToastList />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  )
}

function ToastList() {
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
