import type { Migration } from '../migration.ts'

/** Who is charged for a batch, as JSON; null in rows of a program that did not keep it. */
export const twentyEighth: Migration = {
  id: 28,
  name: 'file-owners',
  async up(sql) {
    await sql.unsafe('alter table upstream_files add column owner text')
  },
}
