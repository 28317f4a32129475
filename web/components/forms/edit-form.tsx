/** Name, models, budget and limits of one thing, as they are edited in its drawer. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { useModelNames } from '../../api/models.ts'
import { formatCount, formatMoney } from '../../lib/format.ts'
import { periodLabel } from '../../lib/periods.ts'
import { t } from '../../strings/index.ts'
import { Button } from '../button.tsx'
import { MultiCombobox } from './combobox.tsx'
import { TextField } from './field.tsx'
import { Form } from './form.tsx'
import type { LimitValues } from './limit-fields.tsx'
import { LimitFields, limitFields, limitLabel } from './limit-fields.tsx'
import { ErrorState } from '../states.tsx'
import { Unsaved } from './unsaved.tsx'

/** What can be edited; a field that is absent is not offered. */
export interface Editable extends LimitValues {
  readonly name?: string | null
  readonly models?: readonly string[]
}

/** What is stored, and the version that it has. */
export interface Stored {
  readonly values: Editable
  readonly version: number
}

/** The limits and the budget of something that has them. */
export const spendingOf = (of: Required<Omit<Editable, 'name' | 'models'>>): Editable => ({
  max_budget: of.max_budget,
  soft_budget: of.soft_budget,
  budget_duration: of.budget_duration,
  rpm_limit: of.rpm_limit,
  tpm_limit: of.tpm_limit,
  max_parallel_requests: of.max_parallel_requests,
})

interface EditFormProps {
  readonly stored: Stored
  /** Of the name: "Team name". */
  readonly nameLabel: string
  /** What the API calls the name, so that its error stands at it: `team_alias`. Absent = it has none. */
  readonly nameField?: string
  /** Rejects with 409 where another has changed it since `version`. */
  readonly save: (changes: Editable, version: number) => Promise<unknown>
  /** What is stored now: asked for after a conflict. */
  readonly reload: () => Promise<Stored>
  readonly onDone: () => void
  readonly onCancel: () => void
}

/** What is typed stays when the stored values are loaded anew: only changes are sent, and shown before. */
export function EditForm({ stored, nameLabel, nameField = '', save, reload, onDone, onCancel }: EditFormProps) {
  const [base, setBase] = useState(stored)
  const [typed, setTyped] = useState<Editable>({})
  const changes = differences(base.values, typed)
  const saving = useMutation({ mutationFn: () => save(changes, base.version), onSuccess: onDone })
  const loading = useMutation({
    mutationFn: reload,
    onSuccess: next => {
      setBase(next)
      saving.reset()
    },
  })
  const values = { ...base.values, ...typed }
  const set = (change: Editable) => setTyped({ ...typed, ...change })
  const error = saving.error instanceof ApiError ? saving.error : null
  const problem = (name: string) => (error?.field === name ? error.message : null)
  const has = (name: keyof Editable) => base.values[name] !== undefined
  const isAtField = [nameField, 'models', ...limitFields].includes(error?.field ?? '')
  return (
    <Form
      aria-label={t('edit.title')}
      className="flex flex-col gap-4"
      onSubmit={() => {
        if (Object.keys(changes).length > 0) saving.mutate()
      }}
    >
      {has('name') && (
        <TextField
          label={nameLabel}
          value={values.name ?? ''}
          onChange={name => set({ name })}
          maxLength={255}
          error={problem(nameField)}
        />
      )}
      {has('models') && (
        <ModelsField models={values.models ?? []} error={problem('models')} onChange={models => set({ models })} />
      )}
      <LimitFields values={values} problem={problem} onChange={set} />
      <Unsaved isChanged={Object.keys(changes).length > 0 && !saving.isSuccess} />
      <Differences before={base.values} after={changes} nameLabel={nameLabel} />
      {saving.isError && !isAtField && <ErrorState error={saving.error} isInline />}
      <div className="flex flex-wrap justify-end gap-2">
        {error?.status === 409 && (
          <Button busy={loading.isPending} onClick={() => loading.mutate()}>
            {t('edit.reload')}
          </Button>
        )}
        <Button onClick={onCancel}>{t('all.cancel')}</Button>
        <Button kind="primary" type="submit" busy={saving.isPending} disabled={Object.keys(changes).length === 0}>
          {t('edit.save')}
        </Button>
      </div>
    </Form>
  )
}

/** What was typed and is another value than the stored one. An empty name is none. */
function differences(before: Editable, typed: Editable): Editable {
  const cleaned = { ...typed, ...(typed.name !== undefined && { name: typed.name?.trim() || null }) }
  return Object.fromEntries(
    Object.entries(cleaned).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Editable]),
    ),
  )
}

function ModelsField(props: {
  readonly models: readonly string[]
  readonly error: string | null
  readonly onChange: (models: string[]) => void
}) {
  const names = useModelNames().data ?? []
  return (
    <MultiCombobox
      label={t('limits.models')}
      help={t('edit.modelsHelp')}
      placeholder={t('limits.everyModel')}
      choices={names.map(value => ({ value, label: value }))}
      value={props.models}
      onChange={props.onChange}
      error={props.error}
    />
  )
}

interface DifferencesProps {
  readonly before: Editable
  readonly after: Editable
  readonly nameLabel: string
}

/** Each change in words, before it is saved. */
function Differences({ before, after, nameLabel }: DifferencesProps) {
  const names = Object.keys(after) as (keyof Editable)[]
  if (names.length === 0) return null
  return (
    <section aria-label={t('edit.changes')} className="flex flex-col gap-1 rounded-control border border-line p-3">
      <h3 className="font-medium">{t('edit.changes')}</h3>
      <ul>
        {names.map(name => (
          <li key={name} className="numbers break-words">
            {labelOf(name, nameLabel)}: <s className="text-muted">{written(name, before[name])}</s>{' '}
            <span aria-hidden>→</span> {written(name, after[name])}
          </li>
        ))}
      </ul>
    </section>
  )
}

function labelOf(name: keyof Editable, nameLabel: string): string {
  if (name === 'name') return nameLabel
  if (name === 'models') return t('limits.models')
  return limitLabel(name)
}

function written(name: keyof Editable, value: Editable[keyof Editable]): string {
  if (name === 'budget_duration') return periodLabel((value as string | null | undefined) ?? null)
  if (typeof value === 'number') return name.endsWith('budget') ? formatMoney(value) : formatCount(value)
  if (typeof value === 'object' && value !== null) return value.length > 0 ? value.join(', ') : t('limits.everyModel')
  return value ?? (name === 'name' ? t('all.none') : t('all.unlimited'))
}
