import type { Migration } from '../migration.ts'

/**
 * Which destinations the rows of the ledger are sent to, and those that each of them has not got yet. The transaction
 * that stores a row puts it in.
 */
export const fortyFourth: Migration = {
  id: 44,
  name: 'usage-outbox',
  async up(sql) {
    await sql.unsafe(`create table usage_exports (
      destination text primary key,
      is_full integer not null,
      skipped bigint not null
    )`)
    await sql.unsafe(`create table usage_outbox (
      destination text not null,
      request_id text not null,
      attempts integer not null,
      due_at_ms bigint not null,
      lease_owner text,
      primary key (destination, request_id)
    )`)
    await sql.unsafe('create index usage_outbox_due on usage_outbox (destination, due_at_ms)')
  },
}
