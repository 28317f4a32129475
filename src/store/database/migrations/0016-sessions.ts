import type { Migration } from '../migration.ts'

/** Sessions of browsers. The secret of the cookie is not stored, only its hash. `user_id` null = the operator's. */
export const sixteenth: Migration = {
  id: 16,
  name: 'sessions',
  async up(sql) {
    await sql.unsafe(`
      create table sessions (
        id text primary key,
        hash text not null unique,
        user_id text,
        method text not null,
        credential text,
        created_at_ms bigint not null,
        last_used_at_ms bigint not null,
        idle_end_ms bigint not null,
        end_ms bigint not null,
        user_agent text not null,
        client_address text not null
      )`)
    await sql.unsafe(`create index sessions_user on sessions (user_id)`)
    await sql.unsafe(`create index sessions_end on sessions (end_ms)`)
  },
}
