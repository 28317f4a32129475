/** How answers show the fields of tenant objects. */
import type { FieldKind, FieldTable, KindValues, Values } from '../../core/tenancy/fields.ts'
import { dollarsOf } from './money.ts'

/** ISO 8601; null stays null. */
export const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

const same = (value: unknown): unknown => value

/** What an answer shows of a value of each kind. */
const shownAs: { readonly [Kind in FieldKind]: (value: KindValues[Kind]) => unknown } = {
  id: same,
  count: same,
  time: iso,
  moment: iso,
  name: same,
  paragraph: same,
  email: same,
  duration: same,
  limit: same,
  limits: same,
  dollars: dollarsOf,
  modelBudgets: budgets =>
    Object.fromEntries(
      Object.entries(budgets).map(([model, { maxBudgetNanoUsd, budgetDuration }]) => [
        model,
        { budget_limit: dollarsOf(maxBudgetNanoUsd), time_period: budgetDuration },
      ]),
    ),
  names: same,
  models: same,
  aliases: same,
  permissions: same,
  object: same,
  flag: same,
  choice: same,
  userRole: same,
  memberRole: same,
  groupKind: same,
}

const show = <Kind extends FieldKind>(kind: Kind, value: KindValues[Kind]): unknown => shownAs[kind](value)

/** The fields of a record as answers show them, by the names of the API. */
export function shownFields<Table extends FieldTable>(
  table: Table,
  record: Values<NoInfer<Table>>,
): Record<string, unknown> {
  const values: Readonly<Record<string, KindValues[FieldKind]>> = record
  const answer: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(table))
    if (field.name !== null) answer[field.name] = show(field.kind, values[name]!)
  return answer
}
