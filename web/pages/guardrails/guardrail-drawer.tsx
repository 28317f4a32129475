import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { Guardrail } from '../../api/schema.d.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { DeleteButton } from '../../components/overlays/dialog.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { Ago } from '../../components/values.tsx'
import { t } from '../guardrails.page.ts'
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
  const client = useQueryClient()
  const [isEditing, setEditing] = useState(false)
  const { guardrail_id: id, guardrail_name: name, litellm_params: params } = guardrail
  const isOfFile = guardrail.guardrail_definition_location === 'config'
  const { guardrail: kind, mode: _, default_on: isAlways, ...fields } = params
  const actions = mayChange && !isOfFile && (
    <>
      <Button onClick={() => setEditing(true)}>{t('guardrails.edit')}</Button>
      <DeleteButton
        title={t('guardrails.delete')}
        description={t('guardrails.deleteHelp')}
        typed={name}
        remove={() => ask('DELETE /guardrails/{guardrail_id}', { path: { guardrail_id: id } })}
        onDone={() => {
          toast(t('guardrails.deleted', { name }))
          onClose()
          void client.invalidateQueries({ queryKey: ['guardrails'] })
        }}
      />
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
      {isEditing && <GuardrailForm guardrail={guardrail} onClose={() => setEditing(false)} />}
    </Drawer>
  )
}
