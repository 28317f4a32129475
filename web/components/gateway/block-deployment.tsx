import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { t } from '../../strings/index.ts'
import { Badge } from '../badge.tsx'
import { Button } from '../button.tsx'
import { Dialog } from '../overlays/dialog.tsx'
import { TextField } from '../forms/field.tsx'
import { reportError } from '../report-error.ts'
import { ErrorState } from '../states.tsx'
import { toast } from '../overlays/toast.tsx'
import { Ago } from '../values.tsx'

/** Who switched a deployment off, when and why; all but `blocked` only for those who may read everything. */
export interface Block {
  readonly blocked: boolean
  readonly blocked_by?: string | null | undefined
  readonly blocked_at?: string | null | undefined
  readonly blocked_reason?: string | null | undefined
}

/** That a deployment gets no calls, and whose decision that was; nothing where it gets them. */
export function BlockNote({ block }: { readonly block: Block }) {
  if (!block.blocked) return null
  const { blocked_by: by, blocked_at: at, blocked_reason: reason } = block
  return (
    <div className="flex flex-col gap-1 border-l-2 border-bad pl-3">
      <span className="flex flex-wrap gap-2">
        <Badge tone="bad">{t('block.blocked')}</Badge>
        {by && (
          <span className="min-w-0 break-words text-muted">
            {t('block.by', { by })} <Ago at={at} />
          </span>
        )}
      </span>
      {reason && <span className="break-words">{reason}</span>}
    </div>
  )
}

interface BlockButtonProps {
  /** Of the deployment. */
  readonly id: string
  /** What people call it: the public name, and the model at the upstream. */
  readonly name: string
  readonly isBlocked: boolean
  /** In a row of a table. */
  readonly isQuiet?: boolean
}

/** Switches a deployment off, with a reason, and on again. */
export function BlockButton({ id, name, isBlocked, isQuiet }: BlockButtonProps) {
  const [isAsking, setAsking] = useState(false)
  const client = useQueryClient()
  const kind = isQuiet ? 'quiet' : undefined
  const changed = (word: 'block.done' | 'block.undone') => {
    toast(t(word, { name }))
    for (const key of ['models', 'model-groups', 'overview', 'providers'])
      void client.invalidateQueries({ queryKey: [key] })
  }
  const unblock = useMutation({
    mutationFn: () => ask('POST /model/unblock', { body: { model_id: id } }),
    onSuccess: () => changed('block.undone'),
    onError: reportError,
  })
  if (isBlocked)
    return (
      <Button kind={kind} busy={unblock.isPending} onClick={() => unblock.mutate()}>
        {t('block.undo')}
      </Button>
    )
  return (
    <>
      <Button kind={kind} onClick={() => setAsking(true)}>
        {t('block.do')}
      </Button>
      {isAsking && (
        <BlockDialog
          id={id}
          name={name}
          onClose={() => setAsking(false)}
          onDone={() => {
            setAsking(false)
            changed('block.done')
          }}
        />
      )}
    </>
  )
}

interface BlockDialogProps {
  readonly id: string
  readonly name: string
  readonly onClose: () => void
  readonly onDone: () => void
}

function BlockDialog({ id, name, onClose, onDone }: BlockDialogProps) {
  const [reason, setReason] = useState('')
  const block = useMutation({
    mutationFn: () => ask('POST /model/block', { body: { model_id: id, reason: reason.trim() || null } }),
    onSuccess: onDone,
  })
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('block.title', { name })}
      description={t('block.help')}
      onSubmit={() => block.mutate()}
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="danger" type="submit" busy={block.isPending}>
            {t('block.do')}
          </Button>
        </>
      }
    >
      <TextField
        label={t('block.reason')}
        help={t('block.reasonHelp')}
        value={reason}
        onChange={setReason}
        maxLength={500}
        isOptional
      />
      {block.isError && <ErrorState error={block.error} isInline />}
    </Dialog>
  )
}
