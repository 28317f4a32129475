import type { Migration } from '../migration.ts'

/** The few keys and teams that have guardrails of their own, among very many. */
export const hundredth: Migration = {
  id: 100,
  name: 'guarded',
  async up(sql) {
    await sql.unsafe(`
      create index virtual_keys_guarded on virtual_keys (created_at_ms, id)
      where guardrails <> '[]' and deleted_at_ms is null`)
    await sql.unsafe(`create index teams_guarded on teams (created_at_ms, id) where guardrails <> '[]'`)
  },
}
