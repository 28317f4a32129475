import { createTopTexts } from '../../ledger/sums/rollup-top.ts'
import type { Migration } from '../migration.ts'

/** Who spent most on each day of many sums. Filled by the ledger's worker, day by day, the newest first. */
export const seventieth: Migration = {
  id: 70,
  name: 'daily-top',
  async up(sql, kind) {
    for (const text of createTopTexts(kind)) await sql.unsafe(text)
  },
}
