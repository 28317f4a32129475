import type { Migration } from '../migration.ts'

/**
 * Searches of the ledger that read every row before: one model, what failed (few rows, so few of them in the index),
 * and an organization, by which its administrators see calls.
 */
export const sixtySixth: Migration = {
  id: 66,
  name: 'searches',
  async up(sql) {
    const moment = 'started_at_ms, request_id'
    await sql.unsafe(`create index ledger_model on ledger (model, ${moment})`)
    await sql.unsafe(`create index ledger_failures on ledger (outcome, ${moment}) where outcome <> 'success'`)
    await sql.unsafe(
      `create index ledger_organization on ledger (organization_id, ${moment}) where organization_id is not null`,
    )
  },
}
