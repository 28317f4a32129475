import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import { useModelNames } from '../../api/models.ts'
import { MultiCombobox } from '../../components/forms/combobox.tsx'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { BudgetFields } from '../../components/forms/period-field.tsx'
import type { Budget } from '../../components/forms/period-field.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { t } from '../organizations.page.ts'

interface CreateOrganizationProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** Name, models and budget; members and limits are set in the organization. */
export function CreateOrganization({ onClose, onCreated }: CreateOrganizationProps) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [models, setModels] = useState<string[]>([])
  const [budget, setBudget] = useState<Budget>({ max_budget: null, budget_duration: null })
  const names = useModelNames().data ?? []
  const create = useMutation({
    mutationFn: () => ask('POST /organization/new', { body: { organization_alias: name.trim(), models, ...budget } }),
    onSuccess: made => {
      toast(t('organizations.created.toast', { name: name.trim() }))
      void client.invalidateQueries({ queryKey: ['organizations'] })
      onClose()
      onCreated(made.organization_id)
    },
  })
  const field = create.error instanceof ApiError ? create.error.field : null
  return (
    <CreateDialog
      onClose={onClose}
      title={t('organizations.create')}
      isReady={name.trim() !== ''}
      create={create}
      fields={['organization_alias', 'models']}
    >
      <TextField
        label={t('all.name')}
        value={name}
        onChange={setName}
        error={field === 'organization_alias' ? create.error!.message : null}
        maxLength={255}
        required
      />
      <MultiCombobox
        label={t('limits.models')}
        help={t('organizations.modelsHelp')}
        placeholder={t('limits.everyModel')}
        choices={names.map(value => ({ value, label: value }))}
        value={models}
        onChange={setModels}
        error={field === 'models' ? create.error!.message : null}
      />
      <BudgetFields help={t('organizations.budgetHelp')} value={budget} onChange={setBudget} />
    </CreateDialog>
  )
}
