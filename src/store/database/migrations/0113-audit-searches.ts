import type { Migration } from '../migration.ts'

/** The audit log by whom, by what was done, and of which object: its pages and their counts read what they show. */
export const hundredThirteenth: Migration = {
  id: 113,
  name: 'audit-searches',
  async up(sql) {
    for (const column of ['actor_id', 'action', 'kind', 'object_id'])
      await sql.unsafe(`create index audit_log_${column} on audit_log (${column}, at_ms, id)`)
  },
}
