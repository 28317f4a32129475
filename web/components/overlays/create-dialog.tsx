import type { ReactNode } from 'react'
import { ApiError } from '../../api/client.ts'
import { t } from '../../strings/index.ts'
import { Button } from '../button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorState } from '../states.tsx'

interface CreateDialogProps {
  readonly onClose: () => void
  /** A verb and what is made: the text of the button, too. */
  readonly title: string
  readonly description?: string
  /** What is needed is typed. */
  readonly isReady: boolean
  readonly create: { readonly error: Error | null; readonly isPending: boolean; readonly mutate: () => void }
  /** Names of the API's fields whose errors stand at a field of this dialog. */
  readonly fields: readonly string[]
  readonly children: ReactNode
}

/** A dialog that makes something, open as long as it is there: its fields, what went wrong beside them, two buttons. */
export function CreateDialog(props: CreateDialogProps) {
  const { onClose, title, description, isReady, create, fields, children } = props
  const { error } = create
  const isAtField = error instanceof ApiError && error.field !== null && fields.includes(error.field)
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      description={description}
      onSubmit={() => isReady && create.mutate()}
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={create.isPending} disabled={!isReady}>
            {title}
          </Button>
        </>
      }
    >
      {children}
      {error && !isAtField && <ErrorState error={error} isInline />}
    </Dialog>
  )
}
