import type { Migration } from '../migration.ts'

/**
 * Since when a key has its text, and when that has to be replaced. A program of before writes keys without
 * `text_since_ms`, which the reminders fill in. `key_reminders` = what was told of a key, once over all replicas.
 */
export const twentySeventh: Migration = {
  id: 27,
  name: 'key-ages',
  async up(sql) {
    await sql.unsafe('alter table virtual_keys add column rotation_interval text')
    await sql.unsafe('alter table virtual_keys add column text_since_ms bigint')
    await sql.unsafe('alter table virtual_keys add column rotate_by_ms bigint')
    await sql.unsafe('create index virtual_keys_expiry on virtual_keys (expires_at_ms) where expires_at_ms is not null')
    await sql.unsafe('create index virtual_keys_rotation on virtual_keys (rotate_by_ms) where rotate_by_ms is not null')
    await sql.unsafe('create index virtual_keys_text_since on virtual_keys (text_since_ms)')
    await sql.unsafe(`create table key_reminders (
      key_id text not null,
      kind text not null,
      due_ms bigint not null,
      stage_ms bigint not null,
      primary key (key_id, kind, due_ms, stage_ms))`)
    await sql.unsafe('create index key_reminders_due on key_reminders (due_ms)')
  },
}
