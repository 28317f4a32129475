import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { forgetConversation } from '../../api/conversations.ts'
import type { ChatSettings } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { Confirm, Dialog } from '../../components/overlays/dialog.tsx'
import { Select } from '../../components/forms/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../chat.page.ts'

interface RetentionDialogProps {
  readonly settings: ChatSettings
  readonly onClose: () => void
  readonly onChanged: () => void
  readonly onDeleted: () => void
}

const choicesOfDays = [1, 7, 30, 90, 365]

/** How long conversations are kept, and the end of them all. */
export function RetentionDialog({ settings, onClose, onChanged, onDeleted }: RetentionDialogProps) {
  const { retention_days: days, retention_days_max: most } = settings
  const [chosen, setChosen] = useState(days)
  const [isDeleting, setDeleting] = useState(false)
  const save = useMutation({
    mutationFn: () => ask('PATCH /chat/settings', { body: { retention_days: chosen } }),
    onSuccess: () => {
      onChanged()
      onClose()
    },
  })
  const offered = [...new Set([...choicesOfDays, ...(days === null ? [] : [days])])]
    .filter(one => most === null || one <= most)
    .sort((one, other) => one - other)
  if (isDeleting) return <DeleteAll onClose={onClose} onDeleted={onDeleted} />
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('chat.keep')}
      description={t(most === null ? 'chat.keepHelp' : 'chat.keepHelpMost', { days: most ?? '' })}
      onSubmit={() => save.mutate()}
      actions={
        <>
          <Button kind="danger" className="mr-auto" onClick={() => setDeleting(true)}>
            {t('chat.deleteAll')}
          </Button>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={save.isPending}>
            {t('chat.save')}
          </Button>
        </>
      }
    >
      <Select
        label={t('chat.keepFor')}
        value={chosen === null ? '' : String(chosen)}
        onChange={value => setChosen(value === '' ? null : Number(value))}
        choices={[
          { value: '', label: t(most === null ? 'chat.untilDeleted' : 'chat.asLongAsMay') },
          ...offered.map(one => ({ value: String(one), label: t('chat.days', { days: one }) })),
        ]}
      />
      {save.isError && <ErrorState error={save.error} isInline />}
    </Dialog>
  )
}

function DeleteAll({ onClose, onDeleted }: Pick<RetentionDialogProps, 'onClose' | 'onDeleted'>) {
  const client = useQueryClient()
  const remove = useMutation({
    mutationFn: () => ask('DELETE /chat/conversations'),
    onSuccess: ({ deleted }) => {
      onDeleted()
      onClose()
      toast(t('chat.deletedAll', { count: deleted }))
      return forgetConversation(client)
    },
  })
  return (
    <Confirm
      open
      onClose={onClose}
      title={t('chat.deleteAll')}
      description={t('chat.deleteAllHelp')}
      action={t('chat.deleteAll')}
      typed={t('chat.deleteAllTyped')}
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      problem={remove.isError && <ErrorState error={remove.error} isInline />}
    />
  )
}
