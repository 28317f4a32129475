import type { Migration } from '../migration.ts'

/** When the upstream deletes a file; null = it did not say, or the program that wrote the row did not note it. */
export const hundredTwentyThird: Migration = {
  id: 123,
  name: 'file-ends',
  async up(sql) {
    await sql.unsafe('alter table upstream_files add column expires_at_ms bigint')
    await sql.unsafe(
      'create index upstream_files_end on upstream_files (expires_at_ms) where expires_at_ms is not null',
    )
  },
}
