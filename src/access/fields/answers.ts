/** How answers show the fields of tenant objects. */
import type { FieldKind, FieldTable, KindValues, ModelBudget, Values } from '../../core/tenancy/fields.ts'
import { dollarsOf } from './money.ts'

/** ISO 8601; null stays null. */
export const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

/** What answers show of a value of each kind: money in dollars, moments in ISO 8601, everything else as it is kept. */
export interface ShownValues extends Omit<KindValues, 'time' | 'moment' | 'dollars' | 'modelBudgets'> {
  readonly time: string
  readonly moment: string | null
  readonly dollars: number | null
  readonly modelBudgets: Readonly<Record<string, ShownModelBudget>>
}

/** In the form in which it was written. */
type ShownModelBudget =
  | number
  | null
  | { readonly budget_limit: number | null; readonly time_period: string | null }
  | { readonly max_budget: number | null; readonly budget_duration: string | null }

function shownModelBudget({ maxBudgetNanoUsd, budgetDuration, form }: ModelBudget): ShownModelBudget {
  const amount = dollarsOf(maxBudgetNanoUsd)
  if (form === 'amount') return amount
  return form === 'max_budget'
    ? { max_budget: amount, budget_duration: budgetDuration }
    : { budget_limit: amount, time_period: budgetDuration }
}

const asKept = <Value>(value: Value): Value => value

const shownAs: { readonly [Kind in FieldKind]: (value: KindValues[Kind]) => ShownValues[Kind] } = {
  id: asKept,
  count: asKept,
  time: ms => new Date(ms).toISOString(),
  moment: iso,
  name: asKept,
  paragraph: asKept,
  email: asKept,
  duration: asKept,
  limit: asKept,
  limits: asKept,
  dollars: dollarsOf,
  modelBudgets: budgets =>
    Object.fromEntries(Object.entries(budgets).map(([model, budget]) => [model, shownModelBudget(budget)])),
  names: asKept,
  models: asKept,
  aliases: asKept,
  permissions: asKept,
  object: asKept,
  toolPermission: asKept,
  flag: asKept,
  choice: asKept,
  userRole: asKept,
  memberRole: asKept,
  groupKind: asKept,
}

const show = <Kind extends FieldKind>(kind: Kind, value: KindValues[Kind]): unknown => shownAs[kind](value)

/** The fields of a table that answers show, by the names of the API. */
export type Shown<Table extends FieldTable> = {
  readonly [Name in keyof Table as NonNullable<Table[Name]['name']>]: ShownValues[Table[Name]['kind']]
}

/** The fields of a record as answers show them. */
export function shownFields<Table extends FieldTable>(table: Table, record: Values<NoInfer<Table>>): Shown<Table> {
  const values: Readonly<Record<string, KindValues[FieldKind]>> = record
  const answer: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(table))
    if (field.name !== null) answer[field.name] = show(field.kind, values[name]!)
  return answer as Shown<Table>
}
