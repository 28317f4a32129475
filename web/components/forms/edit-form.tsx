/** A tenant object as it is edited in its drawer. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { formatCount, formatMoment, formatMoney } from '../../lib/format.ts'
import { periodLabel } from '../../lib/periods.ts'
import { t } from '../../strings/index.ts'
import { Button } from '../button.tsx'
import { fieldLabel } from './field-texts.ts'
import { Form } from './form.tsx'
import { ObjectFields } from './object-fields.tsx'
import { kindOf } from './object-forms.ts'
import type { FieldName, ObjectKind, ObjectValues } from './object-forms.ts'
import { ErrorState } from '../states.tsx'
import { Unsaved } from './unsaved.tsx'

/** What is stored of the fields that are offered, and the version that it has. */
export interface Stored<Kind extends ObjectKind> {
  readonly values: ObjectValues<Kind>
  readonly version: number
}

interface EditFormProps<Kind extends ObjectKind> {
  readonly object: Kind
  readonly stored: Stored<Kind>
  /** Rejects with 409 where another has changed it since `version`. */
  readonly save: (changes: ObjectValues<Kind>, version: number) => Promise<unknown>
  /** What is stored now: asked for after a conflict. */
  readonly reload: () => Promise<Stored<Kind>>
  readonly onDone: () => void
  readonly onCancel: () => void
}

/** The first name of a path: `model_rpm_limit.chat` is wrong in `model_rpm_limit`. */
const fieldOf = (error: Error | null): string | null =>
  error instanceof ApiError ? (error.field?.split('.')[0] ?? null) : null

/** What is wrong with fields by an answer of the gateway, and whether one of those that are offered is meant. */
export function problemsOf(error: Error | null, offered: readonly string[]) {
  const field = fieldOf(error)
  return {
    problem: (name: string): string | null => (field === name ? error!.message : null),
    isAtField: field !== null && offered.includes(field),
  }
}

/** What is typed stays when the stored values are loaded anew: only changes are sent, and shown before. */
export function EditForm<Kind extends ObjectKind>(props: EditFormProps<Kind>) {
  const { object, stored, save, reload, onDone, onCancel } = props
  const [base, setBase] = useState(stored)
  const [typed, setTyped] = useState<ObjectValues<Kind>>({})
  const changes = changesOf(base.values, typed)
  const saving = useMutation({ mutationFn: () => save(changes, base.version), onSuccess: onDone })
  const loading = useMutation({
    mutationFn: reload,
    onSuccess: next => {
      setBase(next)
      saving.reset()
    },
  })
  const offered = Object.keys(base.values) as FieldName[]
  const { problem, isAtField } = problemsOf(saving.error, offered)
  const isChanged = Object.keys(changes).length > 0
  return (
    <Form
      aria-label={t('edit.title')}
      className="flex flex-col gap-4"
      onSubmit={() => {
        if (isChanged) saving.mutate()
      }}
    >
      <ObjectFields
        object={object}
        offered={offered}
        values={{ ...base.values, ...typed }}
        problem={problem}
        onChange={change => setTyped(before => ({ ...before, ...change }))}
        open={['limits']}
      />
      <Unsaved isChanged={isChanged && !saving.isSuccess} />
      <Differences object={object} before={base.values} after={changes} />
      {saving.isError && !isAtField && <ErrorState error={saving.error} isInline />}
      <div className="flex flex-wrap justify-end gap-2">
        {saving.error instanceof ApiError && saving.error.status === 409 && (
          <Button busy={loading.isPending} onClick={() => loading.mutate()}>
            {t('edit.reload')}
          </Button>
        )}
        <Button onClick={onCancel}>{t('all.cancel')}</Button>
        <Button kind="primary" type="submit" busy={saving.isPending} disabled={!isChanged}>
          {t('edit.save')}
        </Button>
      </div>
    </Form>
  )
}

/** Texts without the spaces around them; an empty one is none. */
export function cleaned<Kind extends ObjectKind>(typed: ObjectValues<Kind>): ObjectValues<Kind> {
  const clean = (value: unknown) => (typeof value === 'string' ? value.trim() || null : value)
  return Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, clean(value)])) as ObjectValues<Kind>
}

/** What was typed and is another value than the stored one. */
function changesOf<Kind extends ObjectKind>(before: ObjectValues<Kind>, typed: ObjectValues<Kind>) {
  const stored: Readonly<Record<string, unknown>> = before
  return Object.fromEntries(
    Object.entries(cleaned(typed)).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name])),
  ) as ObjectValues<Kind>
}

interface DifferencesProps<Kind extends ObjectKind> {
  readonly object: Kind
  readonly before: ObjectValues<Kind>
  readonly after: ObjectValues<Kind>
}

/** Each change in words, before it is saved. */
function Differences<Kind extends ObjectKind>({ object, before, after }: DifferencesProps<Kind>) {
  const names = Object.keys(after) as FieldName[]
  if (names.length === 0) return null
  const [old, next] = [before, after] as readonly Readonly<Record<string, unknown>>[]
  return (
    <section aria-label={t('edit.changes')} className="flex flex-col gap-1 rounded-control border border-line p-3">
      <h3 className="font-medium">{t('edit.changes')}</h3>
      <ul>
        {names.map(name => (
          <li key={name} className="numbers break-words">
            {fieldLabel(name)}: <s className="text-muted">{inWords(object, name, old![name])}</s>{' '}
            <span aria-hidden>→</span> {inWords(object, name, next![name])}
          </li>
        ))}
      </ul>
    </section>
  )
}

function inWords(object: ObjectKind, name: FieldName, value: unknown): string {
  const kind = kindOf(object, name)
  if (name === 'budget_duration') return periodLabel((value as string | null | undefined) ?? null)
  if (kind === 'dollars' || kind === 'limit') {
    if (typeof value !== 'number') return t('all.unlimited')
    return kind === 'dollars' ? formatMoney(value) : formatCount(value)
  }
  if (kind === 'moment' && typeof value === 'string') return formatMoment(Date.parse(value))
  if (Array.isArray(value) && value.length > 0) return value.join(', ')
  if (kind === 'models') return t('limits.everyModel')
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) return JSON.stringify(value)
  return typeof value === 'string' && value !== '' ? value : t('all.none')
}
