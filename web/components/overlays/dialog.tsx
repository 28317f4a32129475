import { AlertDialog as Alert } from '@base-ui/react/alert-dialog'
import { Dialog as Base } from '@base-ui/react/dialog'
import { useMutation } from '@tanstack/react-query'
import clsx from 'clsx'
import { X } from 'lucide-react'
import { useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { t } from '../../strings/index.ts'
import { Button, buttonClass } from '../button.tsx'
import { TextField } from '../forms/field.tsx'
import { Form } from '../forms/form.tsx'
import { ErrorState } from '../states.tsx'

export interface DialogProps {
  readonly open: boolean
  /** Called by Escape, the cross, and a press outside; absent = it stays until it is done with. */
  readonly onClose?: () => void
  readonly title: string
  readonly description?: ReactNode
  readonly children: ReactNode
  /** Below, at the right: the action last. */
  readonly actions?: ReactNode
  readonly isWide?: boolean
  /** A press outside does not close it: what is in it cannot be shown again. */
  readonly isModalOnly?: boolean
  /** Its content and actions are a form; Enter submits it. */
  readonly onSubmit?: () => void
}

/** What the focus goes to, not the cross that closes it: what is marked, else the first field. */
const firstFocus = '[data-first-focus], input:not([type=hidden]), textarea'
const layer = 'fixed inset-0 z-40'
const placed = clsx(
  'floating fixed top-1/2 left-1/2 z-40 flex max-h-(--dialog-height) w-full',
  '-translate-x-1/2 -translate-y-1/2 flex-col gap-4',
  'overflow-y-auto rounded-panel p-4 outline-none',
)

/**
 * For a form of up to five fields. The focus goes in, stays in, and returns. Escape, the cross and a press outside ask
 * before something that was typed is lost.
 */
export function Dialog(props: DialogProps) {
  const { open, onClose, title, description, isWide, isModalOnly } = props
  const popup = useRef<HTMLDivElement>(null)
  const [typed, setTyped] = useState<'nothing' | 'something' | 'leaving'>('nothing')
  if (!open && typed !== 'nothing') setTyped('nothing')
  const close = () => (typed === 'something' ? setTyped('leaving') : onClose?.())
  return (
    <Base.Root open={open} onOpenChange={next => !next && close()} disablePointerDismissal={isModalOnly}>
      <Base.Portal>
        <Base.Backdrop className={clsx(layer, 'veil')} />
        <Base.Popup
          ref={popup}
          initialFocus={() => popup.current?.querySelector<HTMLElement>(firstFocus) ?? true}
          className={clsx(placed, isWide ? 'max-w-dialog-wide' : 'max-w-dialog')}
        >
          <div className="flex items-start justify-between gap-4">
            <Base.Title className="text-title font-semibold">{title}</Base.Title>
            {onClose && (
              <Base.Close className={buttonClass('quiet', true)} aria-label={t('all.close')}>
                <X size={16} aria-hidden />
              </Base.Close>
            )}
          </div>
          {description && <Base.Description className="text-muted">{description}</Base.Description>}
          <DialogBody {...props} onTyped={() => setTyped('something')} />
          {typed === 'leaving' && onClose && <Leaving onDiscard={onClose} onStay={() => setTyped('something')} />}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

interface LeavingProps {
  readonly onDiscard: () => void
  readonly onStay: () => void
}

function Leaving({ onDiscard, onStay }: LeavingProps) {
  return (
    <div role="alert" className="flex flex-wrap items-center justify-end gap-2 border-l-2 border-warn pl-3">
      <p className="grow">{t('unsaved.title')}</p>
      <Button onClick={onStay}>{t('unsaved.stay')}</Button>
      <Button kind="danger" onClick={onDiscard}>
        {t('unsaved.discard')}
      </Button>
    </div>
  )
}

function DialogBody({ children, actions, onSubmit, onTyped }: DialogProps & { readonly onTyped: () => void }) {
  const below = actions && <div className="flex flex-wrap justify-end gap-2">{actions}</div>
  if (!onSubmit)
    return (
      <>
        {children}
        {below}
      </>
    )
  return (
    <Form onSubmit={onSubmit} onInput={onTyped} className="flex flex-col gap-4">
      {children}
      {below}
    </Form>
  )
}

interface ConfirmProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly title: string
  /** What will happen, and what cannot be undone. */
  readonly description: ReactNode
  /** A verb: "Delete key". */
  readonly action: string
  readonly onConfirm: () => void
  readonly busy?: boolean
  /** The name that has to be typed before the action is possible; for what cannot be undone. */
  readonly typed?: string
  /** What went wrong, where it did. */
  readonly problem?: ReactNode
}

/** Asks before something is destroyed. */
export function Confirm(props: ConfirmProps) {
  return (
    <Alert.Root open={props.open} onOpenChange={next => !next && props.onClose()}>
      <Alert.Portal>
        <Alert.Backdrop className={clsx(layer, 'veil')} />
        <Alert.Popup className={clsx(placed, 'max-w-dialog')}>
          <Alert.Title className="text-title font-semibold">{props.title}</Alert.Title>
          <Alert.Description className="text-muted">{props.description}</Alert.Description>
          <ConfirmForm {...props} />
        </Alert.Popup>
      </Alert.Portal>
    </Alert.Root>
  )
}

function ConfirmForm({ action, onConfirm, onClose, busy, typed, problem }: ConfirmProps) {
  const [text, setText] = useState('')
  const isAllowed = typed === undefined || text === typed
  return (
    <Form onSubmit={() => isAllowed && onConfirm()} className="flex flex-col gap-4">
      {typed !== undefined && (
        <TextField label={t('all.typeToConfirm', { name: typed })} value={text} onChange={setText} isCode />
      )}
      {problem}
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>{t('all.cancel')}</Button>
        <Button kind="danger" type="submit" busy={busy} disabled={!isAllowed}>
          {action}
        </Button>
      </div>
    </Form>
  )
}

interface DeleteButtonProps {
  /** A verb and what is deleted; the text of both buttons. */
  readonly title: string
  readonly description: string
  /** The name that has to be typed. */
  readonly typed: string
  readonly remove: () => Promise<unknown>
  readonly onDone: () => void
}

/** Deletes something, once its name is typed. */
export function DeleteButton({ title, description, typed, remove, onDone }: DeleteButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const removal = useMutation({
    mutationFn: remove,
    onSuccess: () => {
      setOpen(false)
      onDone()
    },
  })
  const open = () => {
    // Why it was refused the last time may be no reason any more.
    removal.reset()
    setOpen(true)
  }
  return (
    <>
      <Button kind="danger" onClick={open}>
        {title}
      </Button>
      <Confirm
        open={isOpen}
        onClose={() => setOpen(false)}
        title={title}
        description={description}
        action={title}
        typed={typed}
        busy={removal.isPending}
        onConfirm={() => removal.mutate()}
        problem={removal.isError && <ErrorState error={removal.error} isInline />}
      />
    </>
  )
}
