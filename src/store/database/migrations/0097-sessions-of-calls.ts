import type { Migration } from '../migration.ts'

/** The calls of a session, newest first. Rows without one are not in the index: they pay nothing for it. */
export const ninetySeventh: Migration = {
  id: 97,
  name: 'sessions-of-calls',
  bringsColumns: true,
  async up(sql) {
    await sql.unsafe(`create index ledger_session on ledger (session_id, started_at_ms) where session_id is not null`)
  },
}
