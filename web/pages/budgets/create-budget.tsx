import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { CreateObject, isTyped } from '../../components/forms/create-object.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { t } from '../budgets.page.ts'

interface CreateBudgetProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** A named budget: its id, the amount, its period, and limits. */
export function CreateBudget({ onClose, onCreated }: CreateBudgetProps) {
  const [id, setId] = useState('')
  return (
    <CreateObject
      object="budget"
      title={t('budgets.create')}
      description={t('budgets.createHelp')}
      isReady={() => isTyped(id)}
      make={values => ask('POST /budget/new', { body: { budget_id: id.trim(), ...values } })}
      queryKey="budgets"
      told={made => t('budgets.created.toast', { name: made.budget_id })}
      onClose={onClose}
      onMade={made => onCreated(made.budget_id)}
      ownFields={['budget_id']}
    >
      {problem => (
        <TextField
          label={t('all.name')}
          value={id}
          onChange={setId}
          error={problem('budget_id')}
          maxLength={255}
          required
        />
      )}
    </CreateObject>
  )
}
