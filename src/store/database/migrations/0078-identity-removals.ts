import type { Migration } from '../migration.ts'

/** Persons at identity providers whose user was deleted: none is made for them by itself (docs/decisions/0029). */
export const seventyEighth: Migration = {
  id: 78,
  name: 'identity-removals',
  async up(sql) {
    await sql.unsafe(`
      create table identity_removals (
        issuer text not null,
        subject text not null,
        user_id text not null,
        removed_at_ms bigint not null,
        primary key (issuer, subject)
      )`)
    await sql.unsafe(`create index identity_removals_user on identity_removals (user_id)`)
  },
}
