import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, ask } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { NumberField, TextField } from '../../components/field.tsx'
import { Select } from '../../components/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { toast } from '../../components/toast.tsx'
import { t } from '../../strings/index.ts'

interface CreateTeamProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

const periods = ['', '1d', '7d', '30d', '1mo'] as const
type Period = (typeof periods)[number]

/** Name, budget and its period; everything else is set in the team. */
export function CreateTeam({ open, onClose, onCreated }: CreateTeamProps) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [budget, setBudget] = useState<number | null>(null)
  const [period, setPeriod] = useState<Period>('')
  const create = useMutation({
    mutationFn: () =>
      ask('POST /team/new', {
        body: { team_alias: name.trim(), max_budget: budget, budget_duration: budget === null ? null : period || null },
      }),
    onSuccess: team => {
      toast(t('teams.created.toast', { name: name.trim() }))
      void client.invalidateQueries({ queryKey: ['teams'] })
      setName('')
      setBudget(null)
      onClose()
      onCreated(team.team_id)
    },
  })
  const problem = create.error instanceof ApiError && create.error.field === 'team_alias' ? create.error.message : null
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={t('teams.create')}
      onSubmit={() => create.mutate()}
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={create.isPending} disabled={name.trim() === ''}>
            {t('teams.create')}
          </Button>
        </>
      }
    >
      <TextField label={t('teams.name')} value={name} onChange={setName} error={problem} required />
      <NumberField
        label={t('limits.budget')}
        help={t('teams.budgetHelp')}
        unit="USD"
        min={0}
        value={budget}
        onChange={setBudget}
      />
      {budget !== null && (
        <Select
          label={t('limits.period')}
          value={period}
          onChange={setPeriod}
          choices={periods.map(value => ({ value, label: value === '' ? t('limits.forEver') : value }))}
        />
      )}
      {create.isError && problem === null && <ErrorState error={create.error} isInline />}
    </Dialog>
  )
}
