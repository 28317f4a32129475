import { addSpendText, createSpendTexts, spendScopes, summedSpendText } from '../../ledger/rollup-spend.ts'
import type { Migration } from '../migration.ts'

/**
 * What users, teams and tags have spent, by day. Filled from the daily sums, which may be older than the rows that are
 * kept; days whose sums are pending are added with them.
 */
export const sixtyFifth: Migration = {
  id: 65,
  name: 'daily-spend',
  async up(sql, kind) {
    for (const text of createSpendTexts(kind)) await sql.unsafe(text)
    for (const scope of spendScopes) await sql.unsafe(addSpendText(summedSpendText(scope)))
  },
}
