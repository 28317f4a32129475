import { createDerivedTexts, totals } from '../../ledger/sums/rollup-derived.ts'
import { createUnfilledTotalsText, refillTotalsText } from '../../ledger/sums/rollup-totals.ts'
import type { Migration } from '../migration.ts'

/**
 * What each key, user, team, tag and customer used in all. The ledger's worker fills it step by step, and until then
 * reports add up the daily sums.
 */
export const ninetyFirst: Migration = {
  id: 91,
  name: 'totals-of-entities',
  async up(sql, kind) {
    for (const text of createDerivedTexts(kind, totals)) await sql.unsafe(text)
    await sql.unsafe(createUnfilledTotalsText)
    await sql.unsafe(refillTotalsText())
  },
}
