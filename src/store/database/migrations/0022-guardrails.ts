import type { Migration } from '../migration.ts'

/** Guardrails of keys and teams, and what guardrails said of calls. */
export const twentySecond: Migration = {
  id: 22,
  name: 'guardrails',
  bringsColumns: true,
  async up(sql) {
    for (const table of ['virtual_keys', 'teams'])
      await sql.unsafe(`alter table ${table} add column guardrails text not null default '[]'`)
  },
}
