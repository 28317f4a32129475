import { hitConditions } from '../../ledger/reads/hit-conditions.ts'
import type { Migration } from '../migration.ts'

/** The last hits of guardrails and of the cache, without reading the calls between them. */
export const fiftyNinth: Migration = {
  id: 59,
  name: 'hits-of-the-ledger',
  async up(sql) {
    for (const [kind, condition] of Object.entries(hitConditions))
      await sql.unsafe(`create index ledger_${kind}_hits on ledger (started_at_ms, request_id) where ${condition}`)
  },
}
