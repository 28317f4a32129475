import type { Migration } from '../migration.ts'

/** Models, credentials and access groups that are made by API. */
export const fifteenth: Migration = {
  id: 15,
  name: 'configured-objects',
  async up(sql) {
    await sql.unsafe(`
      create table configured_objects (
        kind text not null,
        id text not null,
        name text not null,
        body text not null,
        secrets text,
        version integer not null,
        created_at_ms bigint not null,
        created_by text not null,
        updated_at_ms bigint not null,
        updated_by text not null,
        primary key (kind, id)
      )`)
    await sql.unsafe(
      `create unique index configured_objects_name on configured_objects (kind, name) where kind <> 'model'`,
    )
  },
}
