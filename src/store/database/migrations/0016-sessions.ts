import type { Migration } from '../migration.ts'

/**
 * Sessions of browsers, passwords (argon2id), and links by which users set one. Of the secret of a cookie or a link
 * only the hash is stored. `user_id` of a session null = the operator's.
 */
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
    await sql.unsafe(`
      create table user_passwords (
        user_id text primary key,
        hash text not null,
        changed_at_ms bigint not null
      )`)
    await sql.unsafe(`
      create table password_links (
        id text primary key,
        hash text not null unique,
        user_id text not null,
        created_at_ms bigint not null,
        created_by text not null,
        end_ms bigint not null
      )`)
    await sql.unsafe(`create index password_links_user on password_links (user_id)`)
  },
}
