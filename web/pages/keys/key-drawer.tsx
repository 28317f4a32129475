import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { ask } from '../../api/client.ts'
import { useBlockKey, useDeleteKeys, useKey } from '../../api/keys.ts'
import type { KeyInfo } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Id } from '../../components/id.tsx'
import { BudgetMeter, limitInWords } from '../../components/gateway/limits.tsx'
import { LimitsExplained } from '../../components/gateway/limits-explained.tsx'
import { reportError } from '../../components/report-error.ts'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { StoredBodies } from '../../components/gateway/stored-bodies.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { Ago } from '../../components/values.tsx'
import { t } from '../keys.page.ts'
import { EditKey } from './edit-key.tsx'
import { KeyStatus } from './key-status.tsx'
import { RotateKey } from './rotate-key.tsx'

interface KeyDrawerProps {
  /** The id, which stays when the key is rotated; empty = closed. */
  readonly id: string
  readonly onClose: () => void
}

/** One key: its use, its limits, and what can be done with it. */
export function KeyDrawer({ id, onClose }: KeyDrawerProps) {
  const key = useKey(id)
  const title = key.data ? (key.data.info.key_alias ?? key.data.info.key_name) : t('keys.key')
  return (
    <Drawer open={id !== ''} onClose={onClose} title={title}>
      {/* What was read stays when it cannot be read again: a new secret may be shown in it. */}
      {key.data ? (
        <Details key={key.data.info.token_id} of={key.data} onGone={onClose} />
      ) : key.isError ? (
        <ErrorState error={key.error} onRetry={() => void key.refetch()} />
      ) : (
        <SkeletonRows count={6} />
      )}
    </Drawer>
  )
}

interface DetailsProps {
  readonly of: KeyInfo
  readonly onGone: () => void
}

function Details({ of, onGone }: DetailsProps) {
  const { info, may } = of
  const client = useQueryClient()
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <EditKey info={info} onDone={() => setEditing(false)} />
  return (
    <div className="flex flex-col gap-6">
      {may.length > 0 && <Actions of={of} onEdit={() => setEditing(true)} onGone={onGone} />}
      <KeyFacts of={of} />
      <LimitsExplained of={{ key: info.token_id }} />
      <StoredBodies
        isStored={info.store_prompts_in_spend_logs}
        mayChange={may.includes('store_bodies')}
        save={store_prompts_in_spend_logs =>
          ask('POST /key/update', { body: { key: info.token_id, version: info.version, store_prompts_in_spend_logs } })
        }
        onChanged={() => client.invalidateQueries({ queryKey: ['keys'] })}
      />
    </div>
  )
}

function KeyFacts({ of: { info, budget, limits: inForce } }: Pick<DetailsProps, 'of'>) {
  const limits = [
    [t('keys.rpm'), 'rpm_limit'],
    [t('keys.tpm'), 'tpm_limit'],
    [t('keys.parallel'), 'max_parallel_requests'],
  ] as const
  return (
    <>
      <BudgetMeter label={t('keys.spend')} budget={budget} spend={info.spend} />
      <dl className="grid grid-cols-(--columns-keys) gap-x-6 gap-y-2">
        <Fact name={t('keys.status')}>
          <KeyStatus keyRow={info} />
        </Fact>
        <Fact name={t('keys.key')}>
          <code className="font-mono text-code">{info.key_name}</code>
        </Fact>
        <Fact name={t('keys.id')}>
          <Id id={info.token_id} />
        </Fact>
        <Fact name={t('keys.models')}>{info.models.length > 0 ? info.models.join(', ') : t('keys.allModels')}</Fact>
        {limits.map(([name, limit]) => (
          <Fact key={name} name={name}>
            {limitInWords(info, inForce, limit)}
          </Fact>
        ))}
        {info.user_id && <Fact name={t('keys.user')}>{info.user_alias ?? info.user_email ?? info.user_id}</Fact>}
        {info.team_id && (
          <Fact name={t('keys.team')}>
            <Link to="/teams" search={{ team: info.team_id }} className="target underline">
              {info.team_alias ?? info.team_id}
            </Link>
          </Fact>
        )}
        <Fact name={t('keys.expires')}>{info.expires ? <Ago at={info.expires} /> : t('keys.never')}</Fact>
        <Fact name={t('keys.created')}>
          <Ago at={info.created_at} />
        </Fact>
      </dl>
    </>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="contents">
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  )
}

interface ActionsProps extends DetailsProps {
  readonly onEdit: () => void
}

/** What the gateway says that may be done with the key. */
function Actions({ of: { info, may }, onEdit, onGone }: ActionsProps) {
  const [open, setOpen] = useState<'rotate' | 'delete' | null>(null)
  const block = useBlockKey()
  const remove = useDeleteKeys()
  const name = info.key_alias ?? info.key_name
  const close = () => setOpen(null)
  const askToDelete = () => {
    remove.reset()
    setOpen('delete')
  }
  const removed = () => {
    close()
    onGone()
    toast(t('keys.deleted', { name }))
  }
  const change = () => block.mutate({ id: info.token_id, blocked: !info.blocked }, { onError: reportError })
  return (
    <div className="flex flex-wrap gap-2">
      {may.includes('update') && <Button onClick={onEdit}>{t('edit.action')}</Button>}
      {may.includes('regenerate') && <Button onClick={() => setOpen('rotate')}>{t('keys.rotate')}</Button>}
      {may.includes('block') && (
        <Button busy={block.isPending} onClick={change}>
          {info.blocked ? t('keys.unblock') : t('keys.block')}
        </Button>
      )}
      {may.includes('delete') && (
        <Button kind="danger" onClick={askToDelete}>
          {t('keys.delete')}
        </Button>
      )}
      {open === 'rotate' && <RotateKey keyRow={info} onClose={close} />}
      <Confirm
        open={open === 'delete'}
        onClose={close}
        typed={name}
        title={t('keys.deleteTitle', { name })}
        description={t('keys.deleteHelp')}
        action={t('keys.delete')}
        busy={remove.isPending}
        onConfirm={() => remove.mutate({ keys: [info.token_id] }, { onSuccess: removed })}
        problem={remove.error && <ErrorState error={remove.error} isInline />}
      />
    </div>
  )
}
