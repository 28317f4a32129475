import type { Migration } from '../migration.ts'

/** What the cache of answers found and saved, by hour: hits by their kind, misses, nano-dollars. */
export const ninetyNinth: Migration = {
  id: 99,
  name: 'cache-hours',
  async up(sql) {
    await sql.unsafe(`
      create table cache_hours (
        hour integer not null,
        name text not null,
        amount bigint not null,
        primary key (hour, name)
      )`)
  },
}
