/** Fields that name another object: it is chosen by its name, and its id is sent. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { useOrganizationChoices } from '../../api/organizations.ts'
import { useSession } from '../../api/session.ts'
import { useTeamChoices } from '../../api/teams.ts'
import { isAdministrator } from '../../frame/rights.ts'
import { Combobox, MultiCombobox } from './combobox.tsx'
import { TextField } from './field.tsx'
import type { ControlProps } from './field-controls.tsx'
import { t } from './field-texts.ts'
import type { FieldName } from './object-forms.ts'
import { Select } from './select.tsx'
import type { Choice } from './select.tsx'

/** So many are offered at once; others are found by a part of their name. */
const offered = 100

interface OneOfProps extends ControlProps {
  readonly choices: readonly Choice[]
  readonly onSearch?: (text: string) => void
}

function OneOf({ value, onChange, label, help, error, choices, onSearch }: OneOfProps) {
  return (
    <Combobox
      label={label}
      {...(help !== undefined && { help })}
      error={error}
      placeholder={t('all.none')}
      choices={choices}
      value={typeof value === 'string' && value !== '' ? value : null}
      onChange={onChange}
      {...(onSearch && { onSearch })}
    />
  )
}

/** A user, found by a part of name or address. */
function UserControl(props: ControlProps) {
  const [searched, setSearched] = useState('')
  const users = useQuery({
    queryKey: ['users', 'choices', searched],
    queryFn: ({ signal }) => ask('GET /user/list', { query: { page_size: offered, search: searched.trim() }, signal }),
    placeholderData: keepPreviousData,
    select: page =>
      page.users.map(one => ({ value: one.user_id, label: one.user_alias ?? one.user_email ?? one.user_id })),
  })
  return <OneOf {...props} choices={users.data ?? []} onSearch={setSearched} />
}

/** Administrators choose among all teams, others among their own. */
function TeamControl(props: ControlProps) {
  const session = useSession().data
  const [searched, setSearched] = useState('')
  const teams = useTeamChoices(searched) ?? []
  if (session && isAdministrator(session)) return <OneOf {...props} choices={teams} onSearch={setSearched} />
  const { label, error, value, onChange } = props
  const own = session?.teams.map(({ id }) => teams.find(one => one.value === id) ?? { value: id, label: id }) ?? []
  const others = typeof value === 'string' && !own.some(one => one.value === value) ? [{ value, label: value }] : []
  if (own.length + others.length === 0) return null
  return (
    <Select
      label={label}
      error={error}
      value={typeof value === 'string' ? value : ''}
      onChange={chosen => onChange(chosen === '' ? null : chosen)}
      choices={[{ value: '', label: t('all.none') }, ...own, ...others]}
    />
  )
}

function OrganizationControl(props: ControlProps) {
  const [searched, setSearched] = useState('')
  const organizations = useOrganizationChoices(searched)
  return <OneOf {...props} choices={organizations} onSearch={setSearched} />
}

/** A named budget; its name is typed by those who may not list them. */
function BudgetControl(props: ControlProps) {
  const { value, onChange, label, help, error } = props
  const budgets = useQuery({
    queryKey: ['budgets', 'choices'],
    queryFn: ({ signal }) => ask('GET /v2/budget/list', { query: { page_size: offered }, signal }),
    select: page => page.budgets.map(one => ({ value: one.budget_id, label: one.budget_id })),
    retry: false,
  })
  if (!budgets.isError) return <OneOf {...props} choices={budgets.data ?? []} />
  return (
    <TextField
      label={label}
      help={help}
      error={error}
      value={typeof value === 'string' ? value : ''}
      onChange={onChange}
      maxLength={255}
    />
  )
}

/** Guardrails of the gateway; those whose list is not shown are typed. */
function GuardrailsControl({ value, onChange, label, help, error }: ControlProps) {
  const names = useQuery({
    queryKey: ['guardrails', 'choices'],
    queryFn: ({ signal }) => ask('GET /guardrails/list', { signal }),
    select: ({ guardrails }) => guardrails.map(one => ({ value: one.guardrail_name, label: one.guardrail_name })),
    retry: false,
  })
  return (
    <MultiCombobox
      isFree
      label={label}
      {...(help !== undefined && { help })}
      error={error}
      choices={names.data ?? []}
      value={(value as readonly string[] | undefined) ?? []}
      onChange={onChange}
    />
  )
}

/** The fields that name other objects. */
export const references: Readonly<Partial<Record<FieldName, (props: ControlProps) => ReactNode>>> = {
  user_id: UserControl,
  team_id: TeamControl,
  organization_id: OrganizationControl,
  budget_id: BudgetControl,
  guardrails: GuardrailsControl,
}
