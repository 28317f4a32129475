import type { Migration } from '../migration.ts'

/** Rows that a destination of usage will never get, with what is needed to send them by hand, and how many they are. */
export const ninetyFifth: Migration = {
  id: 95,
  name: 'usage-given-up',
  async up(sql) {
    await sql.unsafe(`
      create table usage_given_up (
        destination text not null,
        request_id text not null,
        reason text not null,
        attempts integer not null,
        given_up_at_ms bigint not null,
        started_at_ms bigint,
        customer text,
        amount text,
        primary key (destination, request_id)
      )`)
    await sql.unsafe('alter table usage_exports add column given_up bigint')
  },
}
