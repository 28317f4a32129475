import { createTableText } from '../../ledger/ledger-table.ts'
import type { Migration } from '../migration.ts'

/** Timestamps are milliseconds since 1970, money is nano-dollars, booleans are 0 and 1: the same on both databases. */
export const first: Migration = {
  id: 1,
  name: 'keys-and-ledger',
  async up(sql) {
    await sql.unsafe(`create table installation (name text primary key, value text not null)`)
    await sql.unsafe(`insert into installation (name, value) values ('keys_revision', '0')`)
    await sql.unsafe(`create table virtual_keys (
      id text primary key,
      hash text not null unique,
      hint text not null,
      alias text,
      user_id text,
      team_id text,
      models text not null,
      expires_at_ms bigint,
      blocked integer not null,
      requests_per_minute bigint,
      tokens_per_minute bigint,
      parallel_requests bigint,
      metadata text not null,
      created_at_ms bigint not null,
      created_by text not null,
      updated_at_ms bigint not null,
      deleted_at_ms bigint,
      revision bigint not null
    )`)
    await sql.unsafe(`create index virtual_keys_revision on virtual_keys (revision)`)
    await sql.unsafe(`create index virtual_keys_user on virtual_keys (user_id)`)
    await sql.unsafe(`create index virtual_keys_alias on virtual_keys (alias)`)
    await sql.unsafe(createTableText())
    await sql.unsafe(`create index ledger_time on ledger (started_at_ms, request_id)`)
    await sql.unsafe(`create index ledger_key on ledger (key_id, started_at_ms)`)
    await sql.unsafe(`create index ledger_user on ledger (user_id, started_at_ms)`)
  },
}
