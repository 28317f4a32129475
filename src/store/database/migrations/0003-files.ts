import type { Migration } from '../migration.ts'

/** Files and batches at upstreams: owner, deployment and upstream id of each. */
export const third: Migration = {
  id: 3,
  name: 'files',
  async up(sql) {
    await sql.unsafe(`create table upstream_files (
      id text primary key,
      kind text not null,
      key_id text not null,
      deployment_id text not null,
      upstream_id text not null,
      purpose text not null,
      filename text not null,
      bytes bigint not null,
      models text not null,
      created_at_ms bigint not null,
      body text not null,
      recorded integer not null
    )`)
    // Two replicas that see a new file at the same time give it one id.
    await sql.unsafe(
      `create unique index upstream_files_there on upstream_files (key_id, kind, deployment_id, upstream_id)`,
    )
    await sql.unsafe(`create index upstream_files_owner on upstream_files (kind, key_id, created_at_ms, id)`)
    await sql.unsafe(`create index upstream_files_time on upstream_files (kind, created_at_ms, id)`)
  },
}
