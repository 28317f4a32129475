import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { Guardrail } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { Confirm } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { Ago } from '../../components/values.tsx'
import { t } from '../../strings/index.ts'
import { GuardrailForm } from './guardrail-form.tsx'
import { modesOf } from './modes.ts'
import { UsedBy } from './used-by.tsx'

interface GuardrailDrawerProps {
  readonly guardrail: Guardrail
  readonly mayChange: boolean
  readonly onClose: () => void
}

/** One guardrail: for which calls it holds, its fields, and, where it was made by API, its changes. */
export function GuardrailDrawer({ guardrail, mayChange, onClose }: GuardrailDrawerProps) {
  const [opened, setOpened] = useState<'edit' | 'delete' | null>(null)
  const { guardrail_id: id, guardrail_name: name, litellm_params: params } = guardrail
  const isOfFile = guardrail.guardrail_definition_location === 'config'
  const { guardrail: kind, mode: _, default_on: isAlways, ...fields } = params
  const actions = mayChange && !isOfFile && (
    <>
      <Button onClick={() => setOpened('edit')}>{t('guardrails.edit')}</Button>
      <Button kind="danger" onClick={() => setOpened('delete')}>
        {t('guardrails.delete')}
      </Button>
    </>
  )
  return (
    <Drawer open onClose={onClose} title={name} actions={actions}>
      <div className="flex flex-col gap-4">
        {isOfFile && <p className="text-muted">{t('guardrails.ofFile')}</p>}
        <Facts
          facts={[
            { name: t('guardrails.id'), value: <Id id={id} /> },
            { name: t('guardrails.kind'), value: String(kind) },
            { name: t('guardrails.stage'), value: modesOf(guardrail).join(', ') },
            { name: t('guardrails.holds'), value: t(isAlways ? 'guardrails.always' : 'guardrails.named') },
            ...(guardrail.updated_at
              ? [{ name: t('guardrails.changed'), value: <Ago at={guardrail.updated_at} /> }]
              : []),
          ]}
        />
        <UsedBy id={id} />
        <CodeBlock
          label={t('guardrails.fields')}
          snippets={[{ title: t('guardrails.fields'), code: JSON.stringify(fields, null, 2) }]}
        />
      </div>
      {opened === 'edit' && <GuardrailForm guardrail={guardrail} onClose={() => setOpened(null)} />}
      <DeleteGuardrail
        guardrail={guardrail}
        open={opened === 'delete'}
        onClose={() => setOpened(null)}
        onDeleted={onClose}
      />
    </Drawer>
  )
}

interface DeleteProps {
  readonly guardrail: Guardrail
  readonly open: boolean
  readonly onClose: () => void
  readonly onDeleted: () => void
}

function DeleteGuardrail({ guardrail, open, onClose, onDeleted }: DeleteProps) {
  const client = useQueryClient()
  const { guardrail_id, guardrail_name: name } = guardrail
  const remove = useMutation({
    mutationFn: () => ask('DELETE /guardrails/{guardrail_id}', { path: { guardrail_id } }),
    onSuccess: () => {
      toast(t('guardrails.deleted', { name }))
      onDeleted()
      return client.invalidateQueries({ queryKey: ['guardrails'] })
    },
  })
  return (
    <Confirm
      open={open}
      onClose={onClose}
      title={t('guardrails.delete')}
      description={t('guardrails.deleteHelp')}
      action={t('guardrails.delete')}
      typed={name}
      busy={remove.isPending}
      onConfirm={() => remove.mutate()}
      problem={remove.error && <ErrorState error={remove.error} isInline />}
    />
  )
}
