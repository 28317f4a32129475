import type { Migration } from '../migration.ts'

/**
 * What was said in calls, encrypted, and which keys and teams have it stored. On Postgres a day is a partition, made
 * when its first row comes (`store/bodies/day-partitions.ts`): old days are dropped. The day is that of the id.
 */
export const fortySeventh: Migration = {
  id: 47,
  name: 'call-bodies',
  async up(sql, kind) {
    const isPartitioned = kind === 'postgres'
    await sql.unsafe(`create table call_bodies (
      request_id text not null,
      day integer not null,
      key_id text not null,
      user_id text,
      team_id text,
      organization_id text,
      bytes bigint not null,
      content text not null,
      primary key (request_id, day)
    )${isPartitioned ? ' partition by range (day)' : ''}`)
    for (const column of ['key_id', 'user_id', 'team_id'])
      await sql.unsafe(`create index call_bodies_${column} on call_bodies (${column}) where ${column} is not null`)
    // Covers what the bound of the whole asks for.
    await sql.unsafe('create index call_bodies_day on call_bodies (day, bytes)')
    for (const table of ['virtual_keys', 'teams'])
      await sql.unsafe(`alter table ${table} add column stores_bodies integer`)
  },
}
