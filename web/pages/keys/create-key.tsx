import clsx from 'clsx'
import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { useCreateKey } from '../../api/keys.ts'
import { useModelNames } from '../../api/models.ts'
import { useSession } from '../../api/session.ts'
import { useTeamChoices } from '../../api/teams.ts'
import { Button } from '../../components/button.tsx'
import { Combobox, MultiCombobox } from '../../components/forms/combobox.tsx'
import { Dialog } from '../../components/overlays/dialog.tsx'
import { TextField } from '../../components/forms/field.tsx'
import { LimitFields, limitFields } from '../../components/forms/limit-fields.tsx'
import type { LimitValues } from '../../components/forms/limit-fields.tsx'
import { Select } from '../../components/forms/select.tsx'
import { ErrorState } from '../../components/states.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../keys.page.ts'
import { NewSecret } from './new-secret.tsx'

/** Three fields, and limits in a fold; what was made takes their place. */
export function CreateKey({ onClose }: { readonly onClose: () => void }) {
  const create = useCreateKey()
  const made = create.data
  if (made)
    return (
      <NewSecret
        title={t('keys.created.title', { name: made.key_alias ?? made.key_name })}
        secret={made.key}
        models={made.models}
        onClose={onClose}
      />
    )
  return <CreateForm create={create} onClose={onClose} />
}

interface CreateFormProps {
  readonly create: ReturnType<typeof useCreateKey>
  readonly onClose: () => void
}

const noLimits: LimitValues = { max_budget: null, rpm_limit: null, tpm_limit: null, max_parallel_requests: null }

function CreateForm({ create, onClose }: CreateFormProps) {
  const [name, setName] = useState('')
  const [team, setTeam] = useState('')
  const [models, setModels] = useState<string[]>([])
  const [limits, setLimits] = useState(noLimits)
  const names = useModelNames().data ?? []
  const account = useSession().data?.user_id ?? null
  const { error } = create
  const field = error instanceof ApiError ? error.field : null
  const problem = (of: string) => (field === of ? error!.message : null)
  return (
    <Dialog
      open
      onClose={onClose}
      title={t('keys.create')}
      description={t(account === null ? 'keys.createHelpOperator' : 'keys.createHelp')}
      onSubmit={() =>
        create.mutate({
          key_alias: name.trim() || null,
          team_id: team || null,
          // Else an administrator's key would have no user.
          ...(account !== null && { user_id: account }),
          ...(models.length > 0 && { models }),
          ...limits,
        })
      }
      actions={
        <>
          <Button onClick={onClose}>{t('all.cancel')}</Button>
          <Button kind="primary" type="submit" busy={create.isPending}>
            {t('keys.create')}
          </Button>
        </>
      }
    >
      <TextField
        label={t('keys.name')}
        help={t('keys.nameHelp')}
        value={name}
        onChange={setName}
        maxLength={255}
        error={problem('key_alias')}
      />
      <TeamField team={team} onChange={setTeam} error={problem('team_id')} />
      <MultiCombobox
        label={t('keys.models')}
        help={t('keys.modelsHelp')}
        placeholder={t('keys.allModels')}
        choices={names.map(value => ({ value, label: value }))}
        value={models}
        onChange={setModels}
        error={problem('models')}
      />
      <LimitsFold limits={limits} problem={problem} onChange={setLimits} isWrong={limitFields.includes(field ?? '')} />
      {error && !['key_alias', 'team_id', 'models', ...limitFields].includes(field ?? '') && (
        <ErrorState error={error} isInline />
      )}
    </Dialog>
  )
}

interface TeamFieldProps {
  readonly team: string
  readonly onChange: (team: string) => void
  readonly error: string | null
}

/** Administrators choose among all teams, others among their own. */
function TeamField({ team, onChange, error }: TeamFieldProps) {
  const session = useSession().data
  const [searched, setSearched] = useState('')
  const teams = useTeamChoices(searched) ?? []
  const label = t('keys.team')
  if (session && isAdministrator(session))
    return (
      <Combobox
        label={label}
        placeholder={t('keys.noTeam')}
        choices={teams}
        value={team || null}
        onChange={chosen => onChange(chosen ?? '')}
        onSearch={setSearched}
        error={error}
      />
    )
  const own = session?.teams.map(({ id }) => teams.find(one => one.value === id) ?? { value: id, label: id }) ?? []
  if (own.length === 0) return null
  const choices = [{ value: '', label: t('keys.noTeam') }, ...own]
  return <Select label={label} value={team} onChange={onChange} error={error} choices={choices} />
}

interface LimitsFoldProps {
  readonly limits: LimitValues
  readonly problem: (field: string) => string | null
  readonly onChange: (limits: LimitValues) => void
  /** It opens: what is wrong has to be seen. */
  readonly isWrong: boolean
}

/** What few keys need. Those who may make a key may limit it: limits of its user and team hold all the same. */
function LimitsFold({ limits, problem, onChange, isWrong }: LimitsFoldProps) {
  const [isOpen, setOpen] = useState(false)
  const set = (change: LimitValues) => {
    const { budget_duration: period = null, ...next } = { ...limits, ...change }
    // Without an amount there is no period.
    onChange(next.max_budget === null ? next : { ...next, budget_duration: period })
  }
  return (
    <details open={isOpen || isWrong} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary className="flex min-h-8 cursor-pointer items-center gap-2 font-medium touch:min-h-11">
        <ChevronRight size={16} aria-hidden className={clsx('text-muted', (isOpen || isWrong) && 'rotate-90')} />
        <span>{t('keys.limits')}</span>
        <span className="font-normal text-muted">{t('keys.limitsFold')}</span>
      </summary>
      <div className="pt-3">
        <LimitFields values={limits} problem={problem} onChange={set} />
      </div>
    </details>
  )
}
