/** What is said of single models: rows of a name and a value. */
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { periodLabel, periods } from '../../lib/periods.ts'
import { amounts, counts } from '../../lib/number-text.ts'
import { Button } from '../button.tsx'
import { useModelNames } from '../../api/models.ts'
import { Combobox } from './combobox.tsx'
import { TextField } from './field.tsx'
import { t } from './field-texts.ts'
import { NumberField } from './number-field.tsx'
import { Select } from './select.tsx'

/** A budget of a model, as answers have it. */
interface ModelBudget {
  readonly budget_limit: number | null
  readonly time_period: string | null
}

interface RowsFieldProps {
  readonly label: string
  readonly help: string | undefined
  readonly error: string | null
  readonly unit: string
  /** What stands beside a name: a whole number, a budget, or the name of a model. */
  readonly holds: 'count' | 'budget' | 'model'
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

/** Rows as they are typed: a name may still be missing, and then the row is not sent. */
type Row = readonly [name: string, value: unknown]

/** An object with a name for each row. What is not whole yet is kept here alone. */
export function RowsField({ label, help, error, unit, holds, value, onChange }: RowsFieldProps) {
  const [rows, setRows] = useState<readonly Row[]>(() => Object.entries((value as object | undefined) ?? {}))
  const change = (next: readonly Row[]) => {
    setRows(next)
    onChange(Object.fromEntries(next.filter(([name, held]) => name !== '' && isWhole(held))))
  }
  const blank: Row = [
    '',
    holds === 'budget' ? { budget_limit: null, time_period: null } : holds === 'count' ? null : '',
  ]
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="font-medium">{label}</legend>
      {help && <p className="text-muted">{help}</p>}
      {rows.map((row, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity, and names are typed
        <div key={at} className="flex items-end gap-2">
          <div className="grid min-w-0 grow gap-2 narrow:grid-cols-2">
            <RowFields row={row} holds={holds} unit={unit} onChange={next => change(rows.with(at, next))} />
          </div>
          <Button
            kind="quiet"
            aria-label={t('fields.removeRow', { row: row[0] || at + 1 })}
            icon={<X size={16} aria-hidden />}
            onClick={() => change(rows.toSpliced(at, 1))}
          />
        </div>
      ))}
      {error && (
        <p role="alert" className="text-bad">
          {error}
        </p>
      )}
      <Button
        className="self-start"
        icon={<Plus size={16} aria-hidden />}
        aria-label={`${t('fields.addRow')}: ${label}`}
        onClick={() => change([...rows, blank])}
      >
        {t('fields.addRow')}
      </Button>
    </fieldset>
  )
}

const isWhole = (held: unknown): boolean =>
  held !== null && held !== '' && (typeof held !== 'object' || (held as ModelBudget).budget_limit !== null)

interface RowFieldsProps extends Pick<RowsFieldProps, 'holds' | 'unit'> {
  readonly row: Row
  readonly onChange: (row: Row) => void
}

function RowFields({ row: [name, held], holds, unit, onChange }: RowFieldsProps) {
  if (holds === 'model')
    return (
      <>
        <TextField label={t('fields.alias')} value={name} onChange={next => onChange([next, held])} isCode />
        <ModelField value={String(held)} onChange={next => onChange([name, next])} />
      </>
    )
  const model = <ModelField value={name} onChange={next => onChange([next, held])} />
  if (holds === 'count')
    return (
      <>
        {model}
        <NumberField
          label={t('fields.limits')}
          unit={unit}
          range={counts}
          value={held as number | null}
          onChange={next => onChange([name, next])}
        />
      </>
    )
  const budget = held as ModelBudget
  return (
    <>
      {model}
      <NumberField
        label={t('limits.budget')}
        unit={t('unit.usd')}
        range={amounts}
        value={budget.budget_limit}
        onChange={amount => onChange([name, { ...budget, budget_limit: amount }])}
      />
      <Select
        label={t('limits.period')}
        value={budget.time_period ?? ''}
        onChange={period => onChange([name, { ...budget, time_period: period === '' ? null : period }])}
        choices={[...new Set(['', ...Object.keys(periods), budget.time_period ?? ''])].map(one => ({
          value: one,
          label: periodLabel(one === '' ? null : one),
        }))}
      />
    </>
  )
}

function ModelField({ value, onChange }: { readonly value: string; readonly onChange: (name: string) => void }) {
  const names = useModelNames().data ?? []
  return (
    <Combobox
      label={t('fields.model')}
      choices={names.map(name => ({ value: name, label: name }))}
      value={value || null}
      onChange={chosen => onChange(chosen ?? '')}
    />
  )
}
