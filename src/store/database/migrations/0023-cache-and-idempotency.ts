import type { Migration } from '../migration.ts'
import { countStored } from './0007-stored-totals.ts'

/** What keys may say about the cache of answers; requests with an `Idempotency-Key`, and their answers. */
export const twentyThird: Migration = {
  id: 23,
  name: 'cache-and-idempotency',
  bringsColumns: true,
  async up(sql, kind) {
    await sql`alter table virtual_keys add column allowed_cache_controls text not null default '[]'`
    await sql.unsafe(`create table idempotent_requests (
      id text primary key,
      key_id text not null,
      fingerprint text,
      state text not null,
      owner text not null,
      lease_end_ms bigint not null,
      status integer,
      headers text,
      body text,
      bytes bigint not null,
      created_at_ms bigint not null,
      end_ms bigint not null
    )`)
    await sql`create index idempotent_requests_end on idempotent_requests (end_ms)`
    await countStored(sql, kind, {
      table: 'idempotent_requests',
      columns: ['bytes'],
      size: (_of, row) => `${row}bytes`,
    })
  },
}
