import type { Migration } from '../migration.ts'

/** Assistants, threads, messages, runs and steps: one table, because all are objects with an owner and a position. */
export const fourth: Migration = {
  id: 4,
  name: 'assistants',
  async up(sql) {
    await sql.unsafe(`create table assistant_objects (
      id text primary key,
      kind text not null,
      key_id text not null,
      parent_id text references assistant_objects (id) on delete cascade,
      run_id text,
      position bigint not null,
      active integer not null,
      updated_at_ms bigint not null,
      body text not null,
      hidden text not null
    )`)
    await sql.unsafe(`create index assistant_objects_children on assistant_objects (parent_id, kind, position, id)`)
    await sql.unsafe(`create index assistant_objects_owner on assistant_objects (kind, key_id, position, id)`)
    // The database itself sees to it that a thread has one run at a time.
    await sql.unsafe(`create unique index assistant_objects_active on assistant_objects (parent_id) where active = 1`)
  },
}
