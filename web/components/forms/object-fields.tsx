/** The fields of a tenant object in a form, made from the table of its written fields. */
import clsx from 'clsx'
import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { t as shared } from '../../strings/index.ts'
import { DurationField } from './duration-field.tsx'
import { controls } from './field-controls.tsx'
import { fieldHelp, fieldLabel, t } from './field-texts.ts'
import { formParts, kindOf } from './object-forms.ts'
import type { FieldName, FormPart, ObjectKind, ObjectValues } from './object-forms.ts'
import { references } from './reference-fields.tsx'

interface ObjectFieldsProps<Kind extends ObjectKind> {
  readonly object: Kind
  /** Only these are offered; the others are for people with more rights. */
  readonly offered: readonly FieldName[]
  readonly values: ObjectValues<Kind>
  /** What is wrong with a field; null = nothing. */
  readonly problem: (name: string) => string | null
  readonly onChange: (change: ObjectValues<Kind>) => void
  /** Parts that are open from the start. */
  readonly open?: readonly FormPart[]
  /** Fields that no table has, behind those that are always asked for. */
  readonly further?: ReactNode
}

/** What is always asked for, and the other parts in folds, which open where something is wrong or was set. */
export function ObjectFields<Kind extends ObjectKind>(props: ObjectFieldsProps<Kind>) {
  const { object, offered, values, problem, open = [], further } = props
  const parts = Object.entries(formParts(object)) as [FormPart, readonly FieldName[]][]
  const said: Readonly<Record<string, unknown>> = values
  return parts.map(([part, all]) => {
    const names = all.filter(name => offered.includes(name))
    if (names.length === 0) return null
    const fields = names.map(name => <ObjectField key={name} {...props} name={name} />)
    if (part === 'general')
      return (
        <div key={part} className="flex flex-col gap-4">
          {fields}
          {further}
        </div>
      )
    return (
      <Fold
        key={part}
        part={part}
        isOpenFirst={open.includes(part) || names.some(name => isSet(said[name]))}
        isWrong={names.some(name => problem(name) !== null)}
      >
        <div className={clsx('grid gap-4', part === 'limits' && 'narrow:grid-cols-2')}>{fields}</div>
      </Fold>
    )
  })
}

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && (typeof value !== 'object' || Object.keys(value).length > 0)

interface FoldProps {
  readonly part: Exclude<FormPart, 'general'>
  readonly isOpenFirst: boolean
  /** It opens: what is wrong has to be seen. */
  readonly isWrong: boolean
  readonly children: ReactNode
}

function Fold({ part, isOpenFirst, isWrong, children }: FoldProps) {
  const [isOpen, setOpen] = useState(isOpenFirst)
  return (
    <details open={isOpen || isWrong} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary className="flex min-h-8 cursor-pointer items-center gap-2 font-medium touch:min-h-11">
        <ChevronRight size={16} aria-hidden className={clsx('text-muted', (isOpen || isWrong) && 'rotate-90')} />
        <span>{t(`fields.${part}`)}</span>
        <span className="font-normal text-muted">{t(`fields.${part}Help`)}</span>
      </summary>
      {(isOpen || isWrong) && <div className="pt-3">{children}</div>}
    </details>
  )
}

/** What stands behind a number. */
const units: Readonly<Partial<Record<FieldName, string>>> = {
  max_budget: shared('unit.usd'),
  soft_budget: shared('unit.usd'),
  max_budget_per_session: shared('unit.usd'),
  rpm_limit: shared('unit.requests'),
  tpm_limit: shared('unit.tokens'),
  max_parallel_requests: shared('unit.calls'),
  model_rpm_limit: shared('unit.requests'),
  model_tpm_limit: shared('unit.tokens'),
}

function ObjectField<Kind extends ObjectKind>(props: ObjectFieldsProps<Kind> & { readonly name: FieldName }) {
  const { object, name, values, problem, onChange } = props
  const given = {
    label: fieldLabel(name),
    help: fieldHelp(name),
    error: problem(name),
    value: (values as Readonly<Record<string, unknown>>)[name],
    onChange: (value: unknown) => onChange({ [name]: value } as ObjectValues<Kind>),
  }
  if (name === 'duration' || name === 'rotation_interval')
    return (
      <DurationField
        {...given}
        value={given.value as string | null | undefined}
        choices={name === 'duration' ? lifetimes() : rotations()}
      />
    )
  const Reference = references[name]
  if (Reference) return <Reference {...given} />
  const Control = controls[kindOf(object, name)]
  return Control ? <Control {...given} unit={units[name] ?? ''} /> : null
}

const lifetimes = () => [
  { value: '', label: t('fields.never') },
  { value: '24h', label: t('fields.inHours') },
  ...[7, 30, 90, 365].map(days => ({ value: `${days}d`, label: t('fields.inDays', { days }) })),
]

const rotations = () => [
  { value: '', label: t('fields.never') },
  ...['30d', '90d', '180d'].map(value => ({ value, label: value })),
]
