import type { Migration } from '../migration.ts'

/** What the requests of an input file can cost, and what a batch has reserved, as JSON; null = nothing. */
export const fortyThird: Migration = {
  id: 43,
  name: 'batch-reservations',
  async up(sql) {
    await sql.unsafe('alter table upstream_files add column bounds text')
    await sql.unsafe('alter table upstream_files add column reserved text')
  },
}
