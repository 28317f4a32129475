import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { NumberField } from '../../components/forms/number-field.tsx'
import { counts } from '../../lib/number-text.ts'
import { BudgetFields } from '../../components/forms/period-field.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../budgets.page.ts'

interface CreateBudgetProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

const blank = { max_budget: null, budget_duration: null, rpm_limit: null }
type Fields = { readonly [Name in keyof typeof blank]: Name extends 'budget_duration' ? string | null : number | null }

/** A named budget: its id, the amount and its period, and requests a minute. */
export function CreateBudget({ onClose, onCreated }: CreateBudgetProps) {
  const client = useQueryClient()
  const [id, setId] = useState('')
  const [fields, setFields] = useState<Fields>(blank)
  const create = useMutation({
    mutationFn: () => ask('POST /budget/new', { body: { budget_id: id.trim(), ...fields } }),
    onSuccess: made => {
      toast(t('budgets.created.toast', { name: made.budget_id }))
      void client.invalidateQueries({ queryKey: ['budgets'] })
      onClose()
      onCreated(made.budget_id)
    },
  })
  const field = create.error instanceof ApiError ? create.error.field : null
  return (
    <CreateDialog
      onClose={onClose}
      title={t('budgets.create')}
      isReady={id.trim() !== ''}
      create={create}
      fields={['budget_id', 'rpm_limit']}
    >
      <p className="text-muted">{t('budgets.createHelp')}</p>
      <TextField
        label={t('all.name')}
        value={id}
        onChange={setId}
        error={field === 'budget_id' ? create.error!.message : null}
        maxLength={255}
        required
      />
      <BudgetFields
        help={t('budgets.amountHelp')}
        value={fields}
        onChange={budget => setFields({ ...fields, ...budget })}
      />
      <NumberField
        label={t('limits.requests')}
        help={t('edit.limitHelp')}
        error={field === 'rpm_limit' ? create.error!.message : null}
        unit={t('unit.requests')}
        range={counts}
        value={fields.rpm_limit}
        onChange={limit => setFields({ ...fields, rpm_limit: limit })}
      />
    </CreateDialog>
  )
}
