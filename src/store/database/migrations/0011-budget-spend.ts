import { createBudgetTexts } from '../../ledger/sums/budget-spend.ts'
import type { Migration } from '../migration.ts'

/** What was spent of budgets, and which of their periods the operator was told of. */
export const eleventh: Migration = {
  id: 11,
  name: 'budget-spend',
  async up(sql, kind) {
    for (const text of createBudgetTexts(kind)) await sql.unsafe(text)
  },
}
