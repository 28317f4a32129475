import type { Migration } from '../migration.ts'

/**
 * Under which ids the holders of a key's text, and of the text before, store objects; null = under the id of the key,
 * which its user holds.
 */
export const hundredNinetyFirst: Migration = {
  id: 191,
  name: 'owners-of-texts',
  async up(sql) {
    await sql.unsafe('alter table virtual_keys add column objects_owner text')
    await sql.unsafe('alter table virtual_keys add column former_objects_owner text')
  },
}
