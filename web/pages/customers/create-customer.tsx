import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { BudgetFields } from '../../components/forms/period-field.tsx'
import type { Budget } from '../../components/forms/period-field.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../customers.page.ts'

interface CreateCustomerProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** The id that calls name, a name for people, and a budget. */
export function CreateCustomer({ onClose, onCreated }: CreateCustomerProps) {
  const client = useQueryClient()
  const [id, setId] = useState('')
  const [name, setName] = useState('')
  const [budget, setBudget] = useState<Budget>({ max_budget: null, budget_duration: null })
  const create = useMutation({
    mutationFn: () =>
      ask('POST /customer/new', { body: { user_id: id.trim(), alias: name.trim() || null, ...budget } }),
    onSuccess: made => {
      toast(t('customers.created.toast', { name: made.user_id }))
      void client.invalidateQueries({ queryKey: ['customers'] })
      onClose()
      onCreated(made.user_id)
    },
  })
  const problem = create.error instanceof ApiError && create.error.field === 'user_id' ? create.error.message : null
  return (
    <CreateDialog
      onClose={onClose}
      title={t('customers.create')}
      isReady={id.trim() !== ''}
      create={create}
      fields={['user_id']}
    >
      <TextField
        label={t('customers.id')}
        help={t('customers.idHelp')}
        value={id}
        onChange={setId}
        error={problem}
        maxLength={255}
        required
        isCode
      />
      <TextField label={t('customers.name')} value={name} onChange={setName} maxLength={255} isOptional />
      <BudgetFields help={t('customers.budgetHelp')} value={budget} onChange={setBudget} />
    </CreateDialog>
  )
}
