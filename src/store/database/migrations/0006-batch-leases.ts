import type { Migration } from '../migration.ts'

/**
 * Which replica polls and settles a batch now. With an owner, `due_at_ms` is when the lease is over; without, when the
 * batch is to be polled next. Batches from before are due at once.
 */
export const sixth: Migration = {
  id: 6,
  name: 'batch-leases',
  async up(sql) {
    await sql.unsafe(`alter table upstream_files add column lease_owner text`)
    await sql.unsafe(`alter table upstream_files add column due_at_ms bigint not null default 0`)
    // Holds the open batches alone: files and batches of the past do not make a poll slower.
    await sql.unsafe(
      `create index upstream_files_due on upstream_files (due_at_ms, id) where kind = 'batch' and recorded = 0`,
    )
  },
}
