import { periodLabel, periods } from '../../lib/periods.ts'
import { t } from '../../strings/index.ts'
import { NumberField } from './number-field.tsx'
import { amounts } from '../../lib/number-text.ts'
import { Select } from './select.tsx'

interface PeriodFieldProps {
  /** A duration as the API takes it; null = the budget never begins anew. */
  readonly value: string | null
  readonly onChange: (period: string | null) => void
  readonly error?: string | null
}

/** When a budget begins anew. */
export function PeriodField({ value, onChange, error }: PeriodFieldProps) {
  const known = ['', ...Object.keys(periods)]
  const offered = value === null || known.includes(value) ? known : [...known, value]
  return (
    <Select
      label={t('limits.period')}
      value={value ?? ''}
      error={error ?? null}
      onChange={period => onChange(period === '' ? null : period)}
      choices={offered.map(one => ({ value: one, label: periodLabel(one === '' ? null : one) }))}
    />
  )
}

/** An amount of US dollars, and when it begins anew. */
export interface Budget {
  readonly max_budget: number | null
  readonly budget_duration: string | null
}

interface BudgetFieldsProps {
  readonly value: Budget
  readonly onChange: (budget: Budget) => void
  readonly help: string
}

/** The period is asked for where there is an amount. */
export function BudgetFields({ value, onChange, help }: BudgetFieldsProps) {
  const { max_budget: max, budget_duration: period } = value
  return (
    <>
      <NumberField
        label={t('limits.budget')}
        help={help}
        unit={t('unit.usd')}
        range={amounts}
        value={max}
        onChange={amount => onChange({ max_budget: amount, budget_duration: amount === null ? null : period })}
      />
      {max !== null && <PeriodField value={period} onChange={next => onChange({ ...value, budget_duration: next })} />}
    </>
  )
}
