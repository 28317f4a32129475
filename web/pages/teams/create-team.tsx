import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import { useOrganizationChoices } from '../../api/organizations.ts'
import { useSession } from '../../api/session.ts'
import { CreateDialog } from '../../components/overlays/create-dialog.tsx'
import { Combobox } from '../../components/forms/combobox.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { BudgetFields } from '../../components/forms/period-field.tsx'
import type { Budget } from '../../components/forms/period-field.tsx'
import { Select } from '../../components/forms/select.tsx'
import { toast } from '../../components/overlays/toast.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../teams.page.ts'

interface CreateTeamProps {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

/** Name, place and budget; everything else is set in the team. Admins of organizations make teams in these. */
export function CreateTeam({ onClose, onCreated }: CreateTeamProps) {
  const client = useQueryClient()
  const session = useSession().data
  const isForAnyOrganization = session !== undefined && isAdministrator(session)
  const led = session?.organizations.filter(one => one.role === 'org_admin').map(one => one.id) ?? []
  const [name, setName] = useState('')
  const [searched, setSearched] = useState('')
  const organizations = useOrganizationChoices(searched)
  const [organization, setOrganization] = useState(isForAnyOrganization ? '' : (led[0] ?? ''))
  const [budget, setBudget] = useState<Budget>({ max_budget: null, budget_duration: null })
  const create = useMutation({
    mutationFn: () =>
      ask('POST /team/new', {
        body: { team_alias: name.trim(), organization_id: organization || null, ...budget },
      }),
    onSuccess: team => {
      toast(t('teams.created.toast', { name: name.trim() }))
      void client.invalidateQueries({ queryKey: ['teams'] })
      onClose()
      onCreated(team.team_id)
    },
  })
  const field = create.error instanceof ApiError ? create.error.field : null
  return (
    <CreateDialog
      onClose={onClose}
      title={t('teams.create')}
      isReady={name.trim() !== ''}
      create={create}
      fields={['team_alias', 'organization_id']}
    >
      <TextField
        label={t('all.name')}
        value={name}
        onChange={setName}
        error={field === 'team_alias' ? create.error!.message : null}
        maxLength={255}
        required
      />
      {isForAnyOrganization ? (
        <Combobox
          label={t('teams.organization')}
          placeholder={t('teams.noOrganization')}
          choices={organizations}
          value={organization || null}
          onChange={chosen => setOrganization(chosen ?? '')}
          onSearch={setSearched}
          error={field === 'organization_id' ? create.error!.message : null}
        />
      ) : (
        led.length > 1 && (
          <Select
            label={t('teams.organization')}
            value={organization}
            onChange={setOrganization}
            choices={led.map(value => ({ value, label: value }))}
          />
        )
      )}
      <BudgetFields help={t('teams.budgetHelp')} value={budget} onChange={setBudget} />
    </CreateDialog>
  )
}
