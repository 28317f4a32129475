import type { Migration } from '../migration.ts'

/** What both tables get, and what rows of before have there. */
const columns = [
  'external_id text',
  `directory_attributes text not null default '{}'`,
  'blocked_by_directory integer not null default 0',
  'removed_at_ms bigint',
]

/**
 * Users and teams of a directory (SCIM). `members_revision` = of the last change of a team's members, which does not
 * change the team itself. The indexes are for what directories search by.
 */
export const twentySixth: Migration = {
  id: 26,
  name: 'directory',
  async up(sql) {
    for (const table of ['users', 'teams'])
      for (const column of columns) await sql.unsafe(`alter table ${table} add column ${column}`)
    await sql.unsafe('alter table users add column user_name text')
    await sql.unsafe('alter table teams add column members_revision bigint')
    await sql.unsafe('create unique index users_user_name on users (lower(user_name))')
    await sql.unsafe('create index users_external_id on users (external_id)')
    await sql.unsafe('create index teams_external_id on teams (external_id)')
    await sql.unsafe('create index teams_alias on teams (lower(alias))')
  },
}
