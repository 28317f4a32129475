import type { Migration } from '../migration.ts'

/**
 * The keys that are there, for their list and its count without reading the rows, which are wide. SQLite looks at
 * `deleted_at_ms` although the condition implies it: as a column of the index it does not read the row for that.
 */
export const sixtyFourth: Migration = {
  id: 64,
  name: 'lists',
  async up(sql) {
    const columns = 'created_at_ms, id, deleted_at_ms'
    await sql.unsafe(`create index virtual_keys_there on virtual_keys (${columns}) where deleted_at_ms is null`)
  },
}
