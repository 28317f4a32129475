import type { Migration } from '../migration.ts'

/** Keys of directories (SCIM), which belong to no user. */
export const hundredThirtyFirst: Migration = {
  id: 131,
  name: 'keys-of-directories',
  async up(sql) {
    await sql.unsafe('alter table virtual_keys add column of_directory integer not null default 0')
  },
}
