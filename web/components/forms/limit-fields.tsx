/** Budget and limits with their units, as they are typed in forms. */
import { Fragment } from 'react'
import type { Budget } from '../../api/schema.d.ts'
import { t } from '../../strings/index.ts'
import type { StringKey } from '../../strings/index.ts'
import { amounts, counts } from '../../lib/number-text.ts'
import type { NumberRange } from '../../lib/number-text.ts'
import { NumberField } from './number-field.tsx'
import { PeriodField } from './period-field.tsx'

interface NumberRow {
  readonly name: keyof Budget
  readonly label: StringKey
  readonly unit: StringKey
  readonly help: StringKey
  readonly range: NumberRange
}

const numbers = [
  { name: 'max_budget', label: 'limits.budget', unit: 'unit.usd', help: 'edit.budgetHelp', range: amounts },
  { name: 'soft_budget', label: 'limits.soft', unit: 'unit.usd', help: 'edit.softHelp', range: amounts },
  { name: 'rpm_limit', label: 'limits.requests', unit: 'unit.requests', help: 'edit.limitHelp', range: counts },
  { name: 'tpm_limit', label: 'limits.tokens', unit: 'unit.tokens', help: 'edit.limitHelp', range: counts },
  {
    name: 'max_parallel_requests',
    label: 'limits.parallel',
    unit: 'unit.calls',
    help: 'edit.limitHelp',
    range: counts,
  },
] as const satisfies readonly NumberRow[]

/**
 * Budgets in US dollars, limits a minute, by the API's names; null = no limit. A field that is absent is not offered.
 */
export type LimitValues = Readonly<Partial<Pick<Budget, (typeof numbers)[number]['name'] | 'budget_duration'>>>

/** Names of the API's fields whose errors stand at a field here. */
export const limitFields: readonly string[] = ['budget_duration', ...numbers.map(one => one.name)]

/** What a field of the API is called on the page. */
export function limitLabel(name: keyof LimitValues): string {
  const number = numbers.find(one => one.name === name)
  return t(number ? number.label : 'limits.period')
}

interface LimitFieldsProps {
  readonly values: LimitValues
  /** What is wrong with a field; null = nothing. */
  readonly problem: (name: string) => string | null
  readonly onChange: (change: LimitValues) => void
}

/** The fields that `values` has. */
export function LimitFields({ values, problem, onChange }: LimitFieldsProps) {
  return (
    <div className="grid gap-4 narrow:grid-cols-2">
      {numbers.map(({ name, label, unit, help, range }) => (
        <Fragment key={name}>
          {values[name] !== undefined && (
            <NumberField
              label={t(label)}
              help={t(help)}
              error={problem(name)}
              unit={t(unit)}
              range={range}
              value={values[name]}
              onChange={value => onChange({ [name]: value })}
            />
          )}
          {name === 'max_budget' && values.budget_duration !== undefined && (
            <PeriodField
              value={values.budget_duration}
              error={problem('budget_duration')}
              onChange={period => onChange({ budget_duration: period })}
            />
          )}
        </Fragment>
      ))}
    </div>
  )
}
