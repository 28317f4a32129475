/** A control for each kind of what a field of a tenant object holds. */
import type { ReactNode } from 'react'
import { useState } from 'react'
import { useModelNames } from '../../api/models.ts'
import { jsonObject } from '../../lib/json-object.ts'
import { amounts, counts } from '../../lib/number-text.ts'
import { MultiCombobox } from './combobox.tsx'
import { DurationField } from './duration-field.tsx'
import { TextArea, TextField } from './field.tsx'
import { t } from './field-texts.ts'
import { NumberField } from './number-field.tsx'
import type { FieldKind } from './object-forms.ts'
import { RowsField } from './rows-field.tsx'
import { Switch } from './switch.tsx'

/** What every control is given. `value` is undefined where nothing was said yet. */
export interface ControlProps {
  readonly label: string
  readonly help: string | undefined
  readonly error: string | null
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

type Control = (props: ControlProps & { readonly unit: string }) => ReactNode

const asText = ({ value, unit: _, ...others }: Parameters<Control>[0]) => ({
  ...others,
  value: typeof value === 'string' ? value : '',
})

/** A short text; an empty one is none. */
function NameControl(props: Parameters<Control>[0]) {
  return <TextField {...asText(props)} maxLength={255} />
}

function NumberControl({ value, onChange, ...others }: Parameters<Control>[0], range: typeof counts) {
  return <NumberField {...others} range={range} value={typeof value === 'number' ? value : null} onChange={onChange} />
}

/** Several texts, each typed and added by Enter. */
function NamesControl({ value, onChange, label, help, error }: ControlProps) {
  return (
    <MultiCombobox
      isFree
      label={label}
      help={help}
      error={error}
      choices={[]}
      value={(value as readonly string[] | undefined) ?? []}
      onChange={onChange}
    />
  )
}

/** Names of models; patterns and access groups are typed. */
function ModelsControl({ value, onChange, label, help, error }: ControlProps) {
  const names = useModelNames().data ?? []
  return (
    <MultiCombobox
      isFree
      label={label}
      help={help}
      error={error}
      placeholder={t('limits.everyModel')}
      choices={names.map(name => ({ value: name, label: name }))}
      value={(value as readonly string[] | undefined) ?? []}
      onChange={onChange}
    />
  )
}

/** Any JSON object, as text; what is none is said, and the form is not sent. */
function ObjectControl({ value, onChange, label, help, error }: ControlProps) {
  const stored = (value as Readonly<Record<string, unknown>> | undefined) ?? {}
  const [typed, setTyped] = useState<string>()
  const text = typed ?? (Object.keys(stored).length === 0 ? '' : JSON.stringify(stored, null, 2))
  const isWrong = text.trim() !== '' && jsonObject(text) === undefined
  const type = (next: string) => {
    setTyped(next)
    const read = next.trim() === '' ? {} : jsonObject(next)
    if (read !== undefined) onChange(read)
  }
  return (
    <TextArea
      label={label}
      help={help}
      error={isWrong ? t('fields.json') : error}
      rows={3}
      value={text}
      onChange={type}
      data-unreadable={isWrong ? '' : undefined}
    />
  )
}

const twoDigits = (number: number): string => String(number).padStart(2, '0')

/** A moment of the API as the browser's field has it: in the viewer's zone, to the minute. */
function localText(iso: string): string {
  const at = new Date(iso)
  const day = [at.getFullYear(), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join('-')
  return `${day}T${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`
}

function MomentControl({ value, onChange, ...others }: ControlProps) {
  const { label, help, error } = others
  return (
    <TextField
      label={label}
      help={help}
      error={error}
      type="datetime-local"
      value={typeof value === 'string' ? localText(value) : ''}
      onChange={text => onChange(text === '' ? null : new Date(text).toISOString())}
    />
  )
}

function FlagControl({ label, help, value, onChange }: ControlProps) {
  return <Switch label={label} help={help} checked={value === true} onChange={onChange} />
}

/** By the kind of the field. Kinds that no form has are set by parts of their own. */
export const controls: Readonly<Partial<Record<FieldKind, Control>>> = {
  name: NameControl,
  paragraph: props => <TextArea {...asText(props)} rows={2} />,
  email: props => <TextField {...asText(props)} type="email" />,
  duration: ({ value, ...props }) => <DurationField {...props} value={(value as string | null | undefined) ?? null} />,
  limit: props => NumberControl(props, counts),
  dollars: props => NumberControl(props, amounts),
  names: NamesControl,
  models: ModelsControl,
  object: ObjectControl,
  moment: MomentControl,
  flag: FlagControl,
  aliases: props => <RowsField {...props} holds="model" />,
  limits: props => <RowsField {...props} holds="count" />,
  modelBudgets: props => <RowsField {...props} holds="budget" />,
}
