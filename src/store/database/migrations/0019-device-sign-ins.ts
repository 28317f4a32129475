import type { Migration } from '../migration.ts'

/** Programs that sign in by a code which a person approves on another device, and their refresh tokens. */
export const nineteenth: Migration = {
  id: 19,
  name: 'device-sign-ins',
  async up(sql) {
    await sql.unsafe(`
      create table device_grants (
        hash text primary key,
        user_code text not null unique,
        client text not null,
        client_address text not null,
        created_at_ms bigint not null,
        end_ms bigint not null,
        state text not null,
        user_id text,
        team_id text
      )`)
    await sql.unsafe('create index device_grants_end on device_grants (end_ms)')
    await sql.unsafe(`
      create table device_sign_ins (
        session_id text primary key,
        user_id text not null,
        team_id text,
        refreshes integer not null,
        refreshed_at_ms bigint not null
      )`)
    await sql.unsafe('create index device_sign_ins_user on device_sign_ins (user_id)')
  },
}
