import type { Migration } from '../migration.ts'

/** Persons at identity providers, and the sign-ins that have come back from one. */
export const twentyFifth: Migration = {
  id: 25,
  name: 'identity-links',
  async up(sql) {
    await sql.unsafe(`
      create table identity_links (
        issuer text not null,
        subject text not null,
        user_id text not null,
        created_at_ms bigint not null,
        primary key (issuer, subject)
      )`)
    await sql.unsafe(`create index identity_links_user on identity_links (user_id)`)
    await sql.unsafe(`create index users_sso_user_id on users (sso_user_id)`)
    await sql.unsafe(`create table sign_in_returns (state text primary key, end_ms bigint not null)`)
    await sql.unsafe(`create index sign_in_returns_end on sign_in_returns (end_ms)`)
  },
}
