import { useState } from 'react'
import { periodLabel, periods } from '../../lib/periods.ts'
import { TextField } from './field.tsx'
import { t } from './field-texts.ts'
import type { Choice } from './select.tsx'
import { Select } from './select.tsx'

interface DurationFieldProps {
  readonly label: string
  readonly help?: string | undefined
  readonly error?: string | null
  /** As the API takes it: `30d`. null = never, undefined = it is left as it is. */
  readonly value: string | null | undefined
  readonly onChange: (duration: string | null) => void
  /** The usual ones; absent = those of budgets. */
  readonly choices?: readonly Choice[]
}

const other = 'other'

const ofBudgets = (): readonly Choice[] => [
  { value: '', label: periodLabel(null) },
  ...Object.keys(periods).map(value => ({ value, label: periodLabel(value) })),
]

/** A length of time: one of the usual ones, or any other as it is typed. */
export function DurationField({ label, help, error, value, onChange, choices = ofBudgets() }: DurationFieldProps) {
  const [isOther, setOther] = useState(false)
  const text = value ?? ''
  const isListed = value === undefined || choices.some(one => one.value === text)
  const offered = isListed ? choices : [...choices, { value: text, label: text }]
  const choose = (chosen: string) => {
    setOther(chosen === other)
    if (chosen !== other) onChange(chosen === '' ? null : chosen)
  }
  const select = (
    <Select
      label={label}
      help={help}
      error={isOther ? null : (error ?? null)}
      value={isOther ? other : value === undefined ? asItIs : text}
      onChange={choose}
      choices={[
        ...(value === undefined ? [{ value: asItIs, label: t('fields.asItIs') }] : []),
        ...offered,
        { value: other, label: t('fields.other') },
      ]}
    />
  )
  if (!isOther) return select
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {select}
      <TextField
        label={`${label}: ${t('fields.other')}`}
        help={t('fields.otherPeriodHelp')}
        error={error}
        value={text}
        onChange={typed => onChange(typed.trim() === '' ? null : typed.trim())}
        isCode
      />
    </div>
  )
}

const asItIs = 'as it is'
