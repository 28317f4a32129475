import type { Migration } from '../migration.ts'

/** The team or the organization whose keys may name a customer or a tag; null = it belongs to none. */
export const twoHundredThird: Migration = {
  id: 203,
  name: 'owners-of-names',
  async up(sql) {
    for (const table of ['customers', 'tags'])
      for (const column of ['team_id', 'organization_id'])
        await sql.unsafe(`alter table ${table} add column ${column} text`)
  },
}
